//! One dictionary of rope parameters, from `rope_scaling` or `rope_parameters`.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::reader::{self, Reader, error};
use crate::error::Result;
use crate::families::rotary::{Mrope, MropeArrangement};
use crate::turns::scaling::{Llama3Scaling, LongRopeScaling, RopeScaling, YarnScaling};

/// A dictionary with its path and the keys that were used.
pub(super) struct Parameters<'a> {
    path: String,
    map: &'a Map<String, Value>,
    used: BTreeSet<&'static str>,
}

/// Settings outside the dictionary.
pub(super) struct Surroundings {
    pub(super) longest: Option<usize>,
    pub(super) original: Option<usize>,
}

/// Keys that are known and do not affect frequencies.
const ELSEWHERE: [(&str, &str); 2] = [
    (
        "finetuned",
        "describes how the model was trained; no effect",
    ),
    (
        "max_position_embeddings",
        "repeats the model's value; no effect",
    ),
];

impl<'a> Parameters<'a> {
    pub(super) fn new(path: impl Into<String>, map: &'a Map<String, Value>) -> Self {
        Self {
            path: path.into(),
            map,
            used: BTreeSet::new(),
        }
    }

    fn take(&mut self, reader: &mut Reader, key: &'static str, meaning: &str) -> Option<&'a Value> {
        let value = self.map.get(key).filter(|value| !value.is_null())?;
        if self.used.insert(key) {
            reader.note(&format!("{}.{key}", self.path), value, meaning);
        }
        Some(value)
    }

    fn at(&self, reader: &Reader, key: &str) -> String {
        reader.path(&format!("{}.{key}", self.path))
    }

    pub(super) fn number(
        &mut self,
        reader: &mut Reader,
        key: &'static str,
        meaning: &str,
    ) -> Result<Option<f64>> {
        let value = self.take(reader, key, meaning);
        value
            .map(|value| reader::number(&self.at(reader, key), value))
            .transpose()
    }

    pub(super) fn needed(
        &mut self,
        reader: &mut Reader,
        key: &'static str,
        meaning: &str,
    ) -> Result<f64> {
        self.number(reader, key, meaning)?
            .ok_or_else(|| error(self.at(reader, key), "is missing"))
    }

    fn count(
        &mut self,
        reader: &mut Reader,
        key: &'static str,
        meaning: &str,
    ) -> Result<Option<usize>> {
        let value = self.take(reader, key, meaning);
        value
            .map(|value| reader::count(&self.at(reader, key), value))
            .transpose()
    }

    fn list(&mut self, reader: &mut Reader, key: &'static str, meaning: &str) -> Result<Vec<f64>> {
        let at = self.at(reader, key);
        let value = self
            .take(reader, key, meaning)
            .ok_or_else(|| error(at.clone(), "is missing"))?;
        let list = value
            .as_array()
            .ok_or_else(|| error(at.clone(), "is not a list of numbers"))?;
        list.iter().map(|item| reader::number(&at, item)).collect()
    }

    /// Returns `rope_type`, or `type` in older files.
    fn rope_type(&mut self, reader: &mut Reader) -> Result<String> {
        let mut name = None;
        for key in ["rope_type", "type"] {
            let Some(value) = self.take(reader, key, "chooses the scaling") else {
                continue;
            };
            let text = value
                .as_str()
                .ok_or_else(|| error(self.at(reader, key), "is not a name"))?;
            match name {
                None => name = Some(text),
                // Qwen2-VL writes both; "mrope" means the default scaling.
                Some(first) if first == text || plain(first) && plain(text) => {}
                Some(first) => {
                    let problem = format!("\"{text}\" contradicts rope_type \"{first}\"");
                    return Err(error(self.at(reader, key), problem));
                }
            }
        }
        Ok(name.unwrap_or("default").to_owned())
    }

    /// Returns the original training length: from here, or from the model's level, which wins.
    pub(super) fn original(&mut self, reader: &mut Reader, around: &Surroundings) -> Result<usize> {
        const KEY: &str = "original_max_position_embeddings";
        let here = self.count(reader, KEY, "the original training length")?;
        match (around.original, here) {
            (Some(outer), Some(here)) if outer != here => {
                let problem = format!("is {here}, but {outer} at the model's level, which wins");
                let at = self.at(reader, KEY);
                reader.warn(&at, &problem);
            }
            _ => {}
        }
        around
            .original
            .or(here)
            .or(around.longest)
            .ok_or_else(|| error(self.at(reader, KEY), "is missing"))
    }

    /// Reads the scaling. `partial` is the rotated fraction of the head, if stated.
    pub(super) fn scaling(
        &mut self,
        reader: &mut Reader,
        around: &Surroundings,
        partial: Option<f64>,
    ) -> Result<RopeScaling> {
        const FACTOR: &str = "extension of the sequence length";
        let name = self.rope_type(reader)?;
        Ok(match name.as_str() {
            "default" | "mrope" => RopeScaling::Default,
            "linear" => RopeScaling::Linear {
                factor: self.needed(reader, "factor", "divides all frequencies")?,
            },
            "dynamic" => RopeScaling::Dynamic {
                factor: self.needed(
                    reader,
                    "factor",
                    "growth rate of the base beyond max_position_embeddings",
                )?,
            },
            "yarn" => RopeScaling::Yarn(self.yarn(reader, around)?),
            "longrope" | "su" => {
                let by_pair = "divides the frequency of each pair, for sequences";
                let (short, long) = (
                    self.list(
                        reader,
                        "short_factor",
                        &format!("{by_pair} within the trained length"),
                    )?,
                    self.list(
                        reader,
                        "long_factor",
                        &format!("{by_pair} beyond the trained length"),
                    )?,
                );
                let attention = "multiplies cosines and sines";
                RopeScaling::LongRope(LongRopeScaling {
                    factor: self.number(reader, "factor", FACTOR)?,
                    attention_factor: self.number(reader, "attention_factor", attention)?,
                    short_mscale: self.number(reader, "short_mscale", attention)?,
                    long_mscale: self.number(reader, "long_mscale", attention)?,
                    ..LongRopeScaling::new(short, long, self.original(reader, around)?)
                })
            }
            "llama3" => RopeScaling::Llama3(Llama3Scaling {
                factor: self.needed(reader, "factor", "divides the frequencies of slow pairs")?,
                low_freq_factor: self.needed(
                    reader,
                    "low_freq_factor",
                    "pairs with fewer turns within the trained length are slow",
                )?,
                high_freq_factor: self.needed(
                    reader,
                    "high_freq_factor",
                    "pairs with more turns within the trained length are unchanged",
                )?,
                original_max_position_embeddings: self.original(reader, around)?,
            }),
            "proportional" => RopeScaling::Proportional {
                partial_rotary_factor: partial.unwrap_or(1.0),
                factor: self
                    .number(reader, "factor", "divides all frequencies")?
                    .unwrap_or(1.0),
            },
            _ => {
                let at = self.at(reader, "rope_type");
                let known =
                    "default, mrope, linear, dynamic, yarn, longrope, su, llama3, proportional";
                return Err(error(
                    at,
                    format!("is \"{name}\", which is unknown; known: {known}"),
                ));
            }
        })
    }

    fn yarn(&mut self, reader: &mut Reader, around: &Surroundings) -> Result<YarnScaling> {
        let original = self.original(reader, around)?;
        let factor = self.number(reader, "factor", "divides the frequencies of slow pairs")?;
        let factor = match (factor, around.longest) {
            (Some(factor), _) => factor,
            (None, Some(longest)) if original > 0 => longest as f64 / original as f64,
            _ => return Err(error(self.at(reader, "factor"), "is missing")),
        };
        let defaults = YarnScaling::new(factor, original);
        // 0 means the default in transformers.
        let turns = |given: Option<f64>, default| given.filter(|v| *v != 0.0).unwrap_or(default);
        let beta_fast = self.number(
            reader,
            "beta_fast",
            "pairs with more turns within the trained length are unchanged",
        )?;
        let beta_slow = self.number(
            reader,
            "beta_slow",
            "pairs with fewer turns within the trained length are divided by the whole factor",
        )?;
        let truncate = self.take(
            reader,
            "truncate",
            "whether the ends of the ramp are rounded to integers",
        );
        let truncate = match truncate {
            None => true,
            Some(value) => value
                .as_bool()
                .ok_or_else(|| error(self.at(reader, "truncate"), "is neither true nor false"))?,
        };
        let attention = "part of the attention factor";
        Ok(YarnScaling {
            beta_fast: turns(beta_fast, defaults.beta_fast),
            beta_slow: turns(beta_slow, defaults.beta_slow),
            mscale: self.number(reader, "mscale", attention)?,
            mscale_all_dim: self.number(reader, "mscale_all_dim", attention)?,
            attention_factor: self.number(
                reader,
                "attention_factor",
                "multiplies cosines and sines",
            )?,
            truncate,
            ..defaults
        })
    }

    /// Reads `alpha`, by which HunYuan's `dynamic` scales the base. The keys next to it have no effect then.
    pub(super) fn ntk_alpha(&mut self, reader: &mut Reader) -> Result<Option<f64>> {
        let meaning = "scales the base: base x alpha^(width / (width - 2)), for all lengths";
        let alpha = self.number(reader, "alpha", meaning)?;
        let alpha = alpha.filter(|alpha| *alpha != 0.0);
        if alpha.is_some() {
            for key in ["beta_fast", "beta_slow", "mscale", "mscale_all_dim"] {
                self.take(reader, key, "no effect beside alpha");
            }
        }
        Ok(alpha)
    }

    /// Reads the split of the pairs between time, height, and width.
    pub(super) fn mrope(
        &mut self,
        reader: &mut Reader,
        own: Option<Mrope>,
    ) -> Result<Option<Mrope>> {
        let interleaved = self
            .take(
                reader,
                "mrope_interleaved",
                "whether time, height, and width alternate from pair to pair",
            )
            .and_then(Value::as_bool);
        if let (Some(own), Some(stated)) = (own, interleaved)
            && stated != (own.arrangement == MropeArrangement::Interleaved)
        {
            let at = self.at(reader, "mrope_interleaved");
            reader.warn(&at, "has no effect with this model type");
        }
        let Some(value) = self.take(
            reader,
            "mrope_section",
            "pairs that follow time, height, and width",
        ) else {
            return Ok(None);
        };
        let at = self.at(reader, "mrope_section");
        let sections: Vec<usize> = value
            .as_array()
            .ok_or_else(|| error(at.clone(), "is not a list"))?
            .iter()
            .map(|item| reader::count(&at, item))
            .collect::<Result<_>>()?;
        let sections: [usize; 3] = sections
            .try_into()
            .map_err(|list: Vec<_>| error(at, format!("has {} entries, not 3", list.len())))?;
        let sections = match own.map(|own| own.arrangement) {
            // These files list height, width, time.
            Some(MropeArrangement::SpatialFirst) => {
                let [height, width, time] = sections;
                [time, height, width]
            }
            _ => sections,
        };
        // transformers' classes arrange the pairs in one way, whatever the file states.
        let arrangement = match (own, interleaved) {
            (Some(own), _) => own.arrangement,
            (None, Some(true)) => MropeArrangement::Interleaved,
            (None, _) => MropeArrangement::Chunked,
        };
        Ok(Some(Mrope {
            sections,
            arrangement,
        }))
    }

    /// Reports the unused keys.
    pub(super) fn finish(mut self, reader: &mut Reader) {
        for (key, why) in ELSEWHERE {
            self.take(reader, key, why);
        }
        for (key, value) in self.map {
            if !self.used.contains(key.as_str()) && !value.is_null() {
                let at = self.at(reader, key);
                reader.warn(&at, "has no effect with this rope type");
            }
        }
    }
}

fn plain(name: &str) -> bool {
    matches!(name, "default" | "mrope")
}
