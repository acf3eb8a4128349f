//! Scripts of texts, by their names.

/// Beginnings and ends of blocks of Unicode with letters of a script, and emoji.
const BLOCKS: [(char, char, &str); 22] = [
    ('\u{370}', '\u{3ff}', "Greek"),
    ('\u{400}', '\u{52f}', "Cyrillic"),
    ('\u{530}', '\u{58f}', "Armenian"),
    ('\u{590}', '\u{5ff}', "Hebrew"),
    ('\u{600}', '\u{6ff}', "Arabic"),
    ('\u{750}', '\u{77f}', "Arabic"),
    ('\u{900}', '\u{97f}', "Devanagari"),
    ('\u{980}', '\u{9ff}', "Bengali"),
    ('\u{b80}', '\u{bff}', "Tamil"),
    ('\u{e00}', '\u{e7f}', "Thai"),
    ('\u{10a0}', '\u{10ff}', "Georgian"),
    ('\u{1100}', '\u{11ff}', "Korean"),
    ('\u{1f00}', '\u{1fff}', "Greek"),
    ('\u{2600}', '\u{27bf}', "symbols and emoji"),
    ('\u{3040}', '\u{30ff}', "Japanese"),
    ('\u{3400}', '\u{4dbf}', "Chinese"),
    ('\u{4e00}', '\u{9fff}', "Chinese"),
    ('\u{ac00}', '\u{d7af}', "Korean"),
    ('\u{f900}', '\u{faff}', "Chinese"),
    ('\u{fb50}', '\u{fdff}', "Arabic"),
    ('\u{1f000}', '\u{1faff}', "symbols and emoji"),
    ('\u{20000}', '\u{3ffff}', "Chinese"),
];

/// Returns the scripts of a text other than Latin, each once, in the order of the text.
pub(crate) fn of(text: &str) -> Vec<&'static str> {
    let mut found = Vec::new();
    for letter in text.chars() {
        let block = BLOCKS
            .iter()
            .find(|(first, last, _)| (*first..=*last).contains(&letter));
        if let Some((_, _, name)) = block
            && !found.contains(name)
        {
            found.push(*name);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_named_once() {
        for (text, names) in [
            ("Order matters, déjà vu.", &[][..]),
            ("语言模型 and 语言", &["Chinese"]),
            ("Привет, мир", &["Cyrillic"]),
            ("لا إله", &["Arabic"]),
            ("한국어 🎉 と", &["Korean", "symbols and emoji", "Japanese"]),
        ] {
            assert_eq!(of(text), names, "{text}");
        }
    }
}
