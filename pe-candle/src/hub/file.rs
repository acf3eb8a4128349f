//! The name of a file on the hub.

use candle_core::Result;
use hf_hub::{Repo, RepoType};

use super::names;
use crate::checkpoint::file::message::error;

/// A file in a model repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubFile {
    /// Repository: `owner/name`, or `name` alone for the hub's oldest models.
    pub repo: String,
    /// Branch, tag, or commit. Defaults to `main`.
    pub revision: String,
    /// Path of the file in the repository.
    pub file: String,
    /// SHA-256 that the content must have, in 64 hexadecimal digits, if it is known.
    pub sha256: Option<String>,
}

impl HubFile {
    /// Names a file on the branch `main`. The names are checked when the file is fetched.
    pub fn new(repo: impl Into<String>, file: impl Into<String>) -> Self {
        Self {
            repo: repo.into(),
            revision: "main".to_owned(),
            file: file.into(),
            sha256: None,
        }
    }

    /// Returns the same file in another revision.
    pub fn revision(self, revision: impl Into<String>) -> Self {
        Self {
            revision: revision.into(),
            ..self
        }
    }

    /// Returns the same file with the SHA-256 that its content must have. A content in the cache is
    /// checked each time.
    pub fn sha256(self, digits: impl Into<String>) -> Self {
        Self {
            sha256: Some(digits.into()),
            ..self
        }
    }

    /// Checks that the hub allows the names, and that they cannot leave the cache's directory or the
    /// path of the address.
    ///
    /// # Errors
    /// Returns an error if a name is not allowed, with the reason.
    ///
    /// ```
    /// use pe_candle::hub::HubFile;
    ///
    /// HubFile::new("owner/name", "sub/table.safetensors").check()?;
    /// assert!(HubFile::new("owner/name", "../../etc/passwd").check().is_err());
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    pub fn check(&self) -> Result<()> {
        let checks = [
            ("repository", &self.repo, names::repo(&self.repo)),
            ("revision", &self.revision, names::revision(&self.revision)),
            ("file name", &self.file, names::file(&self.file)),
        ];
        for (what, name, result) in checks {
            if let Err(reason) = result {
                return Err(error(format_args!(
                    "{what} {name:?} is not valid: {reason}"
                )));
            }
        }
        match &self.sha256 {
            Some(digits) if !names::is_sha256(digits) => Err(error(format_args!(
                "SHA-256 {digits:?} is not valid: it is not 64 digits of 0-9 and a-f"
            ))),
            _ => Ok(()),
        }
    }

    pub(super) fn repo(&self) -> Repo {
        Repo::with_revision(self.repo.clone(), RepoType::Model, self.revision.clone())
    }
}

impl std::fmt::Display for HubFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:?} in {:?} at {:?}",
            self.file, self.repo, self.revision
        )
    }
}
