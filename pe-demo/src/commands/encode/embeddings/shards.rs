//! Checkpoints of several files: `model.safetensors.index.json` names the shard of each tensor.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::{FILE, MAX_BYTES};
use crate::sources::fetch;
use crate::sources::file;
use crate::sources::origin::Origin;
use crate::terminal::log::Log;
use crate::terminal::numbers::thousands;
use crate::terminal::width::{clean, clean_path};

/// The usual name of an index, next to which [`FILE`] is not expected.
const INDEX: &str = "model.safetensors.index.json";

/// The largest index that is read. That of a model with 92,000 tensors has 9 MB.
const MAX_INDEX_BYTES: u64 = 32 << 20;

/// The most tensors of an index.
const MAX_TENSORS: usize = 1 << 20;

/// A safetensors file, or an index, and the safetensors file that it leads to.
pub(super) struct Found {
    /// The safetensors file.
    pub(super) file: PathBuf,
    /// The tensor, where the name was given or an index was searched for it.
    pub(super) tensor: Option<String>,
    /// The index that named the file.
    pub(super) index: Option<PathBuf>,
}

/// Finds the file of a checkpoint that holds a tensor: the one named, or whose name has an ending.
/// Of a checkpoint in shards only the index and that shard are fetched.
///
/// # Errors
/// Returns an error if a file cannot be found or fetched, or if an index is malformed or does not
/// name the tensor.
pub(super) fn find(
    origin: &Origin,
    tensor: Option<&str>,
    ending: &str,
    log: &mut Log<'_>,
) -> Result<Found> {
    let (path, origin) = resolve(origin, log)?;
    if !is_index(&path) {
        return Ok(Found {
            file: path,
            tensor: tensor.map(str::to_owned),
            index: None,
        });
    }
    let shown = clean_path(&path);
    let index = Index::read(&path)?;
    let tensor = index
        .tensor(tensor, ending)
        .with_context(|| shown.clone())?;
    let shard = &index.weight_map[&tensor];
    log.detail(format!("{shown}: {} is in {shard}", clean(&tensor, 200)));
    // Next to the index, on this machine or in the repository.
    let beside = match origin {
        Origin::File(path) => Origin::File(path.with_file_name(shard)),
        Origin::Hub(mut name) => {
            let folder = name.file.rfind('/').map_or(0, |slash| slash + 1);
            name.file.replace_range(folder.., shard);
            Origin::Hub(name)
        }
    };
    let file = fetch::local(&beside, MAX_BYTES, log)
        .with_context(|| format!("{shown}: tensor {} in {shard}", clean(&tensor, 200)))?;
    Ok(Found {
        file,
        tensor: Some(tensor),
        index: Some(path),
    })
}

/// Returns the local path of a checkpoint's file or index, and where it comes from. A folder or a repository
/// has one of the two usual names.
fn resolve(origin: &Origin, log: &mut Log<'_>) -> Result<(PathBuf, Origin)> {
    match origin {
        Origin::File(path) if path.is_dir() => {
            let named = [FILE, INDEX].map(|name| path.join(name));
            let Some(found) = named.into_iter().find(|path| path.exists()) else {
                bail!(
                    "{}: is a directory with neither {FILE} nor {INDEX}",
                    clean_path(path)
                );
            };
            Ok((found.clone(), Origin::File(found)))
        }
        Origin::Hub(name) if name.file == FILE => {
            let result = fetch::local(origin, MAX_BYTES, log);
            let Err(error) = result else {
                return Ok((result?, origin.clone()));
            };
            let mut name = name.clone();
            INDEX.clone_into(&mut name.file);
            let index = Origin::Hub(name);
            match fetch::local(&index, MAX_INDEX_BYTES, log) {
                Ok(path) => Ok((path, index)),
                // The usual name's error says more.
                Err(_) => Err(error),
            }
        }
        Origin::File(path) => Ok((path.clone(), origin.clone())),
        Origin::Hub(name) => {
            let most = match is_index(Path::new(&name.file)) {
                true => MAX_INDEX_BYTES,
                false => MAX_BYTES,
            };
            Ok((fetch::local(origin, most, log)?, origin.clone()))
        }
    }
}

/// Returns whether a name belongs to an index.
fn is_index(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "json")
}

/// The shard of each tensor.
#[derive(Deserialize)]
struct Index {
    #[serde(deserialize_with = "weight_map")]
    weight_map: BTreeMap<String, String>,
}

impl Index {
    fn read(path: &Path) -> Result<Self> {
        let text = file::text(path, MAX_INDEX_BYTES, "an index of shards")?;
        // The parser would take a list of values for the fields in their order.
        ensure!(
            text.trim_start().starts_with('{'),
            "{}: not a JSON object",
            clean_path(path)
        );
        // The parser quotes what it does not expect, however long it is.
        serde_json::from_str(&text)
            .map_err(|e| anyhow!("{}: {}", clean_path(path), clean(&e.to_string(), 400)))
    }

    /// Returns the full name of a tensor: the one given, or the only one that has an ending.
    fn tensor(&self, name: Option<&str>, ending: &str) -> Result<String> {
        let names = || self.weight_map.keys().map(String::as_str);
        let found = match name {
            Some(name) => names().find(|known| *known == name),
            None => super::by_ending(names(), ending)?,
        };
        if let Some(found) = found {
            return Ok(found.to_owned());
        }
        let count = thousands(self.weight_map.len() as u64);
        match name {
            Some(name) => bail!("no tensor {} among {count}", clean(name, 200)),
            None => bail!("no tensor among {count} with a name that ends in {ending}"),
        }
    }
}

/// Reads names of tensors and shards, each tensor once, all shards next to the index.
fn weight_map<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, String>, D::Error> {
    struct Map;

    impl<'de> Visitor<'de> for Map {
        type Value = BTreeMap<String, String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of the shard of each tensor")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut shards = BTreeMap::new();
            while let Some((tensor, shard)) = map.next_entry::<String, String>()? {
                if shards.len() == MAX_TENSORS {
                    return Err(Error::custom(format!("more than {MAX_TENSORS} tensors")));
                }
                if !is_plain(&shard) {
                    return Err(Error::custom(format!(
                        "the shard \"{}\" of tensor \"{}\" is not the plain name of a .safetensors file",
                        clean(&shard, 200),
                        clean(&tensor, 200)
                    )));
                }
                match shards.entry(tensor) {
                    Entry::Vacant(free) => free.insert(shard),
                    Entry::Occupied(taken) => {
                        let name = clean(taken.key(), 200);
                        return Err(Error::custom(format!(
                            "tensor \"{name}\" appears there twice"
                        )));
                    }
                };
            }
            match shards.is_empty() {
                true => Err(Error::custom("weight_map names no tensors")),
                false => Ok(shards),
            }
        }
    }

    from.deserialize_map(Map)
}

/// Returns whether a name belongs to a safetensors file next to the index: no path, and nothing hidden.
fn is_plain(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    name.len() <= 255
        && name.ends_with(".safetensors")
        && !name.starts_with(['.', '-'])
        && !name.contains("..")
        && name.chars().all(allowed)
}
