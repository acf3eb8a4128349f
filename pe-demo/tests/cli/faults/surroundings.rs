//! Odd environments, and words that are not known.

use super::all;

#[test]
fn environments() {
    let small = "a --no-table --d-model 8 --layers 1 >/dev/null";
    all::<17>(&[
        (&format!("exec env -i $pe {small}"), 0, &[]),
        (&format!("unset HOME TERM; exec $pe {small}"), 0, &[]),
        (&format!("TMPDIR=/no/such/folder exec $pe {small}"), 0, &[]),
        (
            &format!("TERM=no-such-terminal COLUMNS=-5 exec $pe {small}"),
            0,
            &[],
        ),
        (
            &format!("LC_ALL=xx_XX.latin1 LANG=? exec $pe {small}"),
            0,
            &[],
        ),
        (&format!("exec $pe {small} 2>&-"), 0, &[]),
        ("exec $pe a --no-table --d-model 8 >&-", 0, &[]),
        (&format!("RAYON_NUM_THREADS=0 exec $pe {small}"), 0, &[]),
        (&format!("RAYON_NUM_THREADS=-1 exec $pe {small}"), 0, &[]),
        (&format!("RAYON_NUM_THREADS=many exec $pe {small}"), 0, &[]),
        (&format!("RAYON_NUM_THREADS= exec $pe {small}"), 0, &[]),
        (&format!("RAYON_NUM_THREADS=7 exec $pe {small}"), 0, &[]),
        (
            "RAYON_NUM_THREADS=99999 exec $pe a --no-table",
            1,
            &["RAYON_NUM_THREADS=99999: more than 1024 threads"],
        ),
        (
            "ulimit -v 300000; RAYON_NUM_THREADS=1000 exec $pe a --no-table",
            1,
            &["cannot start the threads: "],
        ),
        (
            "mkdir gone; cd gone; rmdir ../gone; exec $pe report",
            1,
            &["report.html: "],
        ),
        (
            "mkdir gone; cd gone; rmdir ../gone; exec $pe export --d-model 8 --max-seq-len 3 -o t",
            1,
            &["t: "],
        ),
        (
            "mkdir gone; cd gone; rmdir ../gone; exec $pe train --steps 1",
            1,
            &["pe-demo-train: "],
        ),
    ]);
}

#[cfg(feature = "hub")]
#[test]
fn repositories_that_cannot_be_had() {
    all::<11>(&[
        (
            "exec $pe --tokenizer no/such",
            1,
            &["no/such", "HF_HUB_OFFLINE"],
        ),
        (
            "exec $pe --weights no/such",
            1,
            &["no/such", "HF_HUB_OFFLINE"],
        ),
        (
            "exec $pe --embeddings no/such",
            1,
            &["no/such", "HF_HUB_OFFLINE"],
        ),
        (
            "unset HOME HF_HOME; exec $pe --tokenizer no/such",
            1,
            &["no/such"],
        ),
        (
            "HF_HOME=empty exec $pe --tokenizer no/such",
            1,
            &["no/such"],
        ),
        (
            "exec $pe --tokenizer a/b/c/d",
            1,
            &["a/b/c/d", "owner/name"],
        ),
        ("exec $pe --tokenizer a/b@../x", 1, &["a/b@../x"]),
        ("exec $pe --tokenizer 'a/..'", 1, &["a/.."]),
        ("exec $pe --weights 'a/b:../../x'", 1, &["../../x"]),
        ("exec $pe --tokenizer ''", 2, &["--tokenizer", "empty"]),
        ("exec $pe --tokenizer -", 2, &["'-'", "standard input"]),
    ]);
}

#[test]
fn options_without_the_option_they_need_are_refused() {
    all::<9>(&[
        (
            "exec $pe a --position-embeddings=no.safetensors --d-model 64",
            2,
            &["--embeddings is required by --position-embeddings"],
        ),
        (
            "exec $pe encode a --position-embeddings --position-offset 3 --d-model 64",
            2,
            &["--embeddings is required by --position-embeddings"],
        ),
        (
            "exec $pe a --position-offset 0 --scheme none",
            2,
            &["--position-embeddings is required by --position-offset"],
        ),
        (
            "exec $pe export --scheme rotary --head-dim 8 --max-seq-len 4 --layer-type full -o t",
            2,
            &["--config is required by --layer-type"],
        ),
        (
            "exec $pe export --scheme rotary --head-dim 8 --max-seq-len 4 --unknown-keys warn -o t",
            2,
            &["--config is required by --unknown-keys"],
        ),
        (
            "exec $pe a --attention a.png --seed 1",
            2,
            &["--weights is required by --attention"],
        ),
        (
            "exec $pe a --attention a.png --causal",
            2,
            &["--weights is required by --attention"],
        ),
        (
            "exec $pe a --attention a.png --d-model 8",
            2,
            &["--weights is required by --attention"],
        ),
        (
            "exec $pe encode a --attention a.png --table t.safetensors",
            2,
            &["--weights is required by --attention"],
        ),
    ]);
}

#[test]
fn unknown_words_are_refused_with_what_is_known() {
    all::<20>(&[
        (
            "exec $pe --maxseqlen 3",
            2,
            &["'--maxseqlen'", "similar", "'--max-seq-len'"],
        ),
        ("exec $pe exprot --output t", 2, &["t"]),
        (
            "exec $pe exprot",
            2,
            &[
                "there is no command `exprot`; did you mean `export`?",
                "`pe-demo encode exprot`",
            ],
        ),
        (
            "exec $pe -q exprot -o t.jsonl",
            2,
            &["did you mean `export`?"],
        ),
        (
            "exec $pe exprot --preset whisper --max-seq-len 3 -o t",
            2,
            &["did you mean `export`?"],
        ),
        ("exec $pe Trian", 2, &["`Trian`; did you mean `train`?"]),
        (
            "exec $pe export --nothing",
            2,
            &["unexpected argument '--nothing'"],
        ),
        ("exec $pe help exprot", 2, &["did you mean `export`?"]),
        ("exec $pe man exprot", 2, &["\"exprot\"", "export"]),
        (
            "exec $pe completions bsh",
            2,
            &["'bsh'", "similar", "'bash'"],
        ),
        ("exec $pe plot ring", 2, &["'ring'", "similar", "'rings'"]),
        (
            "exec $pe --scheme rotray",
            2,
            &["'rotray'", "similar", "'rotary'"],
        ),
        (
            "exec $pe export --preset fairsec --d-model 8 --max-seq-len 3 -o t",
            2,
            &["'fairsec'", "fairseq"],
        ),
        (
            "exec $pe export --dtype f8 --d-model 8 --max-seq-len 3 -o t",
            2,
            &["'f8'", "bf16"],
        ),
        (
            "exec $pe export --spacing wide --d-model 8 --max-seq-len 3 -o t",
            2,
            &["'wide'", "inclusive"],
        ),
        (
            "exec $pe export --scheme rotary --head-dim 8 --max-seq-len 3 --scaling no -o t",
            2,
            &["no"],
        ),
        ("exec $pe ''", 2, &["empty"]),
        ("exec $pe '  '", 2, &["empty"]),
        ("exec $pe --table t --no-table", 2, &["--table"]),
        ("exec $pe inspect", 2, &["<FILE>"]),
    ]);
}
