//! What cannot be written.

use super::all;

const FULL: &str = "File too large";

#[test]
fn files_beyond_the_limit_of_the_process_leave_the_old_ones() {
    all::<16>(&[
        (
            "ulimit -f 2; exec $pe export --d-model 64 --max-seq-len 4096 -o old.safetensors",
            1,
            &["old.safetensors: ", FULL],
        ),
        (
            "ulimit -f 2; exec $pe export --d-model 64 --max-seq-len 4096 -o new.safetensors",
            1,
            &["new.safetensors: ", FULL],
        ),
        (
            "ulimit -f 2; exec $pe export --scheme rotary --head-dim 64 --max-seq-len 999 \
             -o old.safetensors",
            1,
            &["old.safetensors: ", FULL],
        ),
        (
            "ulimit -f 2; exec $pe report -o old.jsonl",
            1,
            &["old.jsonl: ", FULL],
        ),
        (
            "ulimit -f 1; exec $pe plot encoding-map -o folder",
            1,
            &["encoding-map.png", FULL],
        ),
        (
            "ulimit -f 2; exec $pe train --steps 1 --scheme none --d-model 8 --heads 1 --layers 1 \
             --length 8 -o folder",
            1,
            &["folder/none", FULL],
        ),
        (
            "seq 2000 | (ulimit -f 2; exec $pe --d-model 8 --layers 1 --file - -o old.jsonl)",
            1,
            &["old.jsonl: ", FULL],
        ),
        (
            "seq 2000 | (ulimit -f 2; exec $pe --d-model 8 --layers 1 --file - \
             -o old.safetensors)",
            1,
            &["old.safetensors: ", FULL],
        ),
        ("ulimit -f 2; exec $pe man -o folder", 1, &["folder/", FULL]),
        (
            "ulimit -f 1; exec $pe a --weights weights.safetensors --attention a.png",
            1,
            &["a.png"],
        ),
        (
            "exec $pe a --no-table --d-model 8 >/dev/full",
            1,
            &["standard output: No space left"],
        ),
        (
            "exec $pe a --no-table --d-model 8 --json >/dev/full",
            1,
            &["standard output: No space"],
        ),
        (
            "exec $pe inspect weights.safetensors >/dev/full",
            1,
            &["standard output: No space left"],
        ),
        (
            "exec $pe man >/dev/full",
            1,
            &["standard output: No space left"],
        ),
        (
            "exec $pe completions bash >/dev/full",
            1,
            &["standard output: No space left"],
        ),
        (
            "exec $pe --help >/dev/full",
            1,
            &["standard output: No space left"],
        ),
    ]);
}

#[test]
fn replaced_paths_are_files() {
    all::<23>(&[
        (
            "exec $pe export --d-model 8 --max-seq-len 3 -o /dev/full",
            1,
            &["/dev/full: "],
        ),
        (
            "exec $pe export --d-model 8 --max-seq-len 3 -o /dev/null",
            1,
            &["/dev/null: "],
        ),
        ("exec $pe report -o /dev/null", 1, &["/dev/null: "]),
        ("exec $pe report -o folder", 1, &["folder: is a directory"]),
        ("exec $pe report -o fifo.jsonl", 1, &["fifo.jsonl: "]),
        ("exec $pe a --d-model 8 -o fifo.jsonl", 1, &["fifo.jsonl: "]),
        (
            "exec $pe a --d-model 8 -o folder.jsonl",
            1,
            &["folder.jsonl: is a directory"],
        ),
        (
            "exec $pe export --d-model 8 --max-seq-len 3 -o folder",
            1,
            &["folder: is a directory"],
        ),
        (
            "exec $pe export --d-model 8 --max-seq-len 3 -o folder/",
            1,
            &["folder"],
        ),
        (
            "exec $pe export --d-model 8 --max-seq-len 3 -o empty/t.st",
            1,
            &["empty/t.st: "],
        ),
        (
            "exec $pe export --d-model 8 --max-seq-len 3 -o nowhere/t.st",
            1,
            &["nowhere/t.st: "],
        ),
        // Where nobody may write, whoever runs the tests.
        (
            "exec $pe export --d-model 8 --max-seq-len 3 -o /proc/t.st",
            1,
            &["/proc/t.st: "],
        ),
        ("exec $pe report -o /proc/r.html", 1, &["/proc/r.html: "]),
        (
            "exec $pe plot rings -o /proc/figures",
            1,
            &["/proc/figures: "],
        ),
        (
            "exec $pe train --steps 1 -o /proc/train",
            1,
            &["/proc/train: "],
        ),
        ("exec $pe man -o /proc/man", 1, &["/proc/man: "]),
        ("exec $pe plot rings -o empty", 1, &["empty: "]),
        ("exec $pe plot rings -o /dev/full", 1, &["/dev/full: "]),
        ("exec $pe train --steps 1 -o empty", 1, &["empty: "]),
        (
            "exec $pe export --d-model 8 --max-seq-len 3 -o ''",
            2,
            &["--output"],
        ),
        (
            "exec $pe export --d-model 8 --max-seq-len 3 -o -",
            2,
            &["'-'", "standard output"],
        ),
        (
            "exec $pe a -o old.txt",
            2,
            &["'old.txt'", ".safetensors or .jsonl"],
        ),
        (
            "exec $pe a --weights weights.safetensors --attention a.gif",
            2,
            &["'a.gif'", ".png"],
        ),
    ]);
}

#[test]
fn inputs_are_not_overwritten() {
    all::<14>(&[
        (
            "exec $pe --d-model 8 --file text.jsonl -o text.jsonl",
            2,
            &["--output text.jsonl would replace what --file text.jsonl reads"],
        ),
        (
            "exec $pe --d-model 8 --file text.jsonl -o link.jsonl",
            2,
            &["link.jsonl would replace"],
        ),
        (
            "exec $pe --d-model 8 --file text.jsonl -o twin.jsonl",
            2,
            &["twin.jsonl would replace"],
        ),
        (
            "exec $pe --d-model 8 --file text.jsonl -o ./folder/../text.jsonl",
            2,
            &["would replace"],
        ),
        (
            "exec $pe --file text.jsonl --table text.jsonl",
            2,
            &["--table text.jsonl would"],
        ),
        (
            "exec $pe a --weights weights.safetensors -o weights.safetensors",
            2,
            &["what --weights weights.safetensors reads"],
        ),
        (
            "exec $pe a --embeddings weights.safetensors:x -o weights.safetensors",
            2,
            &["what --embeddings weights.safetensors reads"],
        ),
        (
            "exec $pe export --scheme rotary --config config.json -o config.json",
            2,
            &["--output config.json would replace what --config config.json reads"],
        ),
        // What no option names: files by default, folders of files, what is in a folder.
        (
            "ln -s weights.safetensors pe-demo-table.safetensors; \
             $pe --embeddings weights.safetensors:x; code=$?; rm pe-demo-table.safetensors; exit $code",
            2,
            &[
                "the table pe-demo-table.safetensors would replace what --embeddings \
                 weights.safetensors reads",
            ],
        ),
        (
            "exec $pe plot rotary-frequencies --data json --config figures/rotary-frequencies.json \
             -o figures",
            2,
            &["--output figures/rotary-frequencies.json would replace what --config"],
        ),
        (
            "exec $pe plot --config figures/rotary-frequencies.json --data json",
            2,
            &["--output figures/rotary-frequencies.json would replace what --config"],
        ),
        (
            "exec $pe a --heads 2 --embeddings shards -o shards/model-2.safetensors",
            2,
            &[
                "--output shards/model-2.safetensors would replace what --embeddings \
                 shards/model-2.safetensors reads",
            ],
        ),
        (
            "exec $pe a --heads 2 --embeddings shards --position-embeddings -o link.safetensors",
            2,
            &["what --position-embeddings shards/model-1.safetensors reads"],
        ),
        (
            "exec $pe - --d-model 8 -o text.jsonl <text.jsonl",
            2,
            &["--output text.jsonl would replace what standard input /dev/stdin reads"],
        ),
    ]);
}
