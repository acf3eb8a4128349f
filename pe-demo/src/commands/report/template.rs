//! Templates: markup with places for values.
//!
//! `{{name}}` becomes a text, `{{{name}}}` markup as it is, and `{{#name}} ... {{/name}}` is repeated for each
//! object of a list. Values come from the innermost object alone. A template crate would be the only one of
//! its kind in the tree for these three rules.

use std::fmt::Write;

use anyhow::{Context, Result, anyhow};
use serde_json::Value;

use crate::chart::escape;

/// Fills a template.
///
/// # Errors
/// Returns an error if a name has no value, or a place or a list no end.
pub(super) fn fill(template: &str, values: &Value) -> Result<String> {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, from)) = rest.split_once("{{") {
        out += before;
        let unended = || anyhow!("a place without end: {{{{{from:.30}");
        let (open, close) = match from.starts_with('{') {
            true => ("{", "}}}"),
            false => ("", "}}"),
        };
        let (name, after) = from[open.len()..].split_once(close).with_context(unended)?;
        let value = |name: &str| {
            let value = values.get(name);
            value.with_context(|| format!("the template's {name} has no value"))
        };
        rest = after;
        if let Some(name) = name.strip_prefix('#') {
            let end = format!("{{{{/{name}}}}}");
            let (inner, after) = after.split_once(&end).with_context(unended)?;
            for item in value(name)?.as_array().into_iter().flatten() {
                out += &fill(inner, item)?;
            }
            rest = after;
        } else {
            match (value(name)?, open) {
                (Value::String(text), "") => out += &escape(text),
                (Value::String(markup), _) => out += markup,
                (other, _) => write!(out, "{other}")?,
            }
        }
    }
    Ok(out + rest)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_are_escaped_and_markup_and_braces_in_values_stay() {
        let values = json!({ "x": "{{y}} <", "y": 2, "z": "<b>" });
        let filled = fill("a {{x}} b {{y}} {c} {{{z}}}", &values).unwrap();
        assert_eq!(filled, "a {{y}} &lt; b 2 {c} <b>");
    }

    #[test]
    fn lists_repeat_their_part() {
        let values = json!({ "rows": [{ "cells": [{ "n": 1 }, { "n": 2 }] }, { "cells": [] }] });
        let filled = fill("{{#rows}}<{{#cells}}{{n}};{{/cells}}>{{/rows}}.", &values).unwrap();
        assert_eq!(filled, "<1;2;><>.");
    }

    #[test]
    fn names_without_value_and_places_without_end_are_errors() {
        for template in ["{{x}}", "{{y", "{{{y}}", "{{#y}}"] {
            assert!(fill(template, &json!({ "y": [] })).is_err(), "{template}");
        }
    }
}
