//! The page's script and its data.

use serde_json::json;

use super::live::{DISTANCES, POSITIONS};
use crate::chart;

/// Source of the numbers after a slider has moved.
const COMPUTED: &str = "These numbers: computed by this page's script in 64-bit arithmetic, within \
                        10\u{207b}\u{2079} of pe-core's (relative above 1).";

/// The script's modules, each after those that it imports.
const MODULES: [(&str, &str); 10] = [
    ("number", include_str!("script/number.js")),
    ("table", include_str!("script/table.js")),
    ("rotary", include_str!("script/rotary.js")),
    ("controls", include_str!("script/controls.js")),
    ("address", include_str!("script/address.js")),
    ("sheet", include_str!("script/sheet.js")),
    ("pictures", include_str!("script/pictures.js")),
    ("scores", include_str!("script/scores.js")),
    ("panel", include_str!("script/panel.js")),
    ("main", include_str!("script/main.js")),
];

/// Returns the script's data as JSON.
pub(super) fn data() -> String {
    json!({
        "positions": POSITIONS,
        "distances": DISTANCES,
        "palette": chart::diverging_palette(),
        "computed": COMPUTED,
        "axes": chart::AXES,
        "rings": chart::RINGS,
    })
    .to_string()
}

/// Joins the modules into one script, because a page that loads nothing cannot import.
pub(super) fn joined() -> String {
    let mut script = "\"use strict\";\n".to_owned();
    for line in MODULES.iter().flat_map(|(_, module)| module.lines()) {
        if !line.starts_with("import ") {
            script += line.strip_prefix("export ").unwrap_or(line);
            script.push('\n');
        }
    }
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_import_from_earlier_ones_alone() {
        let names = MODULES.map(|(name, _)| name);
        for (index, (_, module)) in MODULES.iter().enumerate() {
            for line in module.lines().filter(|line| line.starts_with("import ")) {
                let from = line
                    .rsplit("\"./")
                    .next()
                    .unwrap()
                    .trim_end_matches(".js\";");
                assert!(names[..index].contains(&from), "{line}");
            }
        }
        let script = joined();
        assert!(!script.contains("\nimport ") && !script.contains("\nexport "));
    }

    /// Modules share one scope once they are joined.
    #[test]
    fn modules_name_everything_once() {
        let script = joined();
        let names = script
            .lines()
            .filter_map(|line| line.strip_prefix("const "));
        let mut names: Vec<&str> = names
            .filter_map(|rest| rest.split([' ', '=']).next())
            .collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }
}
