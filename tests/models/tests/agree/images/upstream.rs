//! The same models of candle-transformers.

use std::collections::HashMap;

use candle_core::{DType, Error, Module, Result, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models as upstream;
use pe_models::config::read;
use serde_json::Value;

use super::Inputs;

pub(super) fn vit(config: &Value, vb: VarBuilder<'_>, call: &Inputs<'_>) -> Result<Tensor> {
    use upstream::vit::{Config, Embeddings, Encoder};
    let config: Config = read(config)?;
    let xs = call.get("pixel_values")?;
    let resize = call.call != "same";
    let xs = Embeddings::new(&config, false, vb.pp("embeddings"))?.forward(&xs, None, resize)?;
    let xs = Encoder::new(&config, vb.pp("encoder"))?.forward(&xs)?;
    candle_nn::layer_norm(
        config.hidden_size,
        config.layer_norm_eps,
        vb.pp("layernorm"),
    )?
    .forward(&xs)
}

/// Under the names of the repository of DINOv2.
pub(super) fn dinov2(_: &Value, vb: VarBuilder<'_>, call: &Inputs<'_>) -> Result<Tensor> {
    let width = 8;
    let mut tensors = HashMap::new();
    let mut get = |to: String, from: String, shape: &[usize]| {
        tensors.insert(to, vb.get(shape, &from)?);
        Ok::<_, Error>(())
    };
    get(
        "cls_token".into(),
        "embeddings.cls_token".into(),
        &[1, 1, width],
    )?;
    get(
        "pos_embed".into(),
        "embeddings.position_embeddings".into(),
        &[1, 1370, width],
    )?;
    let patch = "embeddings.patch_embeddings.projection";
    get(
        "patch_embed.proj.weight".into(),
        format!("{patch}.weight"),
        &[width, 3, 14, 14],
    )?;
    get(
        "patch_embed.proj.bias".into(),
        format!("{patch}.bias"),
        &[width],
    )?;
    for (part, inner) in [("weight", Some(width)), ("bias", None)] {
        let shape = |rows: usize, columns: usize| match inner {
            Some(_) => vec![rows, columns],
            None => vec![rows],
        };
        get(
            format!("norm.{part}"),
            format!("layernorm.{part}"),
            &[width],
        )?;
        for layer in 0..2 {
            let (to, from) = (format!("blocks.{layer}"), format!("encoder.layer.{layer}"));
            for norm in ["norm1", "norm2"] {
                get(
                    format!("{to}.{norm}.{part}"),
                    format!("{from}.{norm}.{part}"),
                    &[width],
                )?;
            }
            for (name, rows, columns) in [("fc1", 4 * width, width), ("fc2", width, 4 * width)] {
                get(
                    format!("{to}.mlp.{name}.{part}"),
                    format!("{from}.mlp.{name}.{part}"),
                    &shape(rows, columns),
                )?;
            }
            get(
                format!("{to}.attn.proj.{part}"),
                format!("{from}.attention.output.dense.{part}"),
                &shape(width, width),
            )?;
            for name in ["query", "key", "value"] {
                get(
                    format!("{to}.{name}.{part}"),
                    format!("{from}.attention.attention.{name}.{part}"),
                    &shape(width, width),
                )?;
            }
        }
    }
    for layer in 0..2 {
        for part in ["weight", "bias"] {
            let qkv = ["query", "key", "value"]
                .map(|name| tensors[&format!("blocks.{layer}.{name}.{part}")].clone());
            tensors.insert(
                format!("blocks.{layer}.attn.qkv.{part}"),
                Tensor::cat(&qkv, 0)?,
            );
        }
        for scale in ["1", "2"] {
            let from = format!("encoder.layer.{layer}.layer_scale{scale}.lambda1");
            tensors.insert(
                format!("blocks.{layer}.ls{scale}.gamma"),
                vb.get(width, &from)?,
            );
        }
    }
    for (name, shape) in [
        ("head.weight", vec![1000, 2 * width]),
        ("head.bias", vec![1000]),
    ] {
        tensors.insert(
            name.to_owned(),
            Tensor::zeros(shape, vb.dtype(), vb.device())?,
        );
    }
    let vb = VarBuilder::from_tensors(tensors, vb.dtype(), vb.device());
    let model = upstream::dinov2::DinoVisionTransformer::new(vb, 2, width, 2)?;
    let xs = model.get_intermediate_layers(&call.get("pixel_values")?, &[1], false, false, true)?;
    // The class token is returned in another form: that of PyTorch stands in for it.
    let class = call.get("f64")?.narrow(1, 0, 1)?.to_dtype(xs.dtype())?;
    Tensor::cat(&[&class, &xs.squeeze(0)?], 1)
}

pub(super) fn siglip(config: &Value, vb: VarBuilder<'_>, call: &Inputs<'_>) -> Result<Tensor> {
    let config = read(config)?;
    upstream::siglip::VisionModel::new(&config, false, vb)?.forward(&call.get("pixel_values")?)
}

/// Under the names of SAM's repository.
pub(super) fn sam(_: &Value, vb: VarBuilder<'_>, call: &Inputs<'_>) -> Result<Tensor> {
    let renamed = vb.rename_f(|name: &str| {
        let name = name
            .replace("patch_embed.proj.", "patch_embed.projection.")
            .replace("blocks.", "layers.");
        let name = name
            .replace(".norm1.", ".layer_norm1.")
            .replace(".norm2.", ".layer_norm2.");
        let neck = [
            ("neck.0", "neck.conv1"),
            ("neck.1", "neck.layer_norm1"),
            ("neck.2", "neck.conv2"),
            ("neck.3", "neck.layer_norm2"),
        ];
        neck.iter()
            .fold(format!("vision_encoder.{name}"), |name, (from, to)| {
                name.replace(from, to)
            })
    });
    let encoder = upstream::segment_anything::image_encoder::ImageEncoderViT::new(
        32,
        4,
        3,
        16,
        2,
        2,
        8,
        true,
        true,
        true,
        3,
        &[1],
        renamed,
    )?;
    // It adds the positions without broadcasting over the batch.
    let xs = call.get("pixel_values")?;
    let images = (0..xs.dim(0)?).map(|index| encoder.forward(&xs.narrow(0, index, 1)?));
    Tensor::cat(&images.collect::<Result<Vec<_>>>()?, 0)
}

/// One image at a time: it does not pack.
pub(super) fn pixtral(config: &Value, vb: VarBuilder<'_>, call: &Inputs<'_>) -> Result<Tensor> {
    let model = upstream::pixtral::vision_model::Model::new(&read(config)?, vb)?;
    let pixels = call.get("pixel_values")?;
    let images = call
        .sizes()?
        .into_iter()
        .enumerate()
        .map(|(index, [height, width])| {
            model.forward(
                &pixels
                    .narrow(0, index, 1)?
                    .narrow(2, 0, height)?
                    .narrow(3, 0, width)?
                    .contiguous()?,
            )
        });
    Tensor::cat(&images.collect::<Result<Vec<_>>>()?, 1)
}

pub(super) fn whisper(config: &Value, vb: VarBuilder<'_>, call: &Inputs<'_>) -> Result<Tensor> {
    let mut config = config.clone();
    config["suppress_tokens"] = Value::Array(Vec::new());
    let vb = vb.rename_f(|name: &str| name.replacen("model.", "", 1));
    let mut model = upstream::whisper::model::Whisper::load(&vb, read(&config)?)?;
    let speech = model.encoder.forward(&call.get("input_features")?, true)?;
    model
        .decoder
        .forward(&call.get("tokens")?.to_dtype(DType::U32)?, &speech, true)
}

pub(super) fn stable_diffusion(_: &Value, vb: VarBuilder<'_>, call: &Inputs<'_>) -> Result<Tensor> {
    use upstream::stable_diffusion::embeddings::{TimestepEmbedding, Timesteps};
    let timesteps = call.get("timestep")?.to_dtype(vb.dtype())?;
    let xs = Timesteps::new(32, true, 0.0).forward(&timesteps)?;
    TimestepEmbedding::new(vb.pp("time_embedding"), 32, 64)?.forward(&xs)
}
