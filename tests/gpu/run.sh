#!/bin/sh
# In the folder that `./x gpu` makes, on a machine with a GPU: checks and measures everything, beside torch and CuPy,
# and writes gpu.json into FOLDER. `dastac bench --gpu gpu.json` shows it.
#   sh run.sh [FOLDER]
set -eu
cd "$(dirname -- "$0")"
out=${1:-.}
export DASTAC_OMP=./libomp.so.5
# What is wrong or fails is in the result.
./measure . cuda >"$out/measured.jsonl" || true
python3 peers.py . "$out/measured.jsonl" >"$out/gpu.json"
