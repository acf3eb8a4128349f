//! A learned grid that is resized in a file: its entries, everything else unchanged, errors.

use std::fs;
use std::path::Path;

use candle_core::{DType, Device, Result, Tensor};
use pe_candle::checkpoint::{TableResize, inspect, resize};
use pe_candle::{LearnedGrid, LearnedGridConfig, LearnedGridShape, ResizeConfig, ResizeKernel};
use safetensors::SafeTensors;
use safetensors::tensor::TensorView;

fn table(dims: &[usize], dtype: DType) -> Result<Tensor> {
    let count = dims.iter().product::<usize>();
    let entries = (0..count).map(|i| ((i * 37) % 101) as f32 / 64.0 - 0.7);
    Tensor::from_iter(entries, &Device::Cpu)?
        .reshape(dims)?
        .to_dtype(dtype)
}

/// Writes a file with the tensor `pos`, two others, and two metadata keys.
fn write(path: &Path, pos: &Tensor) {
    let others = [("a", vec![1u8, 2, 3]), ("z", vec![9; 1 << 21])];
    let mut tensors: Vec<(String, TensorView<'_>)> = others
        .iter()
        .map(|(name, bytes)| {
            let view = TensorView::new(safetensors::Dtype::U8, vec![bytes.len()], bytes);
            ((*name).to_owned(), view.unwrap())
        })
        .collect();
    let bytes = bytes(pos);
    let view = TensorView::new(pos.dtype().into(), pos.dims().to_vec(), &bytes).unwrap();
    tensors.push(("pos".to_owned(), view));
    let metadata = [("format", "pt"), ("note", "a \"b\"\n")];
    let metadata = metadata.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let file = safetensors::serialize(tensors, Some(metadata.into())).unwrap();
    fs::write(path, file).unwrap();
}

fn bytes(xs: &Tensor) -> Vec<u8> {
    let mut out = Vec::new();
    xs.contiguous().unwrap().write_bytes(&mut out).unwrap();
    out
}

fn request(from: &[usize], to: &[usize]) -> TableResize {
    TableResize {
        tensor: "pos".to_owned(),
        from: from.to_vec(),
        to: to.to_vec(),
        resize: ResizeConfig::new(ResizeKernel::Bicubic),
        rows_after: 0,
    }
}

/// Over types and axes: the entries are those of the layer, the rest is unchanged.
#[test]
fn grid_is_resized_and_nothing_else() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("model.safetensors");
    let out = folder.path().join("resized.safetensors");
    for (dims, shape, kept, wanted) in [
        (&[13, 5][..], LearnedGridShape::Rows, 1, &[36, 5][..]),
        (&[1, 14, 5], LearnedGridShape::BatchOfRows, 2, &[1, 37, 5]),
        (
            &[1, 3, 4, 5],
            LearnedGridShape::ChannelsLast,
            0,
            &[1, 5, 7, 5],
        ),
        (
            &[1, 5, 3, 4],
            LearnedGridShape::ChannelsFirst,
            0,
            &[1, 5, 5, 7],
        ),
    ] {
        for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
            let pos = table(dims, dtype)?;
            write(&path, &pos);
            let done = resize(&path, &out, &request(&[3, 4], &[5, 7]))?;
            assert_eq!(
                (done.dtype, &done.from[..], &done.to[..]),
                (dtype, dims, wanted)
            );
            assert_eq!((done.rows_before, done.others), (kept, 2));

            let config = LearnedGridConfig {
                rows_before: kept,
                shape,
                ..LearnedGridConfig::new([3, 4], 5)
            };
            let mut rows = LearnedGrid::from_table(config, pos)?.resized(&[5, 7])?;
            if shape == LearnedGridShape::ChannelsFirst {
                rows = rows.t()?;
            }
            let file = fs::read(&out)?;
            let found = SafeTensors::deserialize(&file).unwrap();
            assert_eq!(found.tensor("pos").unwrap().shape(), wanted);
            assert!(found.tensor("pos").unwrap().data() == bytes(&rows));
            assert_eq!(found.tensor("a").unwrap().data(), [1, 2, 3]);
            assert!(found.tensor("z").unwrap().data() == vec![9; 1 << 21]);
            let (_, header) = SafeTensors::read_metadata(&file).unwrap();
            let metadata = header.metadata().clone().unwrap();
            assert_eq!((metadata.len(), &metadata["note"][..]), (2, "a \"b\"\n"));
            inspect(&out)?;
        }
    }
    Ok(())
}

#[test]
fn equal_input_gives_equal_bytes_also_in_place() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("model.safetensors");
    let out = folder.path().join("resized.safetensors");
    write(&path, &table(&[1, 12, 5], DType::F32)?);
    let request = TableResize {
        rows_after: 3,
        ..request(&[3, 3], &[4, 2])
    };
    assert_eq!(resize(&path, &out, &request)?.rows_before, 0);
    let first = fs::read(&out)?;
    for _ in 0..5 {
        resize(&path, &out, &request)?;
        assert!(fs::read(&out)? == first);
    }
    resize(&path, &path, &request)?;
    assert!(fs::read(&path)? == first);
    Ok(())
}

#[test]
fn tensors_that_cannot_be_resized_are_named_and_nothing_is_written() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("model.safetensors");
    let out = folder.path().join("resized.safetensors");
    let error = |request: &TableResize| {
        let error = resize(&path, &out, request).unwrap_err().to_string();
        assert!(error.contains("model.safetensors: "), "{error}");
        error
    };
    write(&path, &table(&[1, 13, 5], DType::F32)?);
    let with = |change: &dyn Fn(&mut TableResize)| {
        let mut request = request(&[3, 4], &[5, 7]);
        change(&mut request);
        error(&request)
    };
    pe_tests::rejected! {
        with(&|r| r.tensor = "po".to_owned()) => "…no tensor \"po\"; the file holds …",
        with(&|r| r.tensor = "a".to_owned()) => "…tensor \"a\": a grid of U8 cannot be resized…",
        with(&|r| r.from = vec![4, 4]) => "…tensor \"pos\": shape [1, 13, 5] has 13 rows, fewer than a grid of sides [4, 4]…",
        with(&|r| r.from = vec![usize::MAX; 2]) => "…has 13 rows, fewer than a grid…",
        with(&|r| r.rows_after = 2) => "…has 13 rows, fewer than a grid of sides [3, 4] with 2 rows…",
        with(&|r| r.to = vec![5]) => "…tensor \"pos\": the size has 1 sides, 2 are needed…",
        with(&|r| r.to = vec![5, 0]) => "…a side of the size 0 is outside 1..=65536…",
        with(&|r| r.to = vec![65536; 2]) => "…exceed the limit of 268435456…",
        with(&|r| r.from = vec![]) => "…sides []: a grid has 1 to 4 sides…",
        with(&|r| { r.resize.kernel = ResizeKernel::Nearest; r.resize.antialias = true; }) =>
            "…nearest resizing is not defined with antialiasing…",
    }
    write(&path, &table(&[2, 3, 4, 5], DType::F32)?);
    assert!(with(&|_| ()).contains("shape [2, 3, 4, 5] is not [N, D]"));
    fs::write(&path, b"no file of tensors")?;
    assert!(with(&|_| ()).contains("model.safetensors: "));
    assert!(!out.exists());
    write(&path, &table(&[12, 5], DType::F32)?);
    let nowhere = folder.path().join("no/such/folder.safetensors");
    let found = resize(&path, &nowhere, &request(&[3, 4], &[5, 7])).unwrap_err();
    assert!(
        found.to_string().contains("folder.safetensors: "),
        "{found}"
    );
    Ok(())
}
