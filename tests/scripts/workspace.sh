#!/usr/bin/env bash
# Makes a workspace of the libraries and their tests alone in a folder, for tools that build them often or
# in their own way (mutants.sh, coverage.sh):
#
#     tests/scripts/workspace.sh FOLDER core     # pe-core and the test binary `core`: nothing of Candle
#     tests/scripts/workspace.sh FOLDER candle   # pe-candle too, and the test binary `candle`
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
folder=$1
kind=$2
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

members='"pe-core", "tests"'
[ "$kind" = candle ] && members='"pe-candle", '$members
rm -rf "$folder/pe-core" "$folder/pe-candle" "$folder/tests"
mkdir -p "$folder/tests"
cp -rp "$root/pe-core" "$folder/"
cp -rp "$root/tests/kit" "$root/tests/exact" "$root/tests/golden" "$folder/tests/"
cp "$root/Cargo.lock" "$root/rust-toolchain.toml" "$root/README.md" "$folder/"
rm "$folder/tests/src/peers.rs"
sed -i '/mod peers/d' "$folder/tests/src/lib.rs"
[ -d "$folder/.git" ] || git init -q "$folder"

# The root's manifest without its profiles, with these members.
sed -e "s/^members = .*/members = [$members]/" -e '/^pe-demo = /d' -e '/^\[profile/,$d' \
    "$root/Cargo.toml" > "$folder/Cargo.toml"
[ "$kind" = core ] && sed -i '/^pe-candle = /d' "$folder/Cargo.toml"
cat >> "$folder/Cargo.toml" <<'EOF'
[profile.dev]
opt-level = 1
debug = false
EOF
cat > "$folder/tests/Cargo.toml" <<'EOF'
[package]
name = "pe-tests"
version.workspace = true
edition.workspace = true
publish = false

[dependencies]
half = { workspace = true }
pe-core = { workspace = true, features = ["serde", "hf-config", "rayon"] }
proptest = { workspace = true }
rayon = { workspace = true }
serde = { workspace = true }
serde_json = { workspace = true }
sha2 = { workspace = true }
EOF
if [ "$kind" = candle ]; then
    cp -rp "$root/pe-candle" "$folder/"
    cp -rp "$root/tests/candle" "$folder/tests/"
    mkdir "$folder/tests/fuzz"
    cp -rp "$root/tests/fuzz/checks" "$root/tests/fuzz/seeds" "$root/tests/fuzz/kept" "$folder/tests/fuzz/"
    # The command line's numbers are pe-demo's.
    sed -i -e '/checks\/numbers.rs/,+1d' -e '/^#\[test\]$/{N;/numbers/{:a;N;/\n}$/!ba;d}}' "$folder/tests/candle/corpus.rs"
    cat >> "$folder/tests/Cargo.toml" <<'EOF'
candle-core = { workspace = true }
candle-nn = { workspace = true }
pe-candle = { workspace = true, features = ["hub"] }
safetensors = { workspace = true }
tempfile = { workspace = true }

[[test]]
name = "candle"
path = "candle/main.rs"
EOF
fi
cat >> "$folder/tests/Cargo.toml" <<'EOF'

[[test]]
name = "core"
path = "core/main.rs"
EOF
