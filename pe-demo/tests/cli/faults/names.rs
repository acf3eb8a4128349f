//! Names from files that would hide something, and headers that would fill the memory.

use super::ground::Ground;

/// Each of these shows nothing, or changes what is around it.
const HIDDEN: &str = "\u{7f}\u{85}\u{9b}\u{ad}\u{61c}\u{200b}\u{200d}\u{200e}\u{2028}\u{202e}\u{2066}\
    \u{fe0f}\u{feff}\u{3164}\u{e0041}";

/// A safetensors file of a header and no data.
fn file(header: &str) -> Vec<u8> {
    let length = (header.len() as u64).to_le_bytes();
    [&length, header.as_bytes()].concat()
}

/// Whether a text shows all that is in it.
fn is_open(text: &str) -> bool {
    !text.contains(|c| c != '\n' && pe_core::text::is_invisible(c))
}

#[test]
fn names_are_escaped_in_text_and_in_json_and_read_back_as_they_are() {
    let ground = Ground::new();
    let quoted = serde_json::to_string(&format!("a{HIDDEN}\n\u{1b}b")).expect("JSON");
    let name: String = serde_json::from_str(&quoted).expect("a name");
    let entry = r#"{"dtype":"U8","shape":[0],"data_offsets":[0,0]}"#;
    let header = format!(r#"{{"__metadata__":{{{quoted}:{quoted}}},{quoted}:{entry}}}"#);
    ground.write("names.safetensors", &file(&header));
    ground.write(
        "names.json",
        format!(
            r#"{{"model_type":{quoted},"head_dim":64,"max_position_embeddings":128,"rope_{}":7}}"#,
            &quoted[1..quoted.len() - 1]
        )
        .as_bytes(),
    );
    for file in ["names.safetensors", "names.json"] {
        for option in ["", "--json"] {
            let output = ground.shell(&format!("exec $pe inspect {option} {file}"));
            assert!(output.status.success(), "{output:?}");
            let out = String::from_utf8(output.stdout).expect("UTF-8");
            assert!(is_open(&out), "{out:?}");
            if option.is_empty() {
                // A line breaks where it is full.
                let words: String = out.split_whitespace().collect();
                assert!(
                    words.contains(r"\u{7f}\u{85}\u{9b}\u{ad}\u{61c}\u{200b}"),
                    "{out}"
                );
                continue;
            }
            assert!(
                out.contains(r"\u007f\u0085\u009b\u00ad\u061c\u200b\u200d"),
                "{out}"
            );
            let json: serde_json::Value = serde_json::from_str(&out).expect("JSON");
            match file {
                "names.json" => assert_eq!(json["model_type"], name),
                _ => {
                    assert_eq!(json["tensors"][0]["name"], name);
                    assert_eq!(json["metadata"][&name], name);
                }
            }
        }
    }
    // Errors name the same, and the file by whatever name, in one line.
    let odd = format!("x{HIDDEN}\ny.safetensors");
    ground.write(&odd, &file(&header.replace("[0,0]", "[0,1]")));
    ground.write(
        &odd.replace("safetensors", "json"),
        format!(r#"{{"rope_scaling":{quoted}}}"#).as_bytes(),
    );
    for line in [
        "inspect x*.safetensors",
        "inspect x*.json",
        "--weights x*s",
        "--file \"$(ls x*.json).missing\"",
        "--tokenizer x*.json",
    ] {
        let output = ground.shell(&format!("exec $pe {line}"));
        let error = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(is_open(&error), "{error:?}");
        // The line continues after the end of a line in a name.
        assert!(error.contains(r"\ny."), "{error}");
    }
}

/// The library bounds what a header takes by its length, up to the largest (`files/hostile/memory.rs`). The program adds
/// less than the memory that it has anyway.
#[test]
fn large_headers_are_refused_or_shown_in_bounded_memory_slow() {
    let ground = Ground::new();
    let empty = r#"{"dtype":"U8","shape":[0],"data_offsets":[0,0]}"#;
    let fill = |name: &str, count: usize, long: usize| {
        let long = "n".repeat(long);
        let mut header = String::from("{");
        for n in 0..count {
            let end = if n + 1 < count { "," } else { "}" };
            header += &[&format!("\"{n:06}"), &long, "\":", empty, end].concat();
        }
        ground.write(name, &file(&header));
    };
    // More than there may be, and names as long as the most tensors can have them.
    fill("many.safetensors", (1 << 18) + 1, 0);
    fill("long.safetensors", 1 << 16, 310);
    let limited = |line: &str| ground.shell(&format!("ulimit -v 400000; exec $pe inspect {line}"));
    let output = limited("many.safetensors");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(
        error.contains("many.safetensors: ") && error.contains("more than 262144 tensors"),
        "{error}"
    );
    // In text only the beginning of a name is shown.
    for line in ["long.safetensors", "long.safetensors --json"] {
        let output = limited(line);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let lines = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(lines.matches('\n').count() > 1 << 16);
    }
}
