//! The corpus of `config.json` cases, `configs.txt`.

use serde_json::Value;

use crate::table;

/// A file and the facts read from it.
pub struct Config {
    pub text: String,
    /// Names and values of the facts.
    pub facts: Vec<(&'static str, &'static str)>,
}

impl Config {
    /// Returns the values of the facts of a name.
    pub fn facts(&self, name: &str) -> impl Iterator<Item = &'static str> {
        let of_name = self.facts.iter().filter(move |fact| fact.0 == name);
        of_name.map(|fact| fact.1)
    }
}

/// Returns every case.
pub fn all() -> Vec<Config> {
    let rows = table::rows(include_str!("configs.txt"));
    rows.iter().map(config).collect()
}

fn config(row: &table::Row<'static>) -> Config {
    let (base, more) = match row.left.split_once(' ') {
        Some(("llama", more)) => (
            r#"{"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
                "max_position_embeddings": 8192, "vocab_size": 32000}"#,
            more,
        ),
        Some(("heads", more)) => (r#"{"hidden_size": 768, "num_attention_heads": 12}"#, more),
        Some(("small", more)) => (r#"{"hidden_size": 64, "num_attention_heads": 4}"#, more),
        _ => ("", row.left),
    };
    let text = if base.is_empty() {
        more.to_owned()
    } else {
        let mut base: Value = serde_json::from_str(base).unwrap();
        let more: Value = serde_json::from_str(more).unwrap();
        let keys = more.as_object().unwrap().clone();
        base.as_object_mut().unwrap().extend(keys);
        base.to_string()
    };
    let facts = row.right.split(" | ");
    let facts = facts.map(|fact| fact.split_once(' ').unwrap_or((fact, "")));
    Config {
        text,
        facts: facts.collect(),
    }
}
