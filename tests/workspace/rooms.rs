//! The rooms of a crate: their imports, and the number of their files.
//!
//! `rooms/CRATE.txt` lists the rooms of `CRATE/src` from top to bottom: the name of a file or folder there, the
//! rooms that it may import from, and what happens in it, in columns two spaces apart. DESIGN.md shows the same text.
//! A folder in a folder may be a room of its own: `checkpoint/file` is none of `checkpoint`.
//! Unit tests (`#[cfg(test)]`) may look anywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The most files of one folder.
const FULL: usize = 14;

/// A module by its path below the crate: `rows::lane` is `["rows", "lane"]`, the crate itself is `[]`.
type Module = Vec<String>;

struct Room {
    name: String,
    imports: Vec<String>,
}

/// Reads a table of rooms. Its first line names the columns.
fn rooms(table: &str) -> Vec<Room> {
    let of = |line: &str| {
        let columns: Vec<&str> = line.split("  ").filter(|c| !c.is_empty()).collect();
        let [name, imports, _] = columns[..] else {
            panic!("three columns, two spaces apart: {line}");
        };
        Room {
            name: name.trim().to_owned(),
            imports: imports.split_whitespace().map(str::to_owned).collect(),
        }
    };
    table.lines().skip(1).map(of).collect()
}

/// The Rust files of a folder and of those in it.
fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

fn module_of(path: &Path) -> Module {
    let parts = path.with_extension("");
    let parts = parts.iter().map(|part| part.to_str().unwrap().to_owned());
    parts.filter(|part| part != "lib").collect()
}

/// Words, `::` and single signs of a source, without comments, literals and what is compiled for tests alone.
fn tokens(source: &str) -> Vec<&str> {
    let mut out: Vec<&str> = Vec::new();
    let bytes = source.as_bytes();
    let is_word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_' || *b >= 0x80;
    let mut at = 0;
    while at < bytes.len() {
        let rest = &source[at..];
        let word = bytes[at..].iter().take_while(|b| is_word(b)).count();
        let quote = rest.trim_start_matches(['b', 'r', '#']);
        at += if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").expect("the comment ends") + 2
        } else if quote.starts_with('"') && word <= 2 && !rest.starts_with('#') {
            let prefix = &rest[..rest.len() - quote.len()];
            prefix.len() + 1 + string(&quote[1..], prefix)
        } else if let Some(quoted) = rest.strip_prefix('\'') {
            let mut characters = quoted.char_indices();
            match (characters.next(), characters.next()) {
                (Some((_, '\\')), _) => quoted[2..].find('\'').expect("the character ends") + 4,
                (_, Some((end, '\''))) => end + 2,
                // A lifetime's name follows as a word.
                _ => 1,
            }
        } else if word > 0 {
            out.push(&rest[..word]);
            word
        } else if rest.starts_with("::") {
            out.push("::");
            2
        } else {
            if !bytes[at].is_ascii_whitespace() {
                out.push(&rest[..1]);
            }
            1
        };
    }
    without_tests(out)
}

/// The length of a string after its opening quote, the closing one included.
fn string(rest: &str, prefix: &str) -> usize {
    if prefix.contains('r') {
        let end = format!("\"{}", "#".repeat(prefix.matches('#').count()));
        return rest.find(&end).expect("the string ends") + end.len();
    }
    let mut escaped = false;
    let end = rest.bytes().position(|b| {
        let ends = b == b'"' && !escaped;
        escaped = b == b'\\' && !escaped;
        ends
    });
    end.expect("the string ends") + 1
}

fn without_tests(tokens: Vec<&str>) -> Vec<&str> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut out = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if !tokens[at..].starts_with(&MARK) {
            out.push(tokens[at]);
            at += 1;
            continue;
        }
        // An item ends with its first semicolon or closing brace outside of brackets.
        at += MARK.len();
        let mut depth = 0;
        while at < tokens.len() {
            let token = tokens[at];
            at += 1;
            match token {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            if depth == 0 && (token == ";" || token == "}") {
                break;
            }
        }
    }
    out
}

/// The paths of a `use` tree that starts at `at`, each after `stem`; returns where the tree ends.
fn tree<'a>(
    tokens: &[&'a str],
    mut at: usize,
    stem: &[&'a str],
    out: &mut Vec<Vec<&'a str>>,
) -> usize {
    let mut path = stem.to_vec();
    loop {
        match tokens[at] {
            "::" => at += 1,
            "{" => {
                while tokens[at] != "}" {
                    at += 1;
                    if tokens[at] != "}" {
                        at = tree(tokens, at, &path, out);
                    }
                }
                return at + 1;
            }
            "as" => at += 2,
            "," | "}" | ";" => {
                out.push(path);
                return at;
            }
            word => {
                path.push(word);
                at += 1;
            }
        }
    }
}

/// The paths that a source names: its `use` trees, and inline ones that start with `crate`, `self` or `super`.
fn paths(tokens: &[&str]) -> Vec<Vec<String>> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at] {
            "use" => at = tree(tokens, at + 1, &[], &mut out),
            start @ ("crate" | "self" | "super") if tokens.get(at + 1) == Some(&"::") => {
                let mut path = vec![start];
                at += 2;
                while let [word, "::", ..] = tokens[at..] {
                    path.push(word);
                    at += 2;
                }
                path.push(tokens[at]);
                out.push(path);
            }
            _ => at += 1,
        }
    }
    let owned = |path: Vec<&str>| path.into_iter().map(str::to_owned).collect();
    out.into_iter().map(owned).collect()
}

/// The module that a path named in `from` leads to; `None` for other crates.
fn resolve(path: &[String], from: &Module, modules: &BTreeSet<Module>) -> Option<Module> {
    let mut found = match path[0].as_str() {
        "crate" => Vec::new(),
        "self" | "super" => from.clone(),
        child => {
            let mut module = from.clone();
            module.push(child.to_owned());
            modules.contains(&module).then(|| from.clone())?
        }
    };
    for word in path {
        match word.as_str() {
            "crate" | "self" => {}
            "super" => drop(found.pop()),
            word => {
                found.push(word.to_owned());
                if !modules.contains(&found) {
                    found.pop();
                    break;
                }
            }
        }
    }
    Some(found)
}

/// Modules that each module names.
fn arrows(sources: &BTreeMap<Module, String>) -> BTreeMap<Module, BTreeSet<Module>> {
    let modules: BTreeSet<Module> = sources.keys().cloned().collect();
    let of = |(from, source): (&Module, &String)| {
        let tokens = tokens(source);
        let inline = tokens
            .windows(3)
            .find(|w| w[0] == "mod" && w[2] == "{")
            .map(|w| w[1]);
        assert_eq!(inline, None, "{from:?}: a module in a file is not read");
        let paths = paths(&tokens);
        let to = paths.iter().filter_map(|p| resolve(p, from, &modules));
        (from.clone(), to.filter(|to| to != from).collect())
    };
    sources.iter().map(of).collect()
}

fn name(module: &[String]) -> String {
    match module {
        [] => "lib.rs".to_owned(),
        parts => parts.join("/"),
    }
}

/// Returns the differences between the arrows and the table, a line each.
fn against(rooms: &[Room], arrows: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    // The innermost room that a module is in, or else its own name.
    let room = |module: &Module| {
        let of = |len| rooms.iter().find(|r| r.name == name(&module[..len]));
        let innermost = (1.min(module.len())..=module.len()).rev().find_map(of);
        innermost.map_or_else(|| name(module), |room| room.name.clone())
    };
    for (from, to) in arrows {
        let Some(place) = rooms.iter().position(|r| r.name == room(from)) else {
            wrong.push(format!("{}: no such room in the table", name(from)));
            continue;
        };
        for to in to {
            let (inside, own_room) = (room(from) == room(to), name(to) == room(to));
            if inside && own_room {
                let (from, to) = (name(from), name(to));
                wrong.push(format!("{from} -> {to}: through the door of its own room"));
            } else if !inside {
                used.insert((room(from), room(to)));
                let may = &rooms[place].imports;
                if !may
                    .iter()
                    .any(|may| *may == room(to) || may == "everything")
                {
                    wrong.push(format!("{} -> {}", name(from), name(to)));
                }
            }
        }
    }
    for (place, Room { name, imports }) in rooms.iter().enumerate() {
        if !arrows.keys().any(|module| room(module) == *name) {
            wrong.push(format!("{name}: in the table alone"));
        }
        for may in imports
            .iter()
            .filter(|may| *may != "everything" && *may != "nothing")
        {
            if !rooms[place + 1..].iter().any(|below| below.name == *may) {
                wrong.push(format!(
                    "{name} may not import {may}, which is not below it"
                ));
            } else if !used.contains(&(name.clone(), may.clone())) {
                wrong.push(format!("{name} no longer imports {may}"));
            }
        }
    }
    wrong.extend(circle(arrows, room));
    wrong
}

/// A circle of files of one room, if there is one. A file and those in the folder of its name are one thing.
fn circle(
    arrows: &BTreeMap<Module, BTreeSet<Module>>,
    room: impl Fn(&Module) -> String,
) -> Option<String> {
    let related = |a: &Module, b: &Module| a.starts_with(b) || b.starts_with(a);
    let mut left = arrows.clone();
    for (from, to) in &mut left {
        to.retain(|to| room(from) == room(to) && !related(from, to));
    }
    // What imports nothing that is left is in no circle.
    while let Some(free) = left.iter().find(|(_, to)| to.is_empty()) {
        let free = free.0.clone();
        left.remove(&free);
        for to in left.values_mut() {
            to.remove(&free);
        }
    }
    let mut at = left.keys().next()?.clone();
    let mut way = Vec::new();
    while !way.contains(&at) {
        way.push(at.clone());
        at = left[&at].first()?.clone();
    }
    let from = way.iter().position(|module| *module == at)?;
    let names: Vec<String> = way[from..]
        .iter()
        .chain([&at])
        .map(|module| name(module))
        .collect();
    Some(format!("a circle: {}", names.join(" -> ")))
}

/// The folders that hold more than [`FULL`] of the files.
fn full_floors(files: &[PathBuf]) -> Vec<String> {
    let mut floors = BTreeMap::<&Path, usize>::new();
    for file in files {
        *floors.entry(file.parent().unwrap()).or_default() += 1;
    }
    let full = floors.into_iter().filter(|(_, files)| *files > FULL);
    full.map(|(floor, files)| format!("{}: {files} files on one floor", floor.display()))
        .collect()
}

/// Checks `CRATE/src` against `rooms/CRATE.txt`, and that against DESIGN.md.
fn check(package: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let table = root.join(format!("tests/workspace/rooms/{package}.txt"));
    let table = fs::read_to_string(table).unwrap();
    let source = root.join(package).join("src");
    let mut list = Vec::new();
    files(&source, &mut list);
    let mut sources = BTreeMap::new();
    for file in &list {
        let module = module_of(file.strip_prefix(&source).unwrap());
        sources.insert(module, fs::read_to_string(file).unwrap());
    }
    let mut wrong = against(&rooms(&table), &arrows(&sources));
    wrong.extend(full_floors(&list));
    if let Ok(design) = fs::read_to_string(root.join("DESIGN.md"))
        && !design.contains(&format!("```text\n{table}```"))
    {
        wrong.push(format!("DESIGN.md does not show rooms/{package}.txt"));
    }
    assert!(wrong.is_empty(), "{package}:\n{}", wrong.join("\n"));
}

#[test]
fn imports_of_pe_core_run_down_the_rooms() {
    check("pe-core");
}

#[test]
fn imports_of_pe_candle_run_down_the_rooms() {
    check("pe-candle");
}

#[test]
fn imports_of_pe_demo_run_down_the_rooms() {
    check("pe-demo");
}

/// Returns the report of `against` for sources with the rooms `top`, `middle`, and `ground`.
fn said(sources: &[(&str, &str)]) -> Vec<String> {
    let table = "room  may import  what\nlib.rs  everything  -\ntop  middle ground  -\nmiddle  ground  -\nground  nothing  -";
    let mut all: BTreeMap<Module, String> = BTreeMap::new();
    for (path, source) in [
        ("lib.rs", "mod ground; mod middle; mod top;"),
        ("top.rs", "use crate::{ground, middle::{self as m, A}};"),
        (
            "middle.rs",
            "pub(crate) mod a; pub(crate) mod b; pub use a::A;",
        ),
        ("middle/a.rs", "use crate::ground::G;"),
        ("middle/b.rs", "use super::a::{A, B};"),
        ("ground.rs", ""),
    ] {
        all.insert(module_of(Path::new(path)), source.to_owned());
    }
    for (path, source) in sources {
        all.insert(module_of(Path::new(path)), (*source).to_owned());
    }
    against(&rooms(table), &arrows(&all))
}

#[test]
fn folder_in_a_folder_may_be_a_room() {
    let said = |path: &str, source: &str| {
        let table = "room  may import  what\nlib.rs  everything  -\ntop  middle/low  -\nmiddle  middle/low  -\nmiddle/low  nothing  -";
        let mut all = BTreeMap::new();
        for (path, source) in [
            ("lib.rs", "mod middle; mod top;"),
            ("top.rs", "use crate::middle::low::a;"),
            ("middle.rs", "pub(crate) mod low; mod b; use low::a;"),
            ("middle/b.rs", ""),
            ("middle/low.rs", "pub(crate) mod a;"),
            ("middle/low/a.rs", "use super::c;"),
            ("middle/low/c.rs", ""),
            (path, source),
        ] {
            all.insert(module_of(Path::new(path)), source.to_owned());
        }
        against(&rooms(table), &arrows(&all))
    };
    assert_eq!(said("top.rs", "use crate::middle::low;"), [""; 0]);
    for (path, source, expected) in [
        (
            "middle/low/c.rs",
            "use crate::middle::b;",
            "middle/low/c -> middle/b",
        ),
        (
            "middle/low/c.rs",
            "use super::super::b;",
            "middle/low/c -> middle/b",
        ),
        ("middle/low.rs", "use super::b;", "middle/low -> middle/b"),
        ("middle/low/c.rs", "use crate::top;", "middle/low/c -> top"),
        ("top.rs", "use crate::middle::b;", "top -> middle/b"),
        (
            "middle/low/c.rs",
            "use super::a;",
            "a circle: middle/low/a -> middle/low/c -> middle/low/a",
        ),
        (
            "middle/low/c.rs",
            "use super::X;",
            "middle/low/c -> middle/low: through the door of its own room",
        ),
    ] {
        let found = said(path, source);
        assert!(
            found.iter().any(|line| line == expected),
            "{source}: {found:?}"
        );
    }
}

#[test]
fn arrows_against_the_order_are_found() {
    assert_eq!(said(&[]), [""; 0]);
    for (path, source, expected) in [
        ("ground.rs", "use crate::middle;", "ground -> middle"),
        (
            "ground.rs",
            "use crate::{middle::b, E};",
            "ground -> middle/b",
        ),
        (
            "ground.rs",
            "fn f() { crate::top::g::<u8>() }",
            "ground -> top",
        ),
        (
            "ground.rs",
            "#[x(max = crate::MAX)] struct S;",
            "ground -> lib.rs",
        ),
        (
            "ground.rs",
            "use super::middle::a as b;",
            "ground -> middle/a",
        ),
        (
            "middle/a.rs",
            "use crate::ground; use crate::top::{A};",
            "middle/a -> top",
        ),
        (
            "middle/b.rs",
            "use super::A;",
            "middle/b -> middle: through the door of its own room",
        ),
        (
            "middle/a.rs",
            "use super::b; use crate::ground;",
            "a circle: middle/a -> middle/b -> middle/a",
        ),
        ("middle/a.rs", "", "middle no longer imports ground"),
        ("attic.rs", "", "attic: no such room in the table"),
    ] {
        let found = said(&[(path, source)]);
        assert!(
            found.iter().any(|line| line == expected),
            "{source}: {found:?}"
        );
    }
}

#[test]
fn full_floors_are_found() {
    let files = |count: usize| -> Vec<PathBuf> {
        let file = |n| PathBuf::from(format!("rows/{n}.rs"));
        (0..count).map(file).chain(["lib.rs".into()]).collect()
    };
    assert_eq!(full_floors(&files(14)), [""; 0]);
    assert_eq!(full_floors(&files(15)), ["rows: 15 files on one floor"]);
}

#[test]
fn comments_literals_and_tests_are_not_arrows() {
    for source in [
        "// use crate::top;\n/* crate::top::x */",
        r##"const A: &str = "use crate::top; \" crate::top::b"; const B: &str = r#"crate::top::c"#;"##,
        "const C: char = '\"'; const D: char = '\\''; const E: char = 'é'; fn f<'a>() {} // \"",
        "#[cfg(test)] mod tests { use super::*; use crate::top; fn f() { { } } }",
        "#[cfg(test)] use crate::top; #[cfg(test)] #[a] fn f(x: [u8; 3]) -> u8 { crate::top::x() }",
    ] {
        assert_eq!(said(&[("ground.rs", source)]), [""; 0], "{source}");
        let both = format!("{source}\nuse crate::top;");
        assert_eq!(said(&[("ground.rs", &both)]), ["ground -> top"], "{source}");
    }
}
