//! Numbers that make no sense.

use super::{Fault, all};

#[test]
fn numbers_outside_what_an_option_takes_are_named_with_it() {
    let whole = [
        "-1",
        "1.5",
        "1e3",
        "NaN",
        "inf",
        "0x10",
        "",
        "+",
        "18446744073709551616",
        "1_000",
        "٣",
    ];
    let real = [
        "NaN", "inf", "-inf", "-1", "0", "-0", "1e999", "1e-999", "ten", "1,5",
    ];
    let options: &[(&str, &str, &[&str])] = &[
        ("a", "--d-model", &whole),
        ("a", "--heads", &["0", "-1", "NaN", "9999999"]),
        ("a", "--layers", &["0", "-1", "NaN", "9999999"]),
        ("a", "--max-seq-len", &["0", "-1", "NaN", "1000000000000"]),
        ("a", "--seed", &["-1", "NaN", "18446744073709551616"]),
        (
            "export -o t --max-seq-len 3",
            "--d-model",
            &["0", "-1", "NaN", "1000000000000"],
        ),
        (
            "export -o t --d-model 8",
            "--max-seq-len",
            &["0", "-1", "NaN", "1000000000000"],
        ),
        (
            "export -o t --d-model 8 --max-seq-len 3",
            "--start",
            &["-1", "NaN", "4294967297"],
        ),
        ("export -o t --d-model 8 --max-seq-len 3", "--base", &real),
        (
            "export -o t --d-model 8 --max-seq-len 3",
            "--min-rate",
            &["NaN", "-1", "0", "inf"],
        ),
        (
            "export -o t --scheme rotary --max-seq-len 3",
            "--head-dim",
            &["0", "-1", "NaN"],
        ),
        (
            "export -o t --scheme rotary --head-dim 8",
            "--rotary-dim",
            &["0", "-1", "NaN"],
        ),
        (
            "export -o t --scheme rotary --head-dim 8",
            "--theta",
            &["0", "-1", "NaN", "inf"],
        ),
        (
            "export -o t --scheme rotary --head-dim 8",
            "--seq-len",
            &["0", "-1", "NaN"],
        ),
        ("train", "--steps", &["-1", "NaN", "18446744073709551616"]),
        ("train", "--batch", &["0", "-1", "NaN", "1000000000000"]),
        ("train", "--length", &["0", "-1", "NaN", "1000000000000"]),
        ("train", "--learning-rate", &["0", "-1", "NaN", "inf"]),
        ("train", "--dropout", &["1", "-0.1", "NaN", "inf"]),
        (
            "plot rings",
            "--d-model",
            &["0", "-1", "NaN", "1000000000000"],
        ),
        (
            "plot rings",
            "--max-seq-len",
            &["0", "-1", "NaN", "1000000000000"],
        ),
        (
            "plot rings",
            "--start",
            &["-1", "NaN", "18446744073709551616"],
        ),
        ("plot rings", "--base", &["0", "-1", "NaN", "inf"]),
    ];
    // With memory for the program alone.
    let lines: Vec<(String, String)> = options
        .iter()
        .flat_map(|(command, option, values)| {
            values.iter().map(move |value| {
                let line = format!("ulimit -v 400000; exec $pe {command} {option}='{value}'");
                (line, (*option).to_owned())
            })
        })
        .collect();
    let parts: Vec<[&str; 1]> = lines.iter().map(|(_, option)| [option.as_str()]).collect();
    let faults: Vec<Fault<'_>> = lines
        .iter()
        .zip(&parts)
        .map(|((line, _), parts)| (line.as_str(), 2, &parts[..]))
        .collect();
    all::<98>(faults.as_slice().try_into().expect("98 cases"));
}

#[test]
fn numbers_that_make_no_sense_together_or_ask_for_too_much() {
    all::<17>(&[
        ("exec $pe a --d-model 7", 2, &["--d-model 7 is odd"]),
        (
            "exec $pe a --d-model 8 --heads 3",
            2,
            &["--d-model 8", "--heads 3"],
        ),
        (
            "exec $pe a --scheme rotary --d-model 6 --heads 2",
            2,
            &["heads of width 3"],
        ),
        ("exec $pe train --d-model 7", 2, &["--d-model 7 is odd"]),
        (
            "exec $pe export -o t --d-model 7 --max-seq-len 3",
            2,
            &["--d-model 7 is odd"],
        ),
        (
            "exec $pe export -o t --scheme rotary --head-dim 7 --max-seq-len 3",
            2,
            &["7"],
        ),
        (
            "exec $pe export -o t --scheme rotary --head-dim 8 --rotary-dim 10 --max-seq-len 3",
            2,
            &["10", "8"],
        ),
        (
            "exec $pe export -o t --d-model 8 --max-seq-len 2 --start 4294967295",
            2,
            &["--start 4294967295", "--max-seq-len 2"],
        ),
        (
            "exec $pe export -o t --d-model 8 --max-seq-len 2 --base 1e-300",
            2,
            &["--base", "frequency"],
        ),
        (
            "exec $pe export -o t --d-model 8 --max-seq-len 2 --spacing shifted=NaN",
            2,
            &["shifted=NaN"],
        ),
        (
            "exec $pe export -o t --d-model 8 --max-seq-len 2 --spacing shifted=4",
            2,
            &["shifted=4", "--d-model 8"],
        ),
        (
            "exec $pe export -o t --scheme rotary --head-dim 8 --max-seq-len 2 \
             --scaling linear:factor=NaN",
            2,
            &["linear:factor=NaN"],
        ),
        (
            "exec $pe export -o t --scheme rotary --head-dim 8 --max-seq-len 2 \
             --scaling linear:factor=-4",
            2,
            &["-4"],
        ),
        (
            "ulimit -v 400000; exec $pe export -o t --d-model 4096 --max-seq-len 4000000",
            1,
            &["4000000 rows x 4096 columns"],
        ),
        (
            "ulimit -v 400000; exec $pe a --d-model 4096 --layers 12 --no-table",
            1,
            &["2424758272 weights", "268435456"],
        ),
        (
            "ulimit -v 400000; exec $pe train --d-model 4096 --layers 12 -o folder",
            1,
            &["weights is above the limit"],
        ),
        (
            "ulimit -v 400000; exec $pe a --max-seq-len 4000000 --d-model 256 --table t",
            1,
            &["no memory for 4096000000 bytes"],
        ),
    ]);
}
