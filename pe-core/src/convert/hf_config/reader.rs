//! Access to the keys of the file, with a record of the effect of each.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{HfConfig, HfKey};
use crate::error::{Error, Result};

/// Objects around the text model's settings, outermost first.
const NESTING: [&str; 5] = [
    "text_config",
    "thinker_config",
    "language_config",
    "llm_config",
    "text_model",
];

/// Substrings in the names of keys about rotary embeddings.
const WORDS: [&str; 6] = ["rope", "rotary", "theta", "yarn", "ntk", "alibi"];

pub(super) struct Reader {
    /// The object with the text model's settings, and its path with a trailing dot.
    object: Map<String, Value>,
    prefix: String,
    keys: Vec<HfKey>,
    used: BTreeSet<String>,
    warnings: Vec<String>,
}

pub(super) fn error(key: impl Into<String>, problem: impl Into<String>) -> Error {
    Error::ModelConfig {
        key: key.into(),
        problem: problem.into(),
    }
}

/// Returns a value verbatim, shortened if it is long.
fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 60 {
        return text;
    }
    match value {
        Value::Array(list) => format!("[{} values]", list.len()),
        _ => format!("{}...", text.chars().take(60).collect::<String>()),
    }
}

/// Returns the keys of the file.
pub(super) fn parsed(config: HfConfig<'_>) -> Result<Map<String, Value>> {
    let (what, value) = match config {
        HfConfig::Text(text) => {
            let parsed = serde_json::from_str(text).or_else(|problem| {
                // Python writes numbers that JSON does not have.
                match without_constants(text) {
                    Some(text) => serde_json::from_str(&text),
                    None => Err(problem),
                }
            });
            let value =
                parsed.map_err(|problem| error("the text", format!("is not JSON: {problem}")))?;
            ("the text", value)
        }
        HfConfig::Json(value) => ("the value", value.clone()),
    };
    match value {
        Value::Object(object) => Ok(object),
        _ => Err(error(what, "is not a JSON object")),
    }
}

/// Returns the object with the text model's settings inside of another, and its name.
pub(super) fn nested(object: &Map<String, Value>) -> Option<(&'static str, &Map<String, Value>)> {
    NESTING
        .iter()
        .find_map(|name| Some((*name, object.get(*name)?.as_object()?)))
}

impl Reader {
    pub(super) fn new(config: HfConfig<'_>) -> Result<Self> {
        let mut object = parsed(config)?;
        let mut prefix = String::new();
        let mut outer = Vec::new();
        while let Some((name, inner)) = nested(&object) {
            let inner = inner.clone();
            outer.push((prefix.clone(), std::mem::replace(&mut object, inner)));
            prefix = format!("{prefix}{name}.");
        }
        let mut reader = Self {
            object,
            prefix,
            keys: Vec::new(),
            used: BTreeSet::new(),
            warnings: Vec::new(),
        };
        // The same settings may appear again outside the text model.
        for (path, object) in outer {
            for (key, value) in &object {
                if is_about_rotary(key) && !value.is_null() {
                    let inner = reader.object.get(key);
                    let path = format!("{path}{key}");
                    if inner == Some(value) {
                        let prefix = &reader.prefix;
                        let meaning = format!("the same as {prefix}{key}");
                        reader.push(path, value, meaning);
                    } else {
                        reader.warn(&path, "is outside the text model's settings");
                    }
                }
            }
        }
        Ok(reader)
    }

    fn push(&mut self, path: String, value: &Value, meaning: impl Into<String>) {
        self.keys.push(HfKey {
            path,
            value: short(value),
            meaning: meaning.into(),
        });
    }

    /// Returns a key of the text model's settings, if it is present and not null.
    pub(super) fn peek(&self, key: &str) -> Option<&Value> {
        self.object.get(key).filter(|value| !value.is_null())
    }

    /// Reads a key and records its effect, `meaning`.
    pub(super) fn take(&mut self, key: &str, meaning: impl Into<String>) -> Option<Value> {
        let value = self.peek(key)?.clone();
        self.used.insert(key.to_owned());
        let path = self.path(key);
        self.push(path, &value, meaning);
        Some(value)
    }

    /// Returns whether a key is present with the value null.
    pub(super) fn states_null(&self, key: &str) -> bool {
        self.object.get(key).is_some_and(Value::is_null)
    }

    /// Records the effect of a key with the value null.
    pub(super) fn take_null(&mut self, key: &str, meaning: impl Into<String>) {
        self.used.insert(key.to_owned());
        let path = self.path(key);
        self.push(path, &Value::Null, meaning);
    }

    /// Returns whether the settings are those of a part of the file.
    pub(super) fn is_nested(&self) -> bool {
        !self.prefix.is_empty()
    }

    /// Records the effect of a part of a key's value.
    pub(super) fn note(&mut self, path: &str, value: &Value, meaning: impl Into<String>) {
        let path = self.path(path);
        self.push(path, value, meaning);
    }

    /// Returns whether a key was already used.
    pub(super) fn was_taken(&self, key: &str) -> bool {
        self.used.contains(key)
    }

    /// Returns whether a key asks for a rotary embedding. `false` and `null` do not.
    pub(super) fn has_rotary_key(&self) -> bool {
        self.object.iter().any(|(key, value)| {
            (is_about_rotary(key) && !key.contains("alibi") || key == "qk_rope_head_dim")
                && !matches!(value, Value::Null | Value::Bool(false))
        })
    }

    /// Reads a number and records its effect.
    pub(super) fn number(&mut self, key: &str, meaning: impl Into<String>) -> Result<Option<f64>> {
        let path = self.path(key);
        self.take(key, meaning)
            .map(|value| number(&path, &value))
            .transpose()
    }

    /// Reads an integer and records its effect.
    pub(super) fn count(&mut self, key: &str, meaning: impl Into<String>) -> Result<Option<usize>> {
        let path = self.path(key);
        self.take(key, meaning)
            .map(|value| count(&path, &value))
            .transpose()
    }

    /// Reads the first integer among several names.
    pub(super) fn first_count(&mut self, keys: &[&str], meaning: &str) -> Result<Option<usize>> {
        for key in keys {
            if let Some(found) = self.count(key, meaning)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Returns the path of a key.
    pub(super) fn path(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    pub(super) fn warn(&mut self, path: &str, why: &str) {
        self.warnings.push(format!("{path} ({why})"));
    }

    /// Returns the record, and the unused keys about rotary embeddings as warnings.
    pub(super) fn finish(mut self) -> (Vec<HfKey>, Vec<String>) {
        let left: Vec<_> = self
            .object
            .iter()
            .filter(|(key, value)| {
                is_about_rotary(key) && !value.is_null() && !self.used.contains(*key)
            })
            .map(|(key, _)| self.path(key))
            .collect();
        for path in left {
            self.warn(&path, "has no effect");
        }
        (self.keys, self.warnings)
    }
}

/// Returns the text with Python's `NaN`, `Infinity`, and `-Infinity` as strings, or `None` if it has
/// none of them.
fn without_constants(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut found) = (text, false);
    while let Some(first) = rest.chars().next() {
        let constants = ["NaN", "Infinity", "-Infinity"];
        let constant = constants
            .iter()
            .find(|constant| rest.starts_with(**constant));
        let length = match (first, constant) {
            ('"', _) => string_length(rest),
            (_, Some(constant)) => constant.len(),
            _ => first.len_utf8(),
        };
        let (part, after) = rest.split_at_checked(length)?;
        if constant.is_some() {
            found = true;
            out.extend(["\"", part, "\""]);
        } else {
            out.push_str(part);
        }
        rest = after;
    }
    found.then_some(out)
}

/// Returns the number of bytes of the string literal that a text begins with.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (index, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return index.saturating_add(1),
            _ => {}
        }
    }
    text.len()
}

fn is_about_rotary(key: &str) -> bool {
    WORDS.iter().any(|word| key.contains(word)) && !key.contains("head_dim")
}

pub(super) fn name(path: &str, value: &Value) -> Result<String> {
    let name = value.as_str().map(str::to_owned);
    name.ok_or_else(|| error(path, format!("is {}, not a name", short(value))))
}

pub(super) fn number(path: &str, value: &Value) -> Result<f64> {
    value
        .as_f64()
        .ok_or_else(|| error(path, format!("is {}, not a number", short(value))))
}

pub(super) fn count(path: &str, value: &Value) -> Result<usize> {
    let whole = value.as_u64().or_else(|| {
        // Some files write 4096.0.
        let real = value.as_f64()?;
        (real.fract() == 0.0 && (0.0..9e15).contains(&real)).then_some(real as u64)
    });
    whole
        .and_then(|count| usize::try_from(count).ok())
        .ok_or_else(|| error(path, format!("is {}, not an integer", short(value))))
}
