//! Text from files in messages and reports.
//!
//! Names of tensors, keys, layers, and files can contain any character, even characters that move a
//! terminal's cursor, reverse the direction of a line, or are invisible. [`escape`] alone makes such text
//! safe to show. Every error message of the workspace uses it.

use std::borrow::Cow;

/// Returns whether a character is invisible or changes how the text around it is shown.
///
/// These are the control characters (C0, DEL, C1), the line and paragraph separators, and the characters
/// that Unicode ignores by default in rendering: joiners, zero-width spaces, directional controls, variation
/// selectors, Hangul fillers, the byte order mark, tags, and the annotation characters. Spaces, unassigned
/// characters, and combining marks are visible.
///
/// ```
/// use pe_core::text::is_invisible;
///
/// assert!(['\x1b', '\u{7f}', '\u{61c}', '\u{200b}', '\u{2028}', '\u{feff}', '\u{e0041}'].map(is_invisible) == [true; 7]);
/// assert!(!is_invisible('é') && !is_invisible('語') && !is_invisible(' '));
/// ```
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}'
            // Default_Ignorable_Code_Point of Unicode 16.
            | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Returns the text on one line, with an escape such as `\n` or `\u{200b}` for each character that
/// [`is_invisible`].
///
/// All other characters are unchanged, including quotes and backslashes, so escaping twice changes
/// nothing.
///
/// ```
/// use pe_core::text::escape;
///
/// assert_eq!(escape("wte.weight"), "wte.weight");
/// assert_eq!(escape("a\n\u{1b}[2Jb\u{202e}"), r"a\n\u{1b}[2Jb\u{202e}");
/// ```
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(is_invisible) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match is_invisible(c) {
            true => escaped.extend(c.escape_default()),
            false => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}
