//! `--device`.

use crate::{one_line_error, pe_demo, text};

#[test]
fn cpu_is_the_default() {
    let directory = tempfile::tempdir().expect("a directory");
    for line in [
        "encode 'a b' --d-model 16 --json",
        "encode 'a b' --d-model 16",
    ] {
        let plain = pe_demo(directory.path(), line);
        let named = pe_demo(directory.path(), &format!("{line} --device cpu"));
        assert!(named.status.success(), "{}", text(&named.stderr));
        assert!(plain.stdout == named.stdout);
    }
    let train = "train --steps 1 --d-model 8 --heads 1 --layers 1 --length 8 --scheme rotary \
                 --task order --seeds 1 -q";
    for more in ["-o a", "--device cpu -o b"] {
        let output = pe_demo(directory.path(), &format!("{train} {more}"));
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let weights = |folder: &str| {
        let path = directory
            .path()
            .join(folder)
            .join("order-rotary-0.safetensors");
        std::fs::read(path).expect("weights")
    };
    assert!(weights("a") == weights("b"));
}

#[cfg(not(any(feature = "cuda", feature = "metal")))]
#[test]
fn device_that_was_not_built_in_is_an_error_that_names_the_feature() {
    let directory = tempfile::tempdir().expect("a directory");
    for (device, shown, feature) in [
        ("cuda", "cuda:0", "cuda"),
        ("cuda:3", "cuda:3", "cuda"),
        ("metal", "metal", "metal"),
    ] {
        for command in ["encode", "train"] {
            let output = pe_demo(directory.path(), &format!("{command} --device {device}"));
            assert_eq!(
                one_line_error(&output),
                format!(
                    "--device {shown}: this program was built without it; build it with \
                     `--features {feature}`\n"
                )
            );
        }
        let output = pe_demo(directory.path(), &format!("--device {device} 'a b'"));
        one_line_error(&output);
    }
    // Nothing was begun.
    let nothing = std::fs::read_dir(&directory).expect("a directory").next();
    assert!(nothing.is_none(), "{nothing:?}");
}

#[test]
fn names_of_no_device_are_bad_usage() {
    let directory = tempfile::tempdir().expect("a directory");
    for device in ["gpu", "cuda:", "cuda:-1", "cuda:x", "", "CPU"] {
        let output = pe_demo(directory.path(), &format!("a --device '{device}'"));
        assert_eq!(output.status.code(), Some(2), "{device}");
        let error = text(&output.stderr);
        assert!(error.contains("known: cpu, cuda, cuda:N"), "{error}");
    }
}
