//! The JSON object of schemes that a configuration describes.

use candle_core::Result;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::checkpoint::file::element::{dtype_from_name, dtype_name};
use crate::checkpoint::file::json::object;
use crate::checkpoint::file::message::reason;
use crate::checkpoint::scheme::{FORMAT, Fields, Rows, Scheme};

#[doc(hidden)]
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(bound(deserialize = "C: Deserialize<'de>"))]
pub struct ConfigFields<C> {
    format: u32,
    scheme: String,
    #[serde(deserialize_with = "object")]
    config: C,
    start: u64,
    rows: usize,
    dtype: String,
}

impl<C, S> Fields<S> for ConfigFields<C>
where
    C: Clone + Serialize + DeserializeOwned,
    S: Scheme<Config = C>,
{
    fn of(scheme: &S, rows: &Rows) -> Result<Self> {
        Ok(Self {
            format: FORMAT,
            scheme: S::NAME.to_owned(),
            config: scheme.config().clone(),
            start: rows.start,
            rows: rows.rows,
            dtype: dtype_name(rows.dtype)?.to_owned(),
        })
    }

    fn build(self) -> std::result::Result<(S, Rows), String> {
        let rows = Rows {
            start: self.start,
            rows: self.rows,
            dtype: dtype_from_name(&self.dtype)?,
        };
        let scheme = S::build(self.config, rows.positions().end);
        Ok((scheme.map_err(|error| reason(&error))?, rows))
    }
}
