//! Helpers of the tests of layers and dropout.

use candle_core::{DType, Device, Result, Tensor};
use half::{bf16, f16};
use pe_candle::AxisOrder;

/// Input and table types that go together.
pub const TYPES: [(DType, DType); 7] = [
    (DType::F32, DType::F32),
    (DType::F64, DType::F64),
    (DType::F64, DType::F32),
    (DType::F16, DType::F16),
    (DType::F16, DType::F32),
    (DType::BF16, DType::BF16),
    (DType::BF16, DType::F32),
];

/// All orders of axes.
pub const ORDERS: [AxisOrder; 3] = [
    AxisOrder::BatchFirst,
    AxisOrder::SequenceFirst,
    AxisOrder::Unbatched,
];

/// All elements in row-major order, widened.
pub fn f64s(tensor: &Tensor) -> Vec<f64> {
    let wide = tensor.to_dtype(DType::F64).unwrap();
    wide.flatten_all().unwrap().to_vec1().unwrap()
}

/// The first line of an error's message.
pub fn error_of<T>(result: Result<T>) -> String {
    let Err(error) = result else {
        panic!("no error");
    };
    let message = error.to_string();
    message.lines().next().unwrap_or_default().to_owned()
}

/// A value of a type, from `f32` with one rounding, widened.
pub fn round_to(dtype: DType, value: f32) -> f64 {
    match dtype {
        DType::F32 => f64::from(value),
        DType::F16 => f64::from(f16::from_f32(value)),
        DType::BF16 => f64::from(bf16::from_f32(value)),
        other => panic!("{other:?}"),
    }
}

/// Numbers within (-4, 4) without a pattern, the same on every run.
pub fn numbers(shape: &[usize], dtype: DType, seed: u64) -> Tensor {
    let mut state = seed;
    let count = shape.iter().product();
    let values: Vec<f64> = (0..count)
        .map(|_| {
            // SplitMix64.
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 50) as f64 - 4.0
        })
        .collect();
    let tensor = Tensor::from_vec(values, shape, &Device::Cpu).unwrap();
    tensor.to_dtype(dtype).unwrap()
}

/// Tensors of one shape in several layouts of memory.
pub fn views(shape: &[usize], dtype: DType) -> Vec<(&'static str, Tensor)> {
    let (first, last) = (0, shape.len() - 1);
    let mut swapped = shape.to_vec();
    swapped.swap(first, last);
    let mut wider = shape.to_vec();
    wider[last] += 3;
    let mut longer = shape.to_vec();
    longer[first] += 2;
    let mut single = shape.to_vec();
    single[first] = 1;
    let views = vec![
        ("contiguous", numbers(shape, dtype, 21)),
        (
            "offset",
            numbers(&longer, dtype, 25)
                .narrow(first, 2, shape[first])
                .unwrap(),
        ),
        (
            "transposed",
            numbers(&swapped, dtype, 22).transpose(first, last).unwrap(),
        ),
        (
            "narrowed",
            numbers(&wider, dtype, 23)
                .narrow(last, 2, shape[last])
                .unwrap(),
        ),
        (
            "broadcast",
            numbers(&single, dtype, 24).broadcast_as(shape).unwrap(),
        ),
    ];
    for (name, view) in &views {
        let dense = matches!(*name, "contiguous" | "offset");
        assert_eq!(view.is_contiguous(), dense, "{name}");
    }
    views
}

/// Philox4x32-10 as its paper writes it: independent of the code under test.
pub fn philox(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let [mut c, mut k] = [counter.map(u64::from), [key[0].into(), key[1].into(), 0, 0]];
    let low = |x: u64| x & 0xFFFF_FFFF;
    for _ in 0..10 {
        let (p0, p1) = (0xD251_1F53 * c[0], 0xCD9E_8D57 * c[2]);
        c = [
            (p1 >> 32) ^ c[1] ^ k[0],
            low(p1),
            (p0 >> 32) ^ c[3] ^ k[1],
            low(p0),
        ];
        k[0] = low(k[0] + 0x9E37_79B9);
        k[1] = low(k[1] + 0xBB67_AE85);
    }
    c.map(|word| word as u32)
}

/// The mask of [`pe_candle::Dropout`], from its documentation.
pub fn keeps(p: f32, seed: u64, step: u64, index: u64) -> bool {
    let halves = |x: u64| [x as u32, (x >> 32) as u32];
    let ([b0, b1], [s0, s1]) = (halves(index / 4), halves(step));
    let word = philox([b0, b1, s0, s1], halves(seed))[(index % 4) as usize];
    f64::from(word) >= (f64::from(p) * 4294967296.0).round()
}

/// Runs an ignored test of this binary in a process of its own, where Candle keeps gradients
/// attached: only the environment tells it to.
pub fn assert_passes_with_gradients_kept(test: &str) {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", test])
        .env("CANDLE_GRAD_DO_NOT_DETACH", "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}
