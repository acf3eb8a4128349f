//! Access to the metadata of a GGUF file, with a record of the effect of each key.

use std::collections::BTreeSet;

use super::{GgufValue, problem};
use crate::convert::hf_config::HfKey;
use crate::error::Result;

pub(super) struct Keys<'a> {
    metadata: &'a [(String, GgufValue)],
    architecture: &'a str,
    used: BTreeSet<&'a str>,
    keys: Vec<HfKey>,
    warnings: Vec<String>,
}

impl<'a> Keys<'a> {
    pub(super) fn new(metadata: &'a [(String, GgufValue)]) -> Result<Self> {
        const KEY: &str = "general.architecture";
        let found = metadata.iter().find(|(key, _)| key == KEY);
        let architecture = match found.map(|(_, value)| value) {
            Some(GgufValue::Text(name)) => name,
            Some(_) => return Err(problem("general.architecture is not a text")),
            None => return Err(problem("general.architecture is missing")),
        };
        let mut keys = Self {
            metadata,
            architecture,
            used: BTreeSet::new(),
            keys: Vec::new(),
            warnings: Vec::new(),
        };
        keys.note(
            KEY,
            &GgufValue::Text(architecture.clone()),
            "decides which columns form a pair",
        );
        Ok(keys)
    }

    pub(super) fn architecture(&self) -> &'a str {
        self.architecture
    }

    fn note(&mut self, path: &str, value: &GgufValue, meaning: &str) {
        let value = match value {
            GgufValue::Unsigned(value) => value.to_string(),
            GgufValue::Signed(value) => value.to_string(),
            GgufValue::Float(value) => format!("{value:?}"),
            GgufValue::Bool(value) => value.to_string(),
            GgufValue::Text(text) => format!("{:?}", text.chars().take(60).collect::<String>()),
            GgufValue::List(list) => format!("[{} values]", list.len()),
        };
        self.keys.push(HfKey {
            path: path.to_owned(),
            value,
            meaning: meaning.to_owned(),
        });
    }

    /// Returns the value of a key of the architecture, and records its effect.
    fn take(&mut self, key: &str, meaning: &str) -> Option<&'a GgufValue> {
        let rest = |path: &'a str| path.strip_prefix(self.architecture)?.strip_prefix('.');
        let (path, value) = self
            .metadata
            .iter()
            .find(|(path, _)| rest(path) == Some(key))?;
        self.used.insert(path);
        self.note(path, value, meaning);
        Some(value)
    }

    pub(super) fn ignore(&mut self, key: &str, meaning: &str) {
        self.take(key, meaning);
    }

    pub(super) fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }

    pub(super) fn text(&mut self, key: &str, meaning: &str) -> Result<Option<&'a str>> {
        match self.take(key, meaning) {
            None => Ok(None),
            Some(GgufValue::Text(text)) => Ok(Some(text)),
            Some(_) => Err(problem(format!("{key} is not a text"))),
        }
    }

    pub(super) fn float(&mut self, key: &str, meaning: &str) -> Result<Option<f64>> {
        match self.take(key, meaning) {
            None => Ok(None),
            Some(GgufValue::Float(value)) if value.is_finite() => Ok(Some(*value)),
            Some(other) => Err(problem(format!("{key} is {other:?}, not a finite number"))),
        }
    }

    pub(super) fn count(&mut self, key: &str, meaning: &str) -> Result<Option<usize>> {
        let value = self.take(key, meaning);
        value.map(|value| count(key, value)).transpose()
    }

    pub(super) fn counts(&mut self, key: &str, meaning: &str) -> Result<Option<Vec<usize>>> {
        match self.take(key, meaning) {
            None => Ok(None),
            Some(GgufValue::List(list)) => {
                let counts = list.iter().map(|value| count(key, value));
                counts.collect::<Result<_>>().map(Some)
            }
            Some(_) => Err(problem(format!("{key} is not a list"))),
        }
    }

    /// Returns the number of heads, which may be stated for each layer. It must be the same where layers attend.
    pub(super) fn heads(&mut self) -> Result<Option<usize>> {
        const KEY: &str = "attention.head_count";
        let value = match self.take(KEY, "the number of heads") {
            Some(GgufValue::List(list)) => {
                let mut counts = BTreeSet::new();
                for value in list {
                    counts.insert(count(KEY, value)?);
                }
                counts.remove(&0);
                match counts.len() {
                    0 | 1 => return Ok(counts.pop_first()),
                    _ => return Err(problem(format!("{KEY} differs from layer to layer"))),
                }
            }
            value => value,
        };
        value.map(|value| count(KEY, value)).transpose()
    }

    /// Returns the record, and the unused keys about rotary embeddings as warnings.
    pub(super) fn finish(mut self) -> (Vec<HfKey>, Vec<String>) {
        for (path, _) in self.metadata {
            if path.contains(".rope.") && !self.used.contains(path.as_str()) {
                self.warnings.push(format!("{path} (has no effect)"));
            }
        }
        (self.keys, self.warnings)
    }
}

fn count(key: &str, value: &GgufValue) -> Result<usize> {
    let count = match value {
        GgufValue::Unsigned(value) => usize::try_from(*value).ok(),
        GgufValue::Signed(value) => usize::try_from(*value).ok(),
        _ => None,
    };
    count.ok_or_else(|| problem(format!("{key} is {value:?}, not a whole number")))
}
