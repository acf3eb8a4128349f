//! What cannot be read, and what is not what it should be.

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

use super::all;
use super::ground::Ground;

#[test]
fn files_that_are_not_there_or_no_files() {
    all::<32>(&[
        ("exec $pe inspect nowhere", 1, &["nowhere: No such file"]),
        (
            "exec $pe inspect folder",
            1,
            &["folder: not a regular file"],
        ),
        (
            "exec $pe inspect fifo.jsonl",
            1,
            &["fifo.jsonl: not a regular file"],
        ),
        (
            "exec $pe inspect /dev/zero",
            1,
            &["/dev/zero: not a regular file"],
        ),
        ("exec $pe --file nowhere", 1, &["nowhere: No such file"]),
        ("exec $pe --file folder", 1, &["folder: is a directory"]),
        ("exec $pe --file empty", 1, &["empty: no sentences"]),
        ("exec $pe --file blank", 1, &["blank: no sentences"]),
        (
            "exec $pe --tokenizer nowhere.json",
            1,
            &["there is no file nowhere.json"],
        ),
        (
            "exec $pe --tokenizer folder",
            1,
            &["folder: is a directory, not a file"],
        ),
        (
            "exec timeout 60 $pe --tokenizer fifo.jsonl",
            1,
            &["fifo.jsonl: not a regular file"],
        ),
        (
            "exec $pe --tokenizer /dev/zero",
            1,
            &["/dev/zero: not a regular file"],
        ),
        (
            "exec $pe --weights nowhere.safetensors",
            1,
            &["there is no file nowhere.safetensors"],
        ),
        (
            "exec $pe --weights folder",
            1,
            &["folder: not a regular file"],
        ),
        (
            "exec $pe --embeddings folder",
            1,
            &["--embeddings: folder: is a directory with neither model.safetensors nor"],
        ),
        (
            "exec $pe export --scheme rotary --config nowhere -o new",
            1,
            &["nowhere: No such file"],
        ),
        (
            "exec $pe export --scheme rotary --config folder -o new",
            1,
            &["folder: is a directory"],
        ),
        (
            "exec $pe export --scheme rotary --config /dev/zero -o new",
            1,
            &["/dev/zero: not a"],
        ),
        (
            "exec timeout 60 $pe export --scheme rotary --config fifo.jsonl -o new",
            1,
            &["fifo.jsonl: not a regular file"],
        ),
        (
            "exec $pe plot rotary-frequencies --config folder -o new",
            1,
            &["folder: is a directory, not a file"],
        ),
        // Without a bound these two wait for a writer, and read until there is no memory left.
        (
            "exec timeout 60 $pe plot rotary-frequencies --config fifo.jsonl -o new",
            1,
            &["fifo.jsonl: not a regular file"],
        ),
        (
            "ulimit -v 1000000; exec timeout 60 $pe plot rotary-wavelengths --config /dev/zero -o new",
            1,
            &["/dev/zero: not a regular file"],
        ),
        (
            "exec $pe plot rotary-frequencies --config sparse.json -o new",
            1,
            &["sparse.json: the file has 17179869184 bytes, above the limit of 16777216"],
        ),
        (
            "exec $pe export --scheme rotary --config sparse.json -o new",
            1,
            &["sparse.json: the file has 17179869184 bytes, above the limit of 16777216"],
        ),
        (
            "exec $pe --tokenizer sparse.json",
            1,
            &["sparse.json: the file has 17179869184 bytes, above the limit of 268435456"],
        ),
        (
            "exec $pe --embeddings sparse.json",
            1,
            &["sparse.json: the file has 17179869184 bytes, above the limit of 33554432"],
        ),
        // Names that are no text.
        (
            "exec $pe inspect \"$(printf 'x\\377')\"",
            1,
            &["No such file"],
        ),
        (
            "exec $pe --file \"$(printf 'x\\377')\"",
            1,
            &["No such file"],
        ),
        ("exec $pe \"$(printf 'x\\377')\"", 2, &[r#""x\xFF""#]),
        (
            "exec $pe --d-model \"$(printf '\\376')\"",
            2,
            &[r#""\xFE""#],
        ),
        (
            "exec $pe --tokenizer \"$(printf 'x\\377')\"",
            2,
            &[r#""x\xFF""#],
        ),
        ("exec $pe \"$(printf '\\377')\" export", 2, &[r#""\xFF""#]),
    ]);
}

#[test]
fn broken_weights_tables_and_tokenizers() {
    all::<26>(&[
        ("exec $pe inspect empty", 1, &["empty: "]),
        ("exec $pe inspect garbage", 1, &["garbage: "]),
        (
            "exec $pe inspect cut.safetensors",
            1,
            &["cut.safetensors: "],
        ),
        (
            "exec $pe inspect header.safetensors",
            1,
            &["header.safetensors: "],
        ),
        (
            "exec $pe inspect huge.safetensors",
            1,
            &["huge.safetensors: "],
        ),
        ("exec $pe --weights empty", 1, &["empty: "]),
        ("exec $pe --weights garbage", 1, &["garbage: "]),
        (
            "exec $pe --weights cut.safetensors",
            1,
            &["cut.safetensors: "],
        ),
        (
            "exec $pe --weights header.safetensors",
            1,
            &["header.safetensors: "],
        ),
        (
            "exec $pe --weights huge.safetensors",
            1,
            &["huge.safetensors: "],
        ),
        (
            "exec $pe --weights dtype.safetensors",
            1,
            &["dtype.safetensors", "answer.bias"],
        ),
        (
            "exec $pe --weights shape.safetensors",
            1,
            &["shape.safetensors", "answer.weight"],
        ),
        (
            "exec $pe --weights missing.safetensors",
            1,
            &["missing.safetensors", "answer.bias"],
        ),
        (
            "exec $pe --weights version.safetensors",
            1,
            &["version.safetensors", "9"],
        ),
        (
            "exec $pe --weights nan.safetensors",
            1,
            &["nan.safetensors", "NaN"],
        ),
        ("exec $pe --weights config.json", 1, &["config.json: "]),
        ("exec $pe --embeddings garbage", 1, &["garbage: "]),
        (
            "exec $pe --embeddings cut.safetensors",
            1,
            &["cut.safetensors: "],
        ),
        (
            "exec $pe --embeddings weights.safetensors",
            1,
            &["weights.safetensors: "],
        ),
        (
            "exec $pe --embeddings weights.safetensors:nothing",
            1,
            &["nothing"],
        ),
        ("exec $pe --tokenizer empty", 1, &["empty: "]),
        ("exec $pe --tokenizer garbage", 1, &["garbage: "]),
        ("exec $pe --tokenizer cut.json", 1, &["cut.json: "]),
        ("exec $pe --tokenizer list.json", 1, &["list.json: "]),
        ("exec $pe --tokenizer deep.json", 1, &["deep.json: "]),
        ("exec $pe --tokenizer config.json", 1, &["config.json: "]),
    ]);
}

#[test]
fn states_of_a_training_with_what_is_no_number() {
    let ground = Ground::new();
    let path = ground.path().join("good/sinusoidal.state.safetensors");
    let state = std::fs::read(&path).expect("a state");
    let (header, metadata) = SafeTensors::read_metadata(&state).expect("a header");
    let data = 8 + header;
    let resume = "exec $pe train --resume --steps 2 --scheme sinusoidal --d-model 8 --heads 1 \
                  --layers 1 --length 8 --batch 1 -o good -q";
    let values = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY].into_iter();
    let mut refused = 0;
    for ((name, info), value) in metadata.tensors().into_iter().zip(values.cycle()) {
        let (begin, end) = info.data_offsets;
        if begin == end {
            continue;
        }
        // The last entry, which only a look at all of them finds.
        let mut bytes = state.clone();
        bytes[data + end - 4..data + end].copy_from_slice(&value.to_le_bytes());
        std::fs::write(&path, &bytes).expect("written");
        let before = ground.files();
        let output = ground.shell(resume);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{name}: {error}");
        let entry = (end - begin) / 4 - 1;
        let expected = format!(
            "good/sinusoidal.state.safetensors: tensor {name} holds {value} at entry {entry}\n"
        );
        assert!(error.ends_with(&expected), "{expected}{error}");
        assert!(
            error.lines().count() == 1 && output.stdout.is_empty(),
            "{error}"
        );
        assert!(before == ground.files(), "{error}");
        refused += 1;
    }
    assert_eq!(refused, 64);
    // Without them it continues.
    std::fs::write(&path, &state).expect("written");
    let output = ground.shell(resume);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn embeddings_with_what_is_no_number() {
    let ground = Ground::new();
    let (words, positions) = (
        "embeddings.word_embeddings.weight",
        "embeddings.position_embeddings.weight",
    );
    let good = vec![1f32; 40 * 8];
    let with = |at: usize, value: f32| {
        let mut values = good.clone();
        values[at] = value;
        values
    };
    for (name, values, tensor, place) in [
        (
            words,
            with(2 * 8 + 3, f32::NAN),
            words,
            "row 2, column 3 is NaN",
        ),
        (
            words,
            with(39 * 8 + 7, f32::INFINITY),
            words,
            "row 39, column 7 is inf",
        ),
        (
            positions,
            with(8, f32::NEG_INFINITY),
            positions,
            "row 1, column 0 is -inf",
        ),
    ] {
        let tensors = [words, positions].map(|each| {
            let values = if each == name { &values } else { &good };
            let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            (each, bytes)
        });
        let views = tensors.iter().map(|(name, bytes)| {
            let view = TensorView::new(Dtype::F32, vec![40, 8], bytes).expect("a view");
            (*name, view)
        });
        let bytes = safetensors::serialize(views, None).expect("bytes");
        ground.write("bert.safetensors", &bytes);
        let before = ground.files();
        let line =
            "exec $pe a --embeddings bert.safetensors --position-embeddings same -o new.jsonl";
        let output = ground.shell(line);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        let expected = format!("bert.safetensors: tensor \"{tensor}\": the entry at {place}\n");
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.ends_with(&expected), "{expected}{error}");
        assert!(
            error.lines().count() == 1 && output.stdout.is_empty(),
            "{error}"
        );
        assert!(before == ground.files(), "{error}");
    }
}

#[test]
fn broken_configs() {
    all::<12>(&[
        ("exec $pe inspect cut.json", 1, &["cut.json: "]),
        ("exec $pe inspect list.json", 1, &["list.json: "]),
        ("exec $pe inspect deep.json", 1, &["deep.json: "]),
        ("exec $pe inspect nan.json", 1, &["nan.json: "]),
        (
            "exec $pe inspect negative.json",
            1,
            &["negative.json: ", "-1"],
        ),
        (
            "exec $pe export --scheme rotary --config empty -o new",
            1,
            &["empty: "],
        ),
        (
            "exec $pe export --scheme rotary --config cut.json -o new",
            1,
            &["cut.json: "],
        ),
        (
            "exec $pe export --scheme rotary --config deep.json -o new",
            1,
            &["deep.json: "],
        ),
        (
            "exec $pe export --scheme rotary --config nan.json -o new",
            1,
            &["nan.json: "],
        ),
        (
            "exec $pe export --scheme rotary --config negative.json -o new",
            1,
            &["-1"],
        ),
        (
            "exec $pe export --scheme rotary --config weights.safetensors -o new",
            1,
            &["weights."],
        ),
        (
            "exec $pe plot rotary-frequencies --config cut.json -o new",
            1,
            &["cut.json"],
        ),
    ]);
}

#[test]
fn standard_input_of_any_kind() {
    let line = "head -c 100000000 /dev/zero | tr '\\000' x";
    let sized = "ulimit -v 800000; exec $pe --d-model 8 --layers 1 --no-table --file -";
    all::<10>(&[
        (
            "exec $pe - --no-table",
            1,
            &["standard input: no sentences"],
        ),
        (
            "exec $pe - --no-table <&-",
            1,
            &["standard input: no sentences"],
        ),
        (
            "exec $pe - --no-table < latin1.txt",
            1,
            &["standard input: line 1: ", "utf-8"],
        ),
        (
            "exec $pe --file latin1.txt --no-table",
            1,
            &["latin1.txt: line 1: ", "utf-8"],
        ),
        (
            "exec $pe --file latin1.txt -o old.jsonl",
            1,
            &["latin1.txt: line 1: ", "utf-8"],
        ),
        (
            "exec $pe --file /dev/zero --no-table",
            1,
            &["/dev/zero: line 1: longer than 1048576"],
        ),
        // A line of 100 MB, alone and after good ones, in bounded memory.
        (
            &format!("{line} | ({sized})"),
            1,
            &["line 1: longer than 1048576 bytes"],
        ),
        (
            &format!("(seq 2000; {line}) | ({sized} -o old.jsonl)"),
            1,
            &["line 2001: longer than 1048576 bytes"],
        ),
        (
            "printf 'a\\000b c\\n' | $pe - --no-table --d-model 8 >/dev/null",
            0,
            &[],
        ),
        (
            "seq 20000 | (ulimit -v 800000; exec $pe --d-model 8 --layers 1 --heads 1 --no-table \
             --file - --json -q) >/dev/null",
            0,
            &[],
        ),
    ]);
}
