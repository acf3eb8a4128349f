//! Requests for a file: address, redirects, token, and errors in words.

use std::time::{Duration, Instant};

use ureq::http::{Response, Uri};
use ureq::{Agent, Body};

use super::config::Hub;

/// Largest number of redirects. The hub needs one or two.
const MAX_REDIRECTS: usize = 5;

/// Properties of a file by the hub's own response, before it refers to another server.
#[derive(Default)]
pub(super) struct Described {
    pub(super) commit: Option<String>,
    pub(super) etag: Option<String>,
    pub(super) size: Option<u64>,
}
/// Requests the file starting at one of its bytes, and follows redirects to the response that has it.
pub(super) fn request(
    hub: &Hub,
    agent: &Agent,
    mut url: String,
    origin: &str,
    deadline: Instant,
    from: u64,
) -> Result<(Described, Response<Body>), String> {
    let mut described = Described::default();
    for _ in 0..=MAX_REDIRECTS {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut request = agent
            .get(&url)
            .header("Accept-Encoding", "identity")
            .config()
            .timeout_global(Some(left.max(Duration::from_millis(1))))
            .build();
        let here = self::origin(&url)?;
        if let Some(token) = &hub.token
            && here == origin
            && (here.starts_with("https:") || is_loopback(&here))
        {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        if from > 0 {
            request = request.header("Range", format!("bytes={from}-"));
        }
        let response = request
            .call()
            .map_err(|error| describe_error(&error, &here))?;
        let header = |name: &str| {
            let value = response.headers().get(name)?;
            value.to_str().ok().map(str::to_owned)
        };
        if here == origin {
            // The linked headers describe the target of a redirect.
            described.commit = header("x-repo-commit").or(described.commit);
            described.etag = header("x-linked-etag")
                .or(described.etag)
                .or(header("etag"));
            let size = header("x-linked-size").and_then(|size| size.parse().ok());
            described.size = size.or(described.size);
        }
        let status = response.status().as_u16();
        match status {
            200 => return Ok((described, response)),
            206 if from > 0 => return Ok((described, response)),
            301 | 302 | 303 | 307 | 308 => {
                let Some(location) = header("location") else {
                    return Err(format!("status {status} without a Location"));
                };
                url = follow(&url, &location)?;
            }
            _ => {
                return Err(describe_status(
                    status,
                    header("x-error-message").as_deref(),
                ));
            }
        }
    }
    Err(format!("more than {MAX_REDIRECTS} redirects"))
}
pub(super) fn agent(hub: &Hub, origin: &str) -> Agent {
    let timeouts = hub.timeouts;
    let mut config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .user_agent(concat!("pe-candle/", env!("CARGO_PKG_VERSION")))
        .timeout_resolve(Some(timeouts.connect))
        .timeout_connect(Some(timeouts.connect))
        .timeout_recv_response(Some(timeouts.stall))
        .timeout_per_read(Some(timeouts.stall))
        .timeout_per_write(Some(timeouts.stall));
    if is_loopback(origin) {
        // For a proxy this address would be its own machine.
        config = config.proxy(None);
    }
    Agent::new_with_config(config.build())
}

/// Returns scheme, host, and port of an address.
pub(super) fn origin(url: &str) -> Result<String, String> {
    let uri: Uri = url
        .parse()
        .map_err(|error| format!("the address {url:?} is not valid: {error}"))?;
    match (uri.scheme_str(), uri.authority()) {
        (Some(scheme @ ("http" | "https")), Some(authority))
            if !authority.as_str().contains('@') =>
        {
            Ok(format!(
                "{scheme}://{}",
                authority.as_str().to_ascii_lowercase()
            ))
        }
        _ => Err(format!("the address {url:?} is not one of http or https")),
    }
}

fn is_loopback(origin: &str) -> bool {
    let host = origin
        .parse::<Uri>()
        .ok()
        .and_then(|uri| uri.host().map(str::to_owned));
    matches!(host.as_deref(), Some("127.0.0.1" | "localhost" | "[::1]"))
}

/// Returns the address of a redirect.
fn follow(from: &str, location: &str) -> Result<String, String> {
    let here = origin(from)?;
    let to = if location.starts_with('/') && !location.starts_with("//") {
        format!("{here}{location}")
    } else {
        location.to_owned()
    };
    let there = origin(&to)?;
    if here.starts_with("https:") && !there.starts_with("https:") {
        return Err(format!("redirected from https to {there}"));
    }
    Ok(to)
}

/// Percent-encodes everything but letters, digits, '-', '_', '.', '~', and the characters of `keep`.
pub(super) fn escape(text: &str, keep: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        let c = char::from(byte);
        if byte.is_ascii_alphanumeric() || "-_.~".contains(c) || keep.contains(c) {
            escaped.push(c);
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

/// Describes a status other than success.
fn describe_status(status: u16, message: Option<&str>) -> String {
    let meaning = match status {
        401 | 403 => "access is denied: the repository is private or gated, or does not exist",
        404 => "there is no such repository, revision or file",
        429 => "the hub has had too many requests from here",
        500.. => "the hub has a fault",
        _ => "the answer is not the file",
    };
    let mut reason = format!("{meaning} (status {status})");
    if let Some(message) = message {
        let shown: String = message.chars().take(200).collect();
        reason.push_str(&format!("; the hub says {shown:?}"));
    }
    reason
}

fn describe_error(error: &ureq::Error, host: &str) -> String {
    match error {
        ureq::Error::HostNotFound => format!("{host} is not found; is there a network?"),
        ureq::Error::ConnectionFailed => format!("no connection to {host}; is there a network?"),
        ureq::Error::Io(error) => format!("no connection to {host}: {error}; is there a network?"),
        ureq::Error::Timeout(what) => format!("{host} did not answer in time ({what})"),
        other => format!("{host}: {other}"),
    }
}
