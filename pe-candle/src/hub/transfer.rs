//! Download of one file over HTTP.
//!
//! hf-hub's own download is not used. It has no timeouts, follows any number of relative redirects,
//! sends the token to any host that it is redirected to, uses ETag and commit unchecked as parts of paths, and
//! checks neither status nor length nor hash of the content. Here one request asks for the file, and each
//! redirect is one more.

use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::time::Instant;

use sha2::Digest;
use ureq::Body;
use ureq::http::Response;

use super::cache::Content;
use super::config::{Hub, Received};
use super::file::HubFile;
use super::request::{Described, agent, escape, origin, request};
use super::{cache, hash, names, partial};
use crate::checkpoint::file::read::check_file;
use crate::checkpoint::file::replace::Draft;

/// Fetches a file into the cache. The error is the reason.
pub(super) fn download(hub: &Hub, file: &HubFile) -> Result<PathBuf, String> {
    let endpoint = hub.endpoint.trim_end_matches('/');
    let origin = origin(endpoint)?;
    let url = format!(
        "{endpoint}/{}/resolve/{}/{}",
        file.repo,
        escape(&file.revision, ""),
        escape(&file.file, "/")
    );
    let agent = agent(hub, &origin);
    let deadline = Instant::now() + hub.timeouts.total;
    let ask = |from| request(hub, &agent, url.clone(), &origin, deadline, from);
    let (described, response) = ask(0)?;

    let Some(commit) = described.commit else {
        return Err("the answer has no X-Repo-Commit header (is this a hub?)".to_owned());
    };
    if !names::is_commit(&commit) {
        return Err(format!(
            "the answer's X-Repo-Commit {commit:?} is not 40 hexadecimal digits"
        ));
    }
    let Some(header) = described.etag else {
        return Err("the answer has no ETag header".to_owned());
    };
    let etag = names::etag(&header)?;

    let in_cache = |error| hub.cache_error(error);
    let blobs = cache::blobs(&hub.cache_dir, file).map_err(in_cache)?;
    let part = match names::is_sha256(etag) {
        true => partial::open(&blobs, etag).map_err(in_cache)?,
        false => None,
    };
    let resumable = part.is_some();
    let content = match part {
        Some(part) => part,
        None => Draft::new(&blobs).map_err(in_cache)?,
    };
    let received = resume(ask, described.size, response, content.file())
        .and_then(|(response, from)| receive(hub, response, described.size, from, content.file()));
    let sha256 = match received {
        Ok(sha256) => sha256,
        Err(Failure::Interrupted(reason)) if resumable => {
            partial::keep(content);
            return Err(reason);
        }
        Err(Failure::Interrupted(reason) | Failure::Wrong(reason)) => return Err(reason),
    };
    if names::is_sha256(etag) && sha256 != etag {
        return Err(format!(
            "the content's SHA-256 is {sha256}, the hub says {etag}"
        ));
    }
    if let Some(asked) = file.sha256.as_ref().filter(|asked| **asked != sha256) {
        return Err(format!(
            "the content's SHA-256 is {sha256}, {asked} was asked for"
        ));
    }
    check_content(file, &content)?;
    let content = Content {
        draft: content,
        etag,
        sha256: &sha256,
        commit: &commit,
    };
    cache::store(&hub.cache_dir, file, content).map_err(in_cache)
}

/// Reason why a content was not received.
enum Failure {
    /// The download was interrupted. The part received is right.
    Interrupted(String),
    /// The content is not the one asked for.
    Wrong(String),
}

/// Requests the rest, if a part of the content was received before. Returns the response, and the byte of
/// the content at which it begins.
fn resume(
    ask: impl Fn(u64) -> Result<(Described, Response<Body>), String>,
    described: Option<u64>,
    whole: Response<Body>,
    content: &File,
) -> Result<(Response<Body>, u64), Failure> {
    let total = described.or(whole.body().content_length());
    let there = content.metadata().map_or(0, |file| file.len());
    let Some(total) = total.filter(|total| (1..*total).contains(&there)) else {
        return Ok((whole, 0));
    };
    drop(whole);
    let (_, rest) = ask(there).map_err(Failure::Interrupted)?;
    if rest.status() == 200 {
        return Ok((rest, 0));
    }
    let range = rest.headers().get("content-range");
    let range = range.and_then(|range| range.to_str().ok()).unwrap_or("");
    if range != format!("bytes {there}-{}/{total}", total - 1) {
        return Err(Failure::Wrong(format!(
            "asked for bytes {there} to {} of {total}, the answer has {range:?}",
            total - 1
        )));
    }
    Ok((rest, there))
}
/// Writes the body of the response, which is the content starting at byte `from`, to the file, and returns
/// the SHA-256 of the content.
fn receive(
    hub: &Hub,
    response: Response<Body>,
    described: Option<u64>,
    from: u64,
    mut content: &File,
) -> Result<String, Failure> {
    let wrong = |reason| Err(Failure::Wrong(reason));
    if let Some(encoding) = response.headers().get("content-encoding")
        && encoding != "identity"
    {
        return wrong(format!("the content comes in the encoding {encoding:?}"));
    }
    let length = response.body().content_length();
    let length = length.map(|length| length.saturating_add(from));
    if let (Some(described), Some(length)) = (described, length)
        && described != length
    {
        return wrong(format!(
            "the answer has {length} bytes, the hub says {described}"
        ));
    }
    let expected = length.or(described);
    if expected.is_some_and(|bytes| bytes > hub.max_bytes) {
        return wrong(format!(
            "the file has {} bytes, above the limit of {}",
            expected.unwrap_or_default(),
            hub.max_bytes
        ));
    }
    let limit = expected.unwrap_or(hub.max_bytes);
    let in_cache = |error| Failure::Wrong(hub.cache_error(error));
    let mut hash = partial::hash(content, from).map_err(in_cache)?;
    let mut reader = response.into_body().into_reader();
    let mut buffer = vec![0; 1 << 16];
    let mut received = from;
    let tell = |bytes| {
        if let Some(progress) = &hub.progress {
            progress(Received {
                bytes,
                total: expected,
            });
        }
    };
    tell(received);
    loop {
        let count = match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) => {
                return Err(Failure::Interrupted(format!(
                    "after {received} bytes: {error}"
                )));
            }
        };
        received += count as u64;
        if received > limit {
            return wrong(format!("the content is longer than {limit} bytes"));
        }
        hash.update(&buffer[..count]);
        content.write_all(&buffer[..count]).map_err(in_cache)?;
        tell(received);
    }
    if let Some(expected) = expected.filter(|expected| *expected != received) {
        return Err(Failure::Interrupted(format!(
            "the content ends after {received} of {expected} bytes"
        )));
    }
    Ok(hash::digits(hash))
}

/// Checks the format before the file enters the cache: an error page with a good status is neither a
/// safetensors nor a JSON file.
fn check_content(file: &HubFile, content: &Draft) -> Result<(), String> {
    let reason = if file.file.ends_with(".safetensors") {
        check_file(&content.path()).err()
    } else if file.file.ends_with(".json") {
        let read = File::open(content.path()).map_err(|error| error.to_string())?;
        let value: serde_json::Result<serde::de::IgnoredAny> =
            serde_json::from_reader(std::io::BufReader::new(read));
        value.err().map(|error| format!("not valid JSON: {error}"))
    } else {
        None
    };
    reason.map_or(Ok(()), |reason| {
        Err(format!("the content is not what its name says: {reason}"))
    })
}
