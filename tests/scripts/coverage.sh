#!/usr/bin/env bash
# Line coverage of pe-core and pe-candle by their unit tests and the test binaries `exact`, `layers`, `files`, and `hub`,
# without the tests that kill processes, because those leave no counts.
#
#     rustup component add llvm-tools
#     tests/scripts/coverage.sh [FOLDER]     # FOLDER: of the build, target/coverage by default
#
# FOLDER/report.txt has the figures of each file, FOLDER/lines.txt the lines that no test reaches.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(realpath -m "${1:-target/coverage}")
tools=$(rustc --print target-libdir)/../bin
mkdir -p "$folder"
rm -rf "$folder/counts"
# Cargo calls this for the packages of the workspace alone. Binaries need the flag as well, for the runtime that writes the counts.
printf '#!/usr/bin/env bash\nexec "$@" -C instrument-coverage\n' >"$folder/instrument"
chmod +x "$folder/instrument"
export RUSTC_WORKSPACE_WRAPPER=$folder/instrument LLVM_PROFILE_FILE=$folder/counts/%p-%m.profraw
arguments=(--locked --target-dir "$folder" -p pe-core -p pe-candle -p pe-tests --lib --test exact --test layers --test files --test hub)
cargo test "${arguments[@]}" -- --skip exhaustive_ --skip interrupted:: --skip is_killed
"$tools/llvm-profdata" merge --sparse "$folder"/counts/*.profraw -o "$folder/counts.profdata"
mapfile -t programs < <(cargo test "${arguments[@]}" --no-run --message-format=json 2>/dev/null |
    grep -o '"executable":"[^"]*"' | cut -d'"' -f4 | sed 's/^/--object=/')
measure=("${programs[@]}" --instr-profile="$folder/counts.profdata" --ignore-filename-regex='/(registry|rustc|tests|pe-demo)/')
"$tools/llvm-cov" report "${measure[@]}" >"$folder/report.txt"
"$tools/llvm-cov" show "${measure[@]}" --show-instantiations=false | grep -E '^/|\| +0\|' >"$folder/lines.txt" || true
for library in pe-core pe-candle; do
    "$tools/llvm-cov" report "${measure[@]}" --sources "$library/src" | sed -n "s,^TOTAL,$library,p"
done
