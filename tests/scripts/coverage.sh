#!/usr/bin/env bash
# Line coverage of pe-core and pe-candle by their unit tests and the test binaries `core` and `candle`, without the
# tests that kill processes: what those leave of their counts tarpaulin cannot read.
#
#     cargo install cargo-tarpaulin --locked
#     tests/scripts/coverage.sh [FOLDER] [OPTIONS OF cargo tarpaulin ...]
#
# FOLDER is where a workspace is made (default: target/coverage); tarpaulin-report.json and the figures of each
# file go there.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
folder=${1:-$root/target/coverage}
[ $# -gt 0 ] && shift
"$root/tests/scripts/workspace.sh" "$folder" candle
cd "$folder"
# Candle is built plainly: its own speed is not what is looked at.
cat >> Cargo.toml <<'EOF'

[profile.dev.package."*"]
opt-level = 0
debug = false
EOF
exec cargo tarpaulin --engine llvm --skip-clean -p pe-core -p pe-candle -p pe-tests \
    --features pe-candle/hub --lib --tests --include-files 'pe-core/src/*' \
    --include-files 'pe-candle/src/*' --timeout 900 --out Json --out Stdout "$@" -- --skip exhaustive_4096 \
    --skip interrupted:: --skip is_killed
