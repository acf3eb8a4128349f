#!/usr/bin/env bash
# Runs the fuzz targets, each for some seconds (60 unless told) and in its own folder of finds:
#
#   tests/fuzz/run.sh                            all, 60 s each
#   tests/fuzz/run.sh 600 reader numbers         these, 600 s each
#   EXECUTIONS=10000000 tests/fuzz/run.sh 0      all, until each has run that number of inputs
#
# Needs cargo-fuzz (`cargo install cargo-fuzz --locked`) and a C++ compiler. libFuzzer's
# summary, the count of executions first, is the end of what is printed; a finding ends the run
# and is kept in tests/fuzz/artifacts.
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:-60}
[ $# -gt 0 ] && shift
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(reader specification config gguf numbers)
# The sanitizer needs options that a released compiler hides.
export RUSTC_BOOTSTRAP=1
# Errors that carry a backtrace take a hundred times longer to make.
unset RUST_BACKTRACE RUST_LIB_BACKTRACE
for target in "${targets[@]}"; do
    printf '\n== %s\n' "$target"
    mkdir -p "corpus/$target"
    # An input that takes 10 s, memory of 2 GiB or one piece of 256 MiB is a finding.
    cargo fuzz run --fuzz-dir . ${TARGET_DIR:+--target-dir "$TARGET_DIR"} "$target" \
        "corpus/$target" "seeds/$target" -- \
        -dict="words/$target" -max_total_time="$seconds" -runs="${EXECUTIONS:--1}" \
        -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=256 -max_len=2048 \
        -print_final_stats=1 -verbosity="${VERBOSITY:-1}"
done
