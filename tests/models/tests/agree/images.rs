//! Models of images, speech, and diffusion.

mod upstream;

use candle_core::{DType, Module, Result, Tensor};
use candle_nn::VarBuilder;
use pe_candle::{PatchGrid, TimestepPreset};
use pe_models::{audio, diffusion, vision};
use serde_json::Value;

use crate::kit::{Golden, Row};

/// The inputs of a call, floats in the model's type.
pub(crate) struct Inputs<'a> {
    golden: &'a Golden,
    call: &'a str,
    dtype: DType,
}

impl Inputs<'_> {
    pub(crate) fn get(&self, name: &str) -> Result<Tensor> {
        let value = self.golden.expected(&format!("{}.{name}", self.call));
        if value.dtype().is_float() {
            value.to_dtype(self.dtype)
        } else {
            Ok(value.clone())
        }
    }

    fn grids(&self) -> Result<Vec<PatchGrid>> {
        let grids = self.get("grid_thw")?.to_vec2::<i64>()?;
        let grid = |grid: Vec<i64>| PatchGrid {
            frames: grid[0] as u32,
            rows: grid[1] as u32,
            columns: grid[2] as u32,
        };
        Ok(grids.into_iter().map(grid).collect())
    }

    pub(crate) fn sizes(&self) -> Result<Vec<[usize; 2]>> {
        let sizes = self.get("image_sizes")?.to_vec2::<i64>()?;
        Ok(sizes
            .into_iter()
            .map(|size| [size[0] as usize, size[1] as usize])
            .collect())
    }
}

/// What a model computes for a call.
type Run = fn(&Value, VarBuilder<'_>, &Inputs<'_>) -> Result<Tensor>;

/// Compares the outputs of all calls.
fn model(
    name: &'static str,
    part: &'static str,
    calls: &[(&'static str, &'static str)],
    run: Run,
    upstream: Option<Run>,
) -> Result<Row> {
    let golden = Golden::load(name)?;
    let error = |dtype, run: Run| {
        calls.iter().try_fold(0f64, |largest, (call, _)| {
            let inputs = Inputs {
                golden: &golden,
                call,
                dtype,
            };
            let found = run(&golden.config, golden.vb(dtype)?, &inputs)?;
            let error = golden.error(&found, golden.expected(&format!("{call}.f64")))?;
            println!("{name} {dtype:?} {call}: {error:.1e}");
            Ok::<_, candle_core::Error>(largest.max(error))
        })
    };
    let torch = calls.iter().map(|(call, _)| {
        let of = |dtype| golden.expected(&format!("{call}.{dtype}"));
        golden.error(of("f32"), of("f64"))
    });
    let cases: Vec<_> = calls.iter().map(|(_, words)| *words).collect();
    let row = Row {
        model: name,
        part,
        cases: cases.join(", ").leak(),
        f64: error(DType::F64, run)?,
        f32: error(DType::F32, run)?,
        torch: torch
            .collect::<Result<Vec<_>>>()?
            .into_iter()
            .fold(0.0, f64::max),
        upstream: upstream.map(|run| fails_or(|| error(DType::F32, run))),
    };
    Ok(row.check())
}

/// Infinity for a model of candle-transformers that fails at a call.
fn fails_or(run: impl Fn() -> Result<f64>) -> f64 {
    let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    match found {
        Ok(Ok(error)) => error,
        Ok(Err(error)) => {
            println!("candle-transformers: {error}");
            f64::INFINITY
        }
        Err(_) => f64::INFINITY,
    }
}

const SIZES: &[(&str, &str)] = &[("same", "batch of images"), ("larger", "another size")];
const WIDE: &[(&str, &str)] = &[("same", "batch of images"), ("wide", "another size")];
const QWEN: &[(&str, &str)] = &[("image", "image"), ("packed", "packed image and video")];

models! {
    vit: model("vit", "learned grid, resized", SIZES, |config, vb, call| {
        vision::load_vit(config, vb)?.forward(&call.get("pixel_values")?)
    }, Some(upstream::vit));
    dinov2: model("dinov2", "learned grid, resized", &[("wide", "28 x 42 pixels"), ("tall", "56 x 28 pixels")], |config, vb, call| {
        vision::load_dinov2(config, vb)?.forward(&call.get("pixel_values")?)
    }, Some(upstream::dinov2));
    siglip: model("siglip", "learned grid, resized", SIZES, |config, vb, call| {
        vision::load_siglip(config, vb)?.forward(&call.get("pixel_values")?)
    }, Some(upstream::siglip));
    beit: model("beit", "table by offset, resized", WIDE, |config, vb, call| {
        vision::Beit::load(config, vb)?.forward(&call.get("pixel_values")?)
    }, None);
    swin: model("swin", "table by offset", WIDE, |config, vb, call| {
        vision::Swin::load(config, vb)?.forward(&call.get("pixel_values")?)
    }, None);
    sam: model("sam", "learned grid, decomposed bias", &[("image", "batch of images")], |config, vb, call| {
        vision::Sam::load(config, vb)?.forward(&call.get("pixel_values")?)
    }, Some(upstream::sam));
    pixtral: model("pixtral", "rotary, 2 axes", &[("one", "image"), ("packed", "packed images")], |config, vb, call| {
        vision::Pixtral::load(config, vb)?.forward(&call.get("pixel_values")?, &call.sizes()?)
    }, Some(upstream::pixtral));
    qwen2_vl_vision: model("qwen2_vl_vision", "rotary, 2 axes", QWEN, |config, vb, call| {
        vision::load_qwen2_vl(config, vb)?.forward(&call.get("pixel_values")?, &call.grids()?)
    }, None);
    qwen3_vl_vision: model("qwen3_vl_vision", "learned grid, resized; rotary, 2 axes", QWEN, |config, vb, call| {
        vision::load_qwen3_vl(config, vb)?.forward(&call.get("pixel_values")?, &call.grids()?)
    }, None);
    whisper: model("whisper", "sinusoids; learned table", &[("speech", "prompt, steps")], |config, vb, call| {
        let speech = audio::Encoder::load(config, vb.clone())?.forward(&call.get("input_features")?)?;
        let tokens = call.get("tokens")?.to_dtype(DType::U32)?;
        let prompt = audio::Decoder::load(config, vb.clone())?.forward(&tokens, &speech, 0)?;
        // All tokens at once, and the last ones in steps: the mean of both has their errors.
        let mut decoder = audio::Decoder::load(config, vb)?;
        let mut parts = vec![decoder.forward(&tokens.narrow(1, 0, 3)?, &speech, 0)?];
        for at in 3..tokens.dim(1)? {
            parts.push(decoder.forward(&tokens.narrow(1, at, 1)?, &speech, at)?);
        }
        (prompt + Tensor::cat(&parts, 1)?)? / 2.0
    }, Some(upstream::whisper));
    flux: model("flux", "rotary, 3 axes; timesteps", &[("square", "batch of images"), ("wide", "another size")], |config, vb, call| {
        diffusion::Flux::load(config, vb)?.forward(
            &call.get("hidden_states")?,
            &call.get("encoder_hidden_states")?,
            &call.get("pooled_projections")?,
            &call.get("timestep")?,
            [&call.get("txt_ids")?, &call.get("img_ids")?],
        )
    }, None);
    stable_diffusion: model("stable_diffusion", "timesteps", &[("integers", "integers"), ("fractions", "fractions")], |_, vb, call| {
        let block = diffusion::TimeEmbedding::load(TimestepPreset::StableDiffusion, 32, 64, vb.pp("time_embedding"))?;
        block.forward(&call.get("timestep")?)
    }, Some(upstream::stable_diffusion));
}
