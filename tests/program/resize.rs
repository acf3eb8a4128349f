//! `pe-demo resize` writes the grid that its options specify.

use candle_core::{DType, Device, Tensor, safetensors};
use pe_candle::{LearnedGrid, LearnedGridConfig, ResizeConfig, ResizeKernel, ResizePreset};

use crate::util::{arg, file, run, run_error, run_usage};

fn table(dims: &[usize]) -> Tensor {
    let count = dims.iter().product::<usize>();
    let entries = (0..count).map(|i| ((i * 37) % 101) as f32 / 64.0 - 0.7);
    let table = Tensor::from_iter(entries, &Device::Cpu).unwrap();
    table.reshape(dims).unwrap()
}

fn entries(table: &Tensor) -> Vec<f32> {
    table.flatten_all().unwrap().to_vec1().unwrap()
}

#[test]
fn preset_and_options_resize_the_tensor_of_that_name() {
    let (_guard, path) = file("vit.safetensors");
    let out = path.with_file_name("out.safetensors");
    let pos = table(&[1, 17, 6]);
    let other = Tensor::zeros(3, DType::F32, &Device::Cpu).unwrap();
    let tensors = [("pos", pos.clone()), ("other", other)];
    safetensors::save(&tensors.into(), &path).unwrap();
    let bilinear = ResizeConfig {
        antialias: true,
        ..ResizeConfig::new(ResizeKernel::Bilinear)
    };
    let aligned = ResizeConfig {
        align_corners: true,
        ..ResizeConfig::new(ResizeKernel::Bicubic)
    };
    for (options, resize) in [
        ("--preset timm", ResizePreset::Timm.config()),
        ("--kernel bilinear --antialias", bilinear),
        ("--kernel bicubic --align-corners", aligned),
    ] {
        let line = format!(
            "resize {} --tensor pos --from 4x4 --to 3x7 {options} -o {}",
            arg(&path),
            arg(&out)
        );
        let said = run(&line);
        assert!(
            said.contains("tensor pos [1, 17, 6] f32, resized to [1, 22, 6]"),
            "{said}"
        );
        assert!(said.contains("kept: 1 row before the grid"), "{said}");
        assert!(said.contains("unchanged: 1 other tensors"), "{said}");
        let found = safetensors::load(&out, &Device::Cpu).unwrap();
        assert_eq!((found.len(), found["pos"].dims()), (2, &[1, 22, 6][..]));
        let config = LearnedGridConfig {
            rows_before: 1,
            resize,
            ..LearnedGridConfig::new([4, 4], 6)
        };
        let rows = LearnedGrid::from_table(config, pos.clone()).unwrap();
        assert_eq!(
            entries(&found["pos"]),
            entries(&rows.resized(&[3, 7]).unwrap())
        );
        assert_eq!(run(&format!("-q {line}")), "");
    }
}

/// BEiT's table by offset: 3 rows after it, rows and columns swapped.
#[test]
fn presets_know_their_other_rows() {
    let (_guard, path) = file("beit.safetensors");
    let out = path.with_file_name("out.safetensors");
    safetensors::save(&[("t", table(&[15 + 3, 2]))].into(), &path).unwrap();
    let line = format!(
        "resize {} --tensor t --from 3x5 --to 5x7 --preset beit -o {}",
        arg(&path),
        arg(&out)
    );
    assert!(run(&line).contains("kept: 3 rows after the grid"));
    let found = safetensors::load(&out, &Device::Cpu).unwrap();
    let config = LearnedGridConfig::from_preset(ResizePreset::Beit, [3, 5], 2);
    let rows = LearnedGrid::from_table(config, table(&[18, 2])).unwrap();
    assert_eq!(
        entries(&found["t"]),
        entries(&rows.resized(&[5, 7]).unwrap())
    );
}

#[test]
fn file_is_not_replaced_by_its_own_grid_and_errors_name_the_file() {
    let (_guard, path) = file("vit.safetensors");
    let out = path.with_file_name("out.safetensors");
    safetensors::save(&[("pos", table(&[1, 17, 6]))].into(), &path).unwrap();
    let before = std::fs::read(&path).unwrap();
    let line = |tensor: &str, out: &std::path::Path| {
        let path = arg(&path);
        format!(
            "resize {path} --tensor {tensor} --from 4x4 --to 3x7 --preset vit -o {}",
            arg(out)
        )
    };
    let said = run_usage(&line("pos", &path));
    assert!(said.contains("would replace what the file"), "{said}");
    let said = run_error(&line("po", &out));
    assert!(
        said.contains("vit.safetensors: no tensor \"po\"; the file holds"),
        "{said}"
    );
    assert!(!out.exists());
    assert_eq!(std::fs::read(&path).unwrap(), before);
}
