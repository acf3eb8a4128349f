//! Files on this machine, and files of repositories on the Hugging Face hub.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};

/// The endings of the names of checkpoints, indexes, and tokenizers.
const FILES: [&str; 2] = [".json", ".safetensors"];

/// The origin of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A path.
    File(PathBuf),
    /// A file of a repository.
    Hub(HubName),
}

/// `owner/name[@revision][:file]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubName {
    /// `owner/name`.
    pub repository: String,
    /// Branch, tag or commit.
    pub revision: Option<String>,
    /// The path in the repository.
    pub file: String,
}

impl Origin {
    /// Returns an existing file of that name, or else a repository if the text looks like one, with the file
    /// that it names or `default`.
    ///
    /// ```
    /// use pe_demo::origin::Origin;
    ///
    /// let origin = Origin::parse("owner/name@v1:sub/other.json", "tokenizer.json")?;
    /// let Origin::Hub(name) = origin else { unreachable!() };
    /// assert_eq!((name.repository.as_str(), name.file.as_str()), ("owner/name", "sub/other.json"));
    /// assert!(Origin::parse("no-such-file.json", "tokenizer.json").is_err());
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the name is neither.
    pub fn parse(text: &str, default: &str) -> Result<Self> {
        ensure!(!text.is_empty(), "the name is empty");
        if Path::new(text).exists() {
            return Ok(Self::File(PathBuf::from(text)));
        }
        match HubName::parse(text, default) {
            Some(name) => Ok(Self::Hub(name)),
            None => {
                bail!("there is no file {text}, and it is not owner/name[@revision][:file] either")
            }
        }
    }

    /// Reads a file as [`Origin::parse`] has it, and after another colon the name of a tensor in it.
    /// Without a file's name, which ends in `.safetensors` or `.json` (an index of shards), what
    /// follows a repository is a tensor's.
    ///
    /// ```
    /// use pe_demo::origin::Origin;
    ///
    /// let (_, tensor) = Origin::parse_tensor("owner/name:words.weight", "model.safetensors")?;
    /// assert_eq!(tensor.as_deref(), Some("words.weight"));
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the name of the tensor is empty. Also returns the errors of [`Origin::parse`].
    pub fn parse_tensor(text: &str, default: &str) -> Result<(Self, Option<String>)> {
        if Path::new(text).exists() {
            return Ok((Self::File(PathBuf::from(text)), None));
        }
        let mut colons = text.match_indices(':').map(|(at, _)| at);
        let found = colons.by_ref().find(|at| Path::new(&text[..*at]).exists());
        let (origin, tensor) = match (found, text.find(':')) {
            (Some(at), _) => (
                Self::File(PathBuf::from(&text[..at])),
                Some(&text[at + 1..]),
            ),
            (None, None) => (Self::parse(text, default)?, None),
            (None, Some(first)) => {
                let rest = &text[first + 1..];
                let end = rest.find(':').unwrap_or(rest.len());
                let file_like = |ending: &&str| rest[..end].ends_with(*ending);
                match FILES.iter().any(file_like) {
                    true => {
                        let file = &text[..first + 1 + end];
                        (Self::parse(file, default)?, rest.get(end + 1..))
                    }
                    false => (Self::parse(&text[..first], default)?, Some(rest)),
                }
            }
        };
        ensure!(
            tensor != Some(""),
            "{text}: the name of the tensor is empty"
        );
        Ok((origin, tensor.map(str::to_owned)))
    }
}

impl HubName {
    /// Reads a name of the right form. Whether the hub allows it is checked before a request.
    fn parse(text: &str, default: &str) -> Option<Self> {
        let (name, file) = match text.split_once(':') {
            Some((name, file)) => (name, file),
            None => (text, default),
        };
        let (repository, revision) = match name.split_once('@') {
            Some((repository, revision)) => (repository, Some(revision)),
            None => (name, None),
        };
        let plain = |part: &str| {
            let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            !part.is_empty() && !part.starts_with('.') && part.chars().all(allowed)
        };
        let (owner, name) = repository.split_once('/')?;
        // A file that was misspelled is not looked for on the hub.
        let file_like = FILES.iter().any(|end| name.ends_with(end));
        let right = plain(owner)
            && plain(name)
            && !file_like
            && !file.is_empty()
            && revision.is_none_or(|revision| revision.split('/').all(plain));
        right.then(|| Self {
            repository: repository.to_owned(),
            revision: revision.map(str::to_owned),
            file: file.to_owned(),
        })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Hub(name) => name.fmt(f),
        }
    }
}

/// Leaves out the file's name, which is mostly the usual one.
impl fmt::Display for HubName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.repository)?;
        match &self.revision {
            None => Ok(()),
            Some(revision) => write!(f, "@{revision}"),
        }
    }
}
