//! Wrong input: an error that names the values, and no panic.

use super::*;
use candle_core::Var;

#[test]
fn specifications_that_cannot_be() {
    let of = |config, dtype| error_of(RotaryEmbedding::new(config, dtype, CPU));
    assert_eq!(
        of(config(96, 64), DType::F32),
        "rotary_dim 96 exceeds head_dim 64"
    );
    for rotary_dim in [0, 7] {
        let error = of(config(rotary_dim, 64), DType::F32);
        assert!(
            error.contains(&format!("rotary_dim {rotary_dim}")),
            "{error}"
        );
    }
    let rows = |rows| RotaryEmbeddingConfig {
        max_seq_len: Some(rows),
        ..config(8, 8)
    };
    assert_eq!(
        of(rows(0), DType::F32),
        "max_seq_len 0 is outside 1..=4294967296"
    );
    let error = of(rows(1 << 40), DType::F32);
    assert_eq!(error, "max_seq_len 1099511627776 is outside 1..=4294967296");
    let error = of(rows(1 << 32), DType::F64);
    assert!(error.contains("4294967296 rows x 4 columns"), "{error}");
    let table = |dtype| RotaryEmbeddingConfig {
        table_dtype: Some(dtype),
        ..config(8, 8)
    };
    assert_eq!(
        of(table(DType::BF16), DType::F32),
        "the layer is f32, but the tables are bf16: they must be of that type or f32"
    );
    assert_eq!(
        of(table(DType::F64), DType::BF16),
        "the layer is bf16, but the tables are f64: they must be of that type or f32"
    );
    assert_eq!(
        of(config(8, 8), DType::U32),
        "the layer must be f32, f64, f16 or bf16, not u32"
    );
    for base in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut config = config(8, 8);
        config.rotary.base = base;
        assert!(of(config, DType::F32).contains("base"));
    }
}

#[test]
fn inputs_that_do_not_fit() -> Result<()> {
    let layer = layer(config(8, 8), DType::F32);
    let zeros = |shape: &[usize], dtype| Tensor::zeros(shape, dtype, CPU);
    for shape in [
        &[8][..],
        &[2, 8],
        &[2, 3, 8],
        &[1, 2, 3, 4, 8],
        &[1, 2, 3, 7],
        &[1, 2, 3, 16],
    ] {
        let xs = zeros(shape, DType::F32)?;
        let wanted = format!(
            "the input: head-first input must have shape [B, H, T, head_dim] with head_dim 8, got \
             {shape:?}"
        );
        let ids = zeros(&[3], DType::U32)?;
        assert_eq!(error_of(layer.apply(&xs, 0)), wanted);
        assert_eq!(error_of(layer.apply_inplace(&xs, 0)), wanted);
        assert_eq!(error_of(layer.apply_with_positions(&xs, &ids)), wanted);
        assert_eq!(error_of(layer.apply_at_offsets(&xs, &[0])), wanted);
        let (cos, sin) = layer.cos_sin(0, 3)?;
        assert_eq!(error_of(layer.apply_with_cos_sin(&xs, &cos, &sin)), wanted);
    }
    let good = zeros(&[2, 3, 4, 8], DType::F32)?;
    for (dtype, message) in [
        (DType::F64, None),
        (DType::BF16, None),
        (
            DType::U32,
            Some("the input must be f32, f64, f16 or bf16, not u32"),
        ),
        (
            DType::I64,
            Some("the input must be f32, f64, f16 or bf16, not i64"),
        ),
    ] {
        let result = layer.apply(&good.to_dtype(dtype)?, 0);
        match message {
            None => assert_eq!(result?.dtype(), dtype),
            Some(message) => assert_eq!(error_of(result), message),
        }
    }
    let half = RotaryEmbeddingConfig {
        table_dtype: Some(DType::BF16),
        ..config(8, 8)
    };
    assert_eq!(
        error_of(super::layer(half, DType::BF16).apply(&good, 0)),
        "the input is f32, but the tables are bf16: they must be of that type or f32"
    );
    assert_eq!(
        error_of(layer.apply(&good, 61)),
        "positions 61..65 were asked for, but the tables hold 64 rows (max_seq_len 64)"
    );
    assert_eq!(
        error_of(layer.apply(&good, usize::MAX)),
        "offset 18446744073709551615 plus length 4 overflows"
    );
    assert_eq!(
        error_of(layer.cos_sin(60, 5)),
        "positions 60..65 were asked for, but the tables hold 64 rows (max_seq_len 64)"
    );
    Ok(())
}

#[test]
fn queries_and_keys_that_do_not_fit_each_other() -> Result<()> {
    let layer = layer(config(8, 8), DType::F32);
    let zeros = |shape: &[usize]| Tensor::zeros(shape, DType::F32, CPU);
    let q = zeros(&[2, 4, 3, 8])?;
    for k in [&[1, 4, 3, 8], &[2, 4, 5, 8]] {
        let (batch, time) = (k[0], k[2]);
        let wanted = format!(
            "query and key must agree in batch and time: query [2, 4, 3, 8] has (2, 3), key {k:?} \
             has ({batch}, {time})"
        );
        assert_eq!(
            error_of(layer.apply_rotary_emb_qkv(&q, &zeros(k)?, 0)),
            wanted
        );
    }
    let k = zeros(&[2, 4, 3, 6])?;
    assert_eq!(
        error_of(layer.apply_rotary_emb_qkv(&q, &k, 0)),
        "the key: head-first input must have shape [B, H, T, head_dim] with head_dim 8, got \
         [2, 4, 3, 6]"
    );
    Ok(())
}

#[test]
fn positions_that_are_not_there() -> Result<()> {
    let layer = layer(config(8, 8), DType::F32);
    let xs = Tensor::zeros((2, 1, 3, 8), DType::F32, CPU)?;
    let wrong = |ids: Tensor, message: &str| {
        assert_eq!(error_of(layer.apply_with_positions(&xs, &ids)), message);
    };
    let shape = "position ids must have shape [3], [1, 3] or [2, 3], got ";
    wrong(Tensor::new(&[0u32, 1], CPU)?, &format!("{shape}[2]"));
    wrong(
        Tensor::zeros((3, 3), DType::U32, CPU)?,
        &format!("{shape}[3, 3]"),
    );
    wrong(
        Tensor::zeros((2, 1, 3), DType::U32, CPU)?,
        &format!("{shape}[2, 1, 3]"),
    );
    wrong(
        Tensor::new(&[0u8, 1, 2], CPU)?,
        "position ids must be u32 or i64, not u8",
    );
    wrong(
        Tensor::new(&[0f32, 1., 2.], CPU)?,
        "position ids must be u32 or i64, not f32",
    );
    wrong(
        Tensor::new(&[[0u32, 1, 2], [3, 64, 5]], CPU)?,
        "position id 64 at [1, 1] is not below the limit of 64 rows",
    );
    wrong(
        Tensor::new(&[0i64, -1, 2], CPU)?,
        "position id -1 at [1] is not below the limit of 64 rows",
    );
    wrong(
        Tensor::new(&[0u32, u32::MAX, 2], CPU)?,
        "position id 4294967295 at [1] is not below the limit of 64 rows",
    );
    assert_eq!(
        error_of(layer.apply_at_offsets(&xs, &[1, 2, 3])),
        "there are 3 offsets, but the batch has 2 sequences"
    );
    assert_eq!(
        error_of(layer.apply_at_offsets(&xs, &[1, 62])),
        "positions 62..65 were asked for, but the tables hold 64 rows (max_seq_len 64)"
    );
    Ok(())
}

#[test]
fn angles_that_do_not_fit() -> Result<()> {
    let layer = layer(config(8, 8), DType::F32);
    let xs = Tensor::zeros((2, 1, 3, 8), DType::F32, CPU)?;
    let zeros = |shape: &[usize], dtype| Tensor::zeros(shape, dtype, CPU);
    let good = zeros(&[3, 4], DType::F32)?;
    for shape in [
        &[3][..],
        &[2, 4],
        &[64, 4],
        &[3, 8],
        &[1, 3, 4],
        &[2, 2, 4],
        &[2, 1, 3, 4],
    ] {
        let cos = zeros(shape, DType::F32)?;
        assert_eq!(
            error_of(layer.apply_with_cos_sin(&xs, &cos, &cos)),
            format!("cos must have shape [3, 4] or [2, 3, 4], got {shape:?}")
        );
    }
    let sin = zeros(&[2, 3, 4], DType::F32)?;
    assert_eq!(
        error_of(layer.apply_with_cos_sin(&xs, &good, &sin)),
        "cos and sin must agree: cos is f32 [3, 4], sin is f32 [2, 3, 4]"
    );
    let sin = zeros(&[3, 4], DType::F16)?;
    assert_eq!(
        error_of(layer.apply_with_cos_sin(&xs, &good, &sin)),
        "cos and sin must agree: cos is f32 [3, 4], sin is f16 [3, 4]"
    );
    let half = zeros(&[3, 4], DType::BF16)?;
    assert_eq!(
        error_of(layer.apply_with_cos_sin(&xs, &half, &half)),
        "the input is f32, but the tables are bf16: they must be of that type or f32"
    );
    let tracked = Var::from_tensor(&good)?;
    assert_eq!(
        error_of(layer.apply_with_cos_sin(&xs, &good, &tracked)),
        "sin is tracked for gradients, which would not reach it: detach it"
    );
    Ok(())
}
