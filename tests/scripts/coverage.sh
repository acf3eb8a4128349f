#!/usr/bin/env bash
# Line coverage of pe-core and pe-candle by their unit tests and the test binaries `exact`, `layers`, `files`, and `hub`,
# without the tests that kill processes: tarpaulin cannot read the counts that those leave.
#
#     cargo install cargo-tarpaulin --locked
#     tests/scripts/coverage.sh [OPTIONS OF cargo tarpaulin ...]
#
# target/coverage contains what is built, tarpaulin-report.json, and the figures of each file.
set -euo pipefail
cd "$(dirname "$0")/../.."
mkdir -p target/coverage
# Candle is built plainly: its own speed is not measured.
exec cargo --config 'profile.dev.package."*".opt-level=0' tarpaulin --engine llvm --skip-clean \
    --target-dir target/coverage --output-dir target/coverage -p pe-core -p pe-candle -p pe-tests \
    --no-default-features --features pe-tests/candle,pe-candle/hub --lib --tests \
    --include-files 'pe-core/src/*' --include-files 'pe-candle/src/*' --timeout 900 --out Json --out Stdout \
    "$@" -- --skip exhaustive_4096 --skip interrupted:: --skip is_killed
