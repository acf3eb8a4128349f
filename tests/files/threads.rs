//! Tables of 32 MiB and more, which several threads read: as one thread would.

use super::*;

const ROWS: usize = 8208;
const WIDTH: usize = 1024;

fn on<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build().unwrap().install(work)
}

/// A table of 32 MiB and 64 KiB, whose last block is not whole, and where its data begin.
fn large() -> (TempDir, PathBuf, SinusoidalSpec, usize) {
    let (dir, path) = temp();
    let spec = spec(WIDTH, ROWS);
    checkpoint::export(&path, &spec).unwrap();
    let length = fs::metadata(&path).unwrap().len() as usize;
    (dir, path, spec, length - 4 * ROWS * WIDTH)
}

/// The message without its backtrace.
fn message(threads: usize, path: &Path) -> String {
    let error = on(threads, || load_error(path));
    error.lines().next().unwrap_or_default().to_owned()
}

fn put(path: &Path, at: usize, value: f32) {
    use std::io::{Seek, SeekFrom, Write};
    let mut file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at as u64)).unwrap();
    file.write_all(&value.to_le_bytes()).unwrap();
}

#[test]
fn entries_are_in_their_places() {
    let (_dir, path, _, _) = large();
    let wanted = exact(WIDTH, ROWS as u64, DType::F32);
    for (dtype, verify) in [
        (DType::F32, Verify::All),
        (DType::F32, Verify::None),
        (DType::F64, Verify::Sample),
    ] {
        let wanted = wanted.to_dtype(dtype).unwrap();
        for threads in [1, 3] {
            let options = LoadOptions {
                dtype: Some(dtype),
                verify,
                ..LoadOptions::default()
            };
            let loaded = on(threads, || options.load(&path)).unwrap().table;
            assert_eq!(loaded.dims(), [ROWS, WIDTH]);
            assert_eq!(loaded.dtype(), dtype);
            assert!(bits(&loaded) == bits(&wanted), "{threads} threads");
        }
    }
}

#[test]
fn whatever_is_wrong_is_counted_and_the_first_of_it_is_named() {
    let (_dir, path, spec, data) = large();
    for (row, column) in [(8207, 1023), (300, 7), (5000, 0), (299, 1000)] {
        put(&path, data + 4 * (row * WIDTH + column), 0.5);
    }
    let one = on(1, || checkpoint::compare(&path, &spec)).unwrap();
    assert_eq!((one.entries, one.wrong), ((ROWS * WIDTH) as u64, 4));
    let first = one.first_wrong.as_ref().unwrap();
    assert_eq!((first.row, first.column), (299, 1000));
    let wanted = message(1, &path);
    for _ in 0..5 {
        assert_eq!(on(3, || checkpoint::compare(&path, &spec)).unwrap(), one);
        assert_eq!(message(3, &path), wanted);
    }

    for (row, column) in [(8000, 3), (301, 2), (4000, 1)] {
        put(&path, data + 4 * (row * WIDTH + column), f32::NAN);
    }
    for threads in [1, 2, 3] {
        let error = message(threads, &path);
        assert!(error.contains("row 301, column 2 is NaN"), "{error}");
        let compared = on(threads, || checkpoint::compare(&path, &spec)).unwrap();
        assert!(compared.max_difference.is_nan());
        assert_eq!((compared.wrong, compared.max_ulps), (7, u64::MAX));
    }
}
