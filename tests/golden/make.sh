#!/usr/bin/env bash
# Regenerates the golden files and checks them:
#
#     tests/golden/make.sh [PYTHON [NAME ...]]     # NAME: that of make_NAME.py; all of them without names
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${1:-python3.11}
[ $# -gt 0 ] && shift
names=("$@")
[ ${#names[@]} -gt 0 ] || names=(entries digests recipes recipe_frequencies presets seeds figures rotary rotary_edges
    rotary_factors rotary_ulps temperature score_temperatures xpos learned_rotary rotary_axes rotary_axial rotary_classes gguf families schemes chatglm resize grids biases
    timestep_presets learned learned_configs fourier identify diagnoses)

"$python" -m venv target/golden
target/golden/bin/pip install --quiet -r tests/golden/requirements.txt
target/golden/bin/pip install --quiet --no-deps -r tests/golden/requirements-no-deps.txt
for name in "${names[@]}"; do
    printf '== %s\n' "$name"
    target/golden/bin/python "tests/golden/make_$name.py"
done
target/golden/bin/python tests/golden/check.py
git diff --stat -- tests/golden
