#!/usr/bin/env bash
# Mutation testing of pe-core: cargo-mutants builds each mutant with pe-core's tests alone, since nothing of Candle is
# needed to tell whether a table is right.
#
#     cargo install cargo-mutants --locked
#     tests/scripts/mutants.sh [OPTIONS OF cargo mutants ...] [-- OPTIONS OF cargo test ...]
#
# Examples:
#
#     tests/scripts/mutants.sh --list
#     tests/scripts/mutants.sh --timeout 120
#     tests/scripts/mutants.sh -f pe-core/src/rows/columns.rs -- --lib --test exact -- parity
#
# The outcome is in target/mutants.out.
set -euo pipefail
cd "$(dirname "$0")/../.."

options=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    options+=("$1")
    shift
done
[ $# -gt 0 ] && shift
# Without the longest tests, which take as long as all others.
[ $# -eq 0 ] && set -- --lib --test exact -- --skip exhaustive_ --skip entries_out_of_rotated_blocks
export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="$PWD/tests/scripts/first-failure.sh"
exec cargo mutants --output target --no-shuffle --package pe-core --test-package pe-core,pe-tests \
    --no-default-features --features pe-core/hf-config,pe-core/rayon "${options[@]}" -- "$@"
