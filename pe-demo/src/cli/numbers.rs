//! Numbers on the command line.
//!
//! ```
//! use pe_demo::numbers;
//!
//! assert_eq!(numbers::whole::<usize>(1, 4096)("512"), Ok(512));
//! assert!(numbers::whole::<usize>(1, 4096)("1e3").is_err());
//! assert!(numbers::positive("NaN").is_err());
//! assert_eq!(numbers::scaling("linear:factor=4")?.keys["factor"], 4);
//! # Ok::<(), String>(())
//! ```

use pe_core::Spacing;
use serde_json::{Map, Value};

/// Returns a parser of integers from `least` to `most`.
///
/// # Errors
/// The parser returns an error for any other text. It states the expected form.
pub fn whole<T>(
    least: u64,
    most: u64,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: TryFrom<u64>,
{
    move |text| {
        let number = text.parse::<u64>().ok();
        number
            .filter(|number| (least..=most).contains(number))
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| format!("not an integer from {least} to {most}"))
    }
}

/// Reads a positive finite number.
///
/// # Errors
/// Returns an error for any other text. It states the expected form.
pub fn positive(text: &str) -> Result<f64, &'static str> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("not a positive finite number"),
    }
}

/// Reads a number from 0 up to but not including 1.
///
/// # Errors
/// Returns an error for any other text. It states the expected form.
pub fn probability(text: &str) -> Result<f32, &'static str> {
    match text.parse::<f32>() {
        Ok(number) if (0.0..1.0).contains(&number) => Ok(number),
        _ => Err("not a number of at least 0 and below 1"),
    }
}

/// Reads `paper`, `inclusive`, or `shifted=S` with a finite number `S`.
///
/// # Errors
/// Returns an error for any other text. It states the expected form.
pub fn parse_spacing(text: &str) -> Result<Spacing, &'static str> {
    match text {
        "paper" => Ok(Spacing::Paper),
        "inclusive" => Ok(Spacing::Inclusive),
        _ => text
            .strip_prefix("shifted=")
            .and_then(|shift| shift.parse().ok())
            .filter(|shift: &f64| shift.is_finite())
            .map(Spacing::Shifted)
            .ok_or("known: paper, inclusive, shifted=S with a finite number S"),
    }
}

/// A scaling as in a config.json.
#[derive(Debug, Clone)]
pub struct Scaling {
    /// Its `rope_type`.
    pub name: String,
    /// The other keys.
    pub keys: Map<String, Value>,
}

/// Reads `TYPE[:KEY=VALUE,...]`. Commas inside brackets do not separate keys.
///
/// # Errors
/// Returns an error for any other text. It states the expected form.
pub fn scaling(text: &str) -> Result<Scaling, String> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    if name.is_empty() {
        return Err("no type before the keys (such as linear:factor=4)".to_owned());
    }
    let mut keys = Map::new();
    for item in outside_brackets(rest) {
        let Some((key, value)) = item.split_once('=') else {
            return Err(format!("{item:?} is not KEY=VALUE"));
        };
        let key = key.trim();
        if matches!(key, "rope_type" | "type") {
            return Err(format!("the {key} belongs before the colon"));
        }
        let value: Value = match serde_json::from_str(value) {
            Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
            Ok(Value::Array(list)) if list.iter().all(Value::is_number) => Value::Array(list),
            _ => {
                return Err(format!(
                    "{key}={value} is not a number, true, false or a list of numbers"
                ));
            }
        };
        if keys.insert(key.to_owned(), value).is_some() {
            return Err(format!("{key} is given twice"));
        }
    }
    Ok(Scaling {
        name: name.to_owned(),
        keys,
    })
}

/// Returns the parts between commas that are not inside brackets; none of an empty text.
fn outside_brackets(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let part = |c: char| {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    };
    match text {
        "" => Vec::new(),
        _ => text.split(part).collect(),
    }
}
