//! SHA-256 as the hub writes it.

use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::checkpoint::file::open::open_regular;

/// Returns the hash so far, in hexadecimal digits.
pub(super) fn digits(hash: Sha256) -> String {
    let bytes = hash.finalize();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the hash of all that is left to read.
pub(super) fn of(reader: &mut impl Read) -> io::Result<Sha256> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match reader.read(&mut buffer)? {
            0 => return Ok(hash),
            count => hash.update(&buffer[..count]),
        }
    }
}

/// Hashes a file's content, in digits.
pub(super) fn of_file(path: &Path) -> io::Result<String> {
    Ok(digits(of(&mut open_regular(path)?)?))
}
