#!/usr/bin/env python3
"""Measures what pe-core and pe-candle cost a program that uses them.

    python3 tests/scripts/weight.py [--check] [FOLDER]

builds three programs in release mode in FOLDER (default: target/weight): one with candle-core and candle-nn alone, one
with the additive layer, and one with the rotary layer. It prints their sizes without symbols, the CPU time of compiling
each library by itself, and the machine code in each library by module. Dependencies are those of Cargo.lock.

With --check it prints the sizes alone, and fails if a layer adds more to a program than LIMITS allow. Then something links
a part of the libraries that the program does not need: `nm -CS --size-sort` of the program in the target folder shows it.
"""

import collections
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

MANIFEST = """[package]
name = "weight"
version = "0.0.0"
edition = "2024"

[workspace]

[features]
default = ["layers"]
layers = ["dep:pe-candle"]

[dependencies]
candle-core = "0.11.1"
candle-nn = "0.11.1"
pe-candle = {{ path = "{root}/pe-candle", optional = true }}

[[bin]]
name = "candle"
path = "candle.rs"

[[bin]]
name = "additive"
path = "additive.rs"
required-features = ["layers"]

[[bin]]
name = "rotary"
path = "rotary.rs"
required-features = ["layers"]
"""

PROGRAM = """use candle_core::{{DType, Device, Result, Tensor}};

fn main() -> Result<()> {{
    let device = Device::Cpu;
    let vb = candle_nn::VarBuilder::zeros(DType::F32, &device);
    let linear = candle_nn::linear(64, 64, vb)?;
    let xs = Tensor::randn(0f32, 1., (1, 4, 8, 64), &device)?;
    let xs = candle_core::Module::forward(&linear, &xs)?;
{layer}
    println!("{{}}", xs.sum_all()?.to_scalar::<f32>()?);
    Ok(())
}}
"""

ADDITIVE = """    let config = pe_candle::PositionalEncodingConfig::new(64);
    let layer = pe_candle::PositionalEncoding::new(config, DType::F32, &device)?;
    let xs = layer.forward_at(&xs.flatten(1, 2)?, 3, true)?;"""
ROTARY = """    let config = pe_candle::RotaryEmbeddingConfig::new(64);
    let layer = pe_candle::RotaryEmbedding::new(config, DType::F32, &device)?;
    let xs = layer.apply(&xs, 3)?;"""
LIBRARIES = ("pe_core", "pe_candle")

# Most megabytes without symbols that a layer may add to the program with Candle alone.
LIMITS = {"additive": 0.95, "rotary": 0.75}


def cargo(folder, *arguments):
    """Builds, and returns the seconds of CPU time that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = ["cargo", "build", "--release", "--quiet", "--offline", *arguments]
    subprocess.run(command, cwd=folder, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def machine_code(library):
    """Returns the bytes of machine code by module."""
    listing = subprocess.run(["nm", "-C", "-S", library], capture_output=True, text=True).stdout
    modules = collections.Counter()
    for line in listing.splitlines():
        symbol = re.match(r"[0-9a-f]+ ([0-9a-f]+) [tTwW] (.*)", line)
        if symbol:
            name = re.search(r"\b(?:pe_candle|pe_core|[a-z0-9_]+)::[a-z0-9_]+(?:::[a-z0-9_]+)*", symbol[2])
            parts = name[0].split("::")[:4] if name else ["other"]
            modules["::".join(parts)] += int(symbol[1], 16)
    return modules


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    check = len(arguments) < len(sys.argv) - 1
    folder = pathlib.Path(arguments[0] if arguments else ROOT / "target/weight").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Cargo.toml").write_text(MANIFEST.format(root=ROOT))
    shutil.copy(ROOT / "Cargo.lock", folder)
    for name, layer in (("candle", ""), ("additive", ADDITIVE), ("rotary", ROTARY)):
        (folder / f"{name}.rs").write_text(PROGRAM.format(layer=layer))
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", folder / "target"))
    cargo(folder, "--no-default-features", "--bin", "candle")
    alone = target / "release/candle"
    shutil.copy(alone, folder / "candle-alone")
    cargo(folder)
    sizes = {"candle": folder / "candle-alone", "additive": target / "release/additive", "rotary": target / "release/rotary"}
    for name, program in sizes.items():
        stripped = folder / f"{name}.stripped"
        subprocess.run(["strip", "-o", stripped, program], check=True)
        sizes[name] = stripped.stat().st_size / 1e6
        added = sizes[name] - sizes["candle"]
        print(f"{name:10} {sizes[name]:6.2f} MB without symbols, {added:.3f} MB above Candle alone")
    if check:
        heavy = [name for name, limit in LIMITS.items() if sizes[name] - sizes["candle"] > limit]
        sys.exit(f"more than {LIMITS} MB: {', '.join(heavy)}" if heavy else 0)
    for library in LIBRARIES:
        package = library.replace("_", "-")
        os.utime(ROOT / package / "src/lib.rs")
        seconds = cargo(folder, "-p", package)
        modules = machine_code(target / f"release/lib{library}.rlib")
        print(f"{package:10} {seconds:6.1f} s of CPU time, {sum(modules.values()) / 1e6:.2f} MB of machine code")
        for module, size in modules.most_common(12):
            print(f"{size:12} {module}")


if __name__ == "__main__":
    main()
