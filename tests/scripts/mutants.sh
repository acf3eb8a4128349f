#!/usr/bin/env bash
# Mutation testing of pe-core: each mutant is built and tested in a workspace of its own, of pe-core
# and its tests alone, since nothing of Candle is needed to tell whether a table is right.
#
#     cargo install cargo-mutants --locked
#     tests/scripts/mutants.sh [FOLDER] [OPTIONS OF cargo mutants ...] [-- OPTIONS OF cargo test ...]
#
# FOLDER is where the workspace is made, and remade on each call (default: target/mutants). Examples:
#
#     tests/scripts/mutants.sh target/mutants --list
#     tests/scripts/mutants.sh target/mutants --timeout 120
#     tests/scripts/mutants.sh target/mutants -f pe-core/src/rows/columns.rs -- --lib --test exact -- parity
#
# The outcome is in FOLDER/mutants.out.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
folder=${1:-$root/target/mutants}
[ $# -gt 0 ] && shift
"$root/tests/scripts/workspace.sh" "$folder" core

options=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    options+=("$1")
    shift
done
[ $# -gt 0 ] && shift
# Without the longest tests, which take as long as all others.
[ $# -eq 0 ] && set -- --lib --test exact -- --skip exhaustive_4096 --skip entries_out_of_rotated_blocks
export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="$root/tests/scripts/first-failure.sh"
cd "$folder"
exec cargo mutants --in-place --no-shuffle --package pe-core --test-package pe-core,pe-tests \
    --features pe-core/hf-config,pe-core/rayon "${options[@]}" -- "$@"
