//! Text models.

mod upstream;

use candle_core::{DType, Result, Tensor};
use pe_candle::{MropeSegment, PatchGrid, mrope_position_ids, position_ids_for_mrope};
use pe_models::Batch;
use pe_models::bias::{deberta::Deberta, jina_bert::JinaBert, mpt::Mpt, t5::T5};
use pe_models::learned::{bert::Bert, gpt2, opt};
use pe_models::rotary::{self, qwen2_vl::Qwen2Vl};

use crate::kit::{CPU, DECODER, ENCODER, Golden, Row, text};

models! {
    llama: text("llama", "rotary, `llama3`", DECODER, rotary::llama::load, Some(upstream::llama));
    qwen2: text("qwen2", "rotary, YaRN", DECODER, rotary::qwen2::load, Some(upstream::qwen2));
    qwen3: text("qwen3", "rotary", DECODER, rotary::qwen3::load, Some(upstream::qwen3));
    mistral: text("mistral", "rotary, sliding window", DECODER, rotary::mistral::load, Some(upstream::mistral));
    gemma3: text("gemma3_text", "rotary, two bases, linear", DECODER, rotary::gemma3::load, Some(upstream::gemma3));
    phi: text("phi", "rotary, half of each head", DECODER, rotary::phi::load, Some(upstream::phi));
    phi3: text("phi3", "rotary, LongRoPE", DECODER, rotary::phi3::load, Some(upstream::phi3));
    deepseek2: text("deepseek_v2", "rotary, interleaved, YaRN", DECODER, rotary::deepseek2::load, Some(upstream::deepseek2));
    glm4: text("glm4", "rotary, interleaved, half of each head", DECODER, rotary::glm4::load, Some(upstream::glm4));
    cohere: text("cohere", "rotary, interleaved", DECODER, rotary::cohere::load, None);
    granite: text("granite", "rotary", DECODER, rotary::granite::load, Some(upstream::granite));
    smollm3: text("smollm3", "rotary, not in all layers", DECODER, rotary::smollm3::load, Some(upstream::smollm3));
    qwen2_vl: qwen2_vl_row();
    bert: text("bert", "learned", ENCODER, Bert::new, Some(upstream::bert));
    roberta: text("roberta", "learned, after padding", ENCODER, Bert::new, Some(upstream::roberta));
    opt: text("opt", "learned, from row 2", DECODER, opt::load, None);
    gpt2: text("gpt2", "learned", DECODER, gpt2::load, None);
    mpt: text("mpt", "ALiBi", DECODER, Mpt::new, None);
    jina_bert: text("jina_bert", "ALiBi, both directions", ENCODER, JinaBert::new, Some(upstream::jina_bert));
    deberta: text("deberta_v2", "disentangled", ENCODER, Deberta::new, Some(upstream::deberta));
    t5: t5_row();
}

/// Text, an image of 2 x 3 tokens, and text, at positions `[3, 1, T]`.
fn qwen2_vl_row() -> Result<Row> {
    let golden = Golden::load("qwen2_vl_text")?;
    let (tokens, wanted) = (golden.expected("tokens"), golden.expected("f64"));
    let image = MropeSegment::Vision {
        grid: PatchGrid {
            frames: 1,
            rows: 4,
            columns: 6,
        },
        merge: 2,
        time_interval: 1.0,
    };
    let [before, after] = [3, 4].map(|tokens| MropeSegment::Text { tokens });
    let positions = mrope_position_ids(&[before, image, after])?;
    let positions = position_ids_for_mrope(&[positions], CPU)?;
    let stated = golden.expected("positions").to_dtype(DType::U32)?;
    assert_eq!(positions.to_vec3::<u32>()?, stated.to_vec3::<u32>()?);

    let error = |dtype| {
        let load = || Qwen2Vl::new(&golden.config, golden.vb(dtype)?);
        let whole = load()?.forward(tokens, &positions, Batch::default())?;
        let (mut model, mut steps) = (load()?, Vec::new());
        for (from, len) in [(0, 7), (7, 4), (11, 1), (12, 1)] {
            let ids = positions.narrow(2, from, len)?;
            steps.push(model.forward(&tokens.narrow(1, from, len)?, &ids, Batch::at(from))?);
        }
        let steps = golden.error(&Tensor::cat(&steps, 1)?.squeeze(0)?, wanted)?;
        // The sequence twice in one row, and twice in a batch with padding on either side.
        let len = tokens.dim(1)?;
        let packed = load()?.forward(
            &Tensor::cat(&[tokens, tokens], 1)?,
            &Tensor::cat(&[&positions, &positions], 2)?,
            Batch::packed(&[len, len], CPU)?,
        )?;
        let mut apart = golden.error(&whole.squeeze(0)?, wanted)?.max(steps);
        for half in [0, len] {
            let found = packed.narrow(1, half, len)?.squeeze(0)?;
            apart = apart.max(golden.error(&found, wanted)?);
        }
        let both = |xs: &Tensor, axis, sequences| {
            let rows = [
                xs.pad_with_zeros(axis, 2, 0)?,
                xs.pad_with_zeros(axis, 0, 2)?,
            ];
            Tensor::cat(&rows, sequences)
        };
        let mask = both(&tokens.ones_like()?, 1, 0)?;
        let padded = load()?.forward(
            &both(tokens, 1, 0)?,
            &both(&positions, 2, 1)?,
            Batch::padded(&mask, 0)?,
        )?;
        for (row, first) in [(0, 2), (1, 0)] {
            let found = padded.get(row)?.narrow(0, first, len)?;
            apart = apart.max(golden.error(&found, wanted)?);
        }
        Ok::<_, candle_core::Error>(apart)
    };
    let row = Row {
        model: golden.name,
        part: "rotary, M-RoPE",
        cases: "whole, steps, padded left and right, packed",
        f64: error(DType::F64)?,
        f32: error(DType::F32)?,
        torch: golden.torch_error()?,
        upstream: None,
    };
    Ok(row.check())
}

/// Each sequence encoded, and the next one decoded.
fn t5_row() -> Result<Row> {
    let golden = Golden::load("t5")?;
    let sequences = golden.sequences()?;
    let mut others = sequences.clone();
    others.rotate_left(1);
    let pairs: Vec<_> = sequences.into_iter().zip(others).collect();
    let wanted = golden.expected("f64");
    // A padded batch of one row, and steps of decoding.
    let error = |dtype, padding: [usize; 2], steps: bool| {
        let outputs = pairs.iter().map(|(tokens, others)| {
            let mut model = T5::new(&golden.config, golden.vb(dtype)?)?;
            let [left, right] = padding;
            let mask = tokens.ones_like()?.pad_with_zeros(1, left, right)?;
            let encoded = Batch::padded(&mask, 0)?;
            let memory = model.encode(&tokens.pad_with_zeros(1, left, right)?, &encoded)?;
            let len = others.dim(1)?;
            let calls = if steps {
                (0..len).map(|at| (at, 1)).collect()
            } else {
                vec![(0, len)]
            };
            let outputs = calls.into_iter().map(|(at, len)| {
                model.decode(
                    &others.narrow(1, at, len)?,
                    &Batch::at(at),
                    &memory,
                    &encoded,
                )
            });
            Tensor::cat(&outputs.collect::<Result<Vec<_>>>()?, 1)?.squeeze(0)
        });
        golden.error(
            &Tensor::cat(&outputs.collect::<Result<Vec<_>>>()?, 0)?,
            wanted,
        )
    };
    // All sequences in one row, on both sides.
    let packed = |dtype| {
        let row = |of: &dyn Fn(&(Tensor, Tensor)) -> Tensor| {
            let parts: Vec<_> = pairs.iter().map(of).collect();
            let lengths: Vec<_> = parts.iter().map(|tokens| tokens.dims()[1]).collect();
            let batch = Batch::packed(&lengths, CPU)?;
            Ok::<_, candle_core::Error>((Tensor::cat(&parts, 1)?, batch))
        };
        let (tokens, encoded) = row(&|(tokens, _)| tokens.clone())?;
        let (others, batch) = row(&|(_, others)| others.clone())?;
        let mut model = T5::new(&golden.config, golden.vb(dtype)?)?;
        let memory = model.encode(&tokens, &encoded)?;
        let found = model.decode(&others, &batch, &memory, &encoded)?;
        golden.error(&found.squeeze(0)?, wanted)
    };
    let largest = |dtype| {
        let mut largest: f64 = packed(dtype)?;
        for (padding, steps) in [
            ([0, 0], false),
            ([0, 0], true),
            ([3, 0], false),
            ([0, 2], true),
        ] {
            largest = largest.max(error(dtype, padding, steps)?);
        }
        Ok::<_, candle_core::Error>(largest)
    };
    let [whole, steps] = [false, true].map(|steps| upstream::t5(&golden, &pairs, steps));
    let row = Row {
        model: golden.name,
        part: "buckets, encoder and decoder",
        cases: "whole, steps, padded left and right, packed",
        f64: largest(DType::F64)?,
        f32: largest(DType::F32)?,
        torch: golden.torch_error()?,
        upstream: Some(whole?.max(steps?)),
    };
    Ok(row.check())
}
