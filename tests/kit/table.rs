//! Tables of cases as plain text, one case per line.

/// A case: its heading, and the two sides of ` => `.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    pub heading: &'a str,
    pub left: &'a str,
    pub right: &'a str,
}

/// Returns the lines `LEFT => RIGHT` below their headings `## HEADING`. Lines that begin with `# ` are comments.
pub fn rows(text: &str) -> Vec<Row<'_>> {
    let (mut rows, mut heading) = (Vec::new(), "");
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            heading = name;
        } else if !line.is_empty() && !line.starts_with("# ") {
            let (left, right) = line
                .split_once(" => ")
                .unwrap_or_else(|| panic!("no arrow: {line}"));
            rows.push(Row {
                heading,
                left,
                right,
            });
        }
    }
    assert!(!rows.is_empty());
    rows
}

/// Returns whether a text is the pattern, in which `…` means any characters.
pub fn matches(text: &str, pattern: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('…') else {
        return text == pattern;
    };
    let Some(mut text) = text.strip_prefix(first) else {
        return false;
    };
    let (middle, last) = rest.rsplit_once('…').unwrap_or(("", rest));
    for part in middle.split('…') {
        let Some(at) = text.find(part) else {
            return false;
        };
        text = &text[at + part.len()..];
    }
    text.ends_with(last)
}

/// Asserts messages: `rejected! { MESSAGE => PATTERN, ... }`, or `rejected! { error; REQUEST => PATTERN, ... }`, where
/// `error` returns the message of a request.
#[macro_export]
macro_rules! rejected {
    ($error:expr; $($request:expr => $pattern:expr),+ $(,)?) => {$(
        let (found, pattern): (String, &str) = ($error($request), $pattern);
        let matches = $crate::table::matches(&found, pattern);
        assert!(matches, "{}: {found}\n{pattern}", stringify!($request));
    )+};
    ($($message:expr => $pattern:expr),+ $(,)?) => {
        $crate::rejected! { String::from; $($message => $pattern),+ }
    };
}

#[test]
fn patterns_match_from_both_ends() {
    for pattern in ["abcd", "ab…", "…cd", "a…d", "…b…", "a…b…d", "…", "abcd…"] {
        assert!(matches("abcd", pattern), "{pattern}");
    }
    for pattern in ["abc", "b…", "…c", "a…x…d", "abc…bcd", "a…d…d", ""] {
        assert!(!matches("abcd", pattern), "{pattern}");
    }
}
