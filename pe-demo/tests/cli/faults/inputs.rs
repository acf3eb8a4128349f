//! Files whose elements are NaN or infinite.

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

use super::ground::Ground;

#[test]
fn states_of_a_training_with_what_is_no_number() {
    let ground = Ground::new();
    let path = ground
        .path()
        .join("good/order-sinusoidal-0.state.safetensors");
    let state = std::fs::read(&path).expect("a state");
    let (header, metadata) = SafeTensors::read_metadata(&state).expect("a header");
    let data = 8 + header;
    let resume = "exec $pe train --resume --steps 2 --scheme sinusoidal --task order --seeds 1 --d-model 8 \
                  --heads 1 --layers 1 --length 8 --batch 1 -o good -q";
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
            "good/order-sinusoidal-0.state.safetensors: tensor {name} holds {value} at entry {entry}\n"
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
