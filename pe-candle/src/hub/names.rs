//! Checks of the names that the hub allows.

type Check = Result<(), String>;

/// Checks a repository: `owner/name` or `name`.
pub(super) fn repo(id: &str) -> Check {
    if id.split('/').count() > 2 {
        return Err("more than one '/'".to_owned());
    }
    for segment in id.split('/') {
        plain_segment(segment, 96)?;
        if segment.contains("--") {
            return Err("\"--\" stands for '/' in the cache".to_owned());
        }
        if segment.starts_with('-') || segment.ends_with(['-', '.']) {
            return Err("a part begins with '-' or ends with '-' or '.'".to_owned());
        }
    }
    if id.ends_with(".git") {
        return Err("it ends in .git".to_owned());
    }
    Ok(())
}

/// Checks a branch, tag, commit, or a reference such as `refs/pr/1`.
pub(super) fn revision(name: &str) -> Check {
    if name.len() > 255 {
        return Err("longer than 255 characters".to_owned());
    }
    for segment in name.split('/') {
        plain_segment(segment, 255)?;
        if segment.starts_with('-') || segment.ends_with('.') || segment.ends_with(".lock") {
            return Err("a part begins with '-' or ends with '.' or \".lock\"".to_owned());
        }
    }
    Ok(())
}

/// Checks a path of ordinary names.
pub(super) fn file(path: &str) -> Check {
    if path.len() > 1024 {
        return Err("longer than 1024 bytes".to_owned());
    }
    for segment in path.split('/') {
        ordinary_segment(segment, 255)?;
        if let Some(bad) = segment
            .chars()
            .find(|c| c.is_control() || "\\:*?\"<>|".contains(*c))
        {
            return Err(format!("it contains {bad:?}"));
        }
        if segment.ends_with(['.', ' ']) || segment.starts_with(' ') {
            return Err("a part begins with a space or ends with a space or '.'".to_owned());
        }
    }
    Ok(())
}

/// Endings of the parts and locks next to the contents, of this library and of others.
const ENDINGS: [&str; 4] = [".pe-part", ".incomplete", ".part", ".lock"];

/// Returns whether a name has an ending in any case, because some file systems ignore case.
fn has_ending(name: &str, end: &str) -> bool {
    let from = name.len().checked_sub(end.len());
    let found = from.and_then(|from| name.get(from..));
    found.is_some_and(|found| found.eq_ignore_ascii_case(end))
}

/// Reads an entity tag that can name a file in the cache. The error is the reason.
pub(super) fn etag(header: &str) -> Result<&str, String> {
    let tag = header
        .strip_prefix("W/")
        .unwrap_or(header)
        .trim_matches('"');
    let checked = match ENDINGS.iter().find(|end| has_ending(tag, end)) {
        Some(end) => Err(format!("{end} names no content in the cache")),
        None => plain_segment(tag, 128),
    };
    match checked {
        Ok(()) => Ok(tag),
        Err(reason) => Err(format!(
            "the answer's ETag {header:?} is not valid: {reason}"
        )),
    }
}

/// Returns whether a text is a commit: 40 hexadecimal digits.
pub(super) fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns whether a text is a SHA-256: 64 hexadecimal digits.
pub(super) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Checks for letters, digits, '-', '_', and '.', not beginning with a dot.
fn plain_segment(segment: &str, longest: usize) -> Check {
    ordinary_segment(segment, longest)?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if let Some(bad) = segment.chars().find(|c| !allowed(*c)) {
        return Err(format!("it contains {bad:?}"));
    }
    if segment.starts_with('.') || segment.contains("..") {
        return Err("a part begins with '.' or contains \"..\"".to_owned());
    }
    Ok(())
}

/// Checks a part of any path.
fn ordinary_segment(segment: &str, longest: usize) -> Check {
    if segment.is_empty() {
        return Err("a part is empty".to_owned());
    }
    if segment == "." || segment == ".." {
        return Err(format!("a part is {segment:?}"));
    }
    if segment.len() > longest {
        return Err(format!("a part is longer than {longest} bytes"));
    }
    Ok(())
}
