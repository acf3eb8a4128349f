//! Typed access to the keys of a file, without a record of their effects.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use serde_json::{Map, Value};

use crate::convert::hf_config::reader::{error, nested};
use crate::error::{Error, Result};

/// The keys of the file, or of the text model's settings in it. `null` is a missing key.
pub(super) struct File<'a> {
    pub(super) object: &'a Map<String, Value>,
    /// The path of the object, with a trailing dot.
    prefix: String,
}

impl<'a> File<'a> {
    /// Returns the settings of the text model, which other files keep in a dictionary of their own.
    pub(super) fn innermost(object: &'a Map<String, Value>) -> Self {
        let mut file = Self {
            object,
            prefix: String::new(),
        };
        while let Some((name, inner)) = nested(file.object) {
            file = Self {
                object: inner,
                prefix: format!("{}{name}.", file.prefix),
            };
        }
        file
    }

    pub(super) fn error(&self, key: &str, problem: impl Into<String>) -> Error {
        error(format!("{}{key}", self.prefix), problem)
    }

    fn get<T>(
        &self,
        key: &str,
        kind: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>> {
        match self.object.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match read(value) {
                Some(value) => Ok(Some(value)),
                None => Err(self.error(key, format!("is not {kind}"))),
            },
        }
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>> {
        self.get(key, "a string", Value::as_str)
    }

    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>> {
        self.get(key, "true or false", Value::as_bool)
    }

    pub(super) fn number(&self, key: &str) -> Result<Option<f64>> {
        self.get(key, "a number", Value::as_f64)
    }

    pub(super) fn integer(&self, key: &str) -> Result<Option<i64>> {
        self.get(key, "an integer", Value::as_i64)
    }

    pub(super) fn count(&self, key: &str) -> Result<Option<usize>> {
        self.get(key, "a count", |value| {
            usize::try_from(value.as_u64()?).ok()
        })
    }

    pub(super) fn object(&self, key: &str) -> Result<Option<Self>> {
        let object = self.get(key, "an object", Value::as_object)?;
        Ok(object.map(|object| Self {
            object,
            prefix: format!("{}{key}.", self.prefix),
        }))
    }

    /// Returns the number of heads, under one of its names.
    pub(super) fn heads(&self) -> Result<usize> {
        for key in ["num_attention_heads", "num_heads", "n_head", "n_heads"] {
            if let Some(heads) = self.count(key)? {
                return Ok(heads);
            }
        }
        Err(self.error(
            "num_attention_heads",
            "is missing, and the bias has one slope or value per head",
        ))
    }
}
