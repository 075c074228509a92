#!/usr/bin/env bash
# Everything that results/h200 shows, measured on the GPUs that are visible here:
#
#     bash benchmarks/gpu_results.sh runs/h200            # hours on one GPU; interrupted, the same command goes on
#     bash benchmarks/gpu_results.sh runs/h200 strict     # one step, by its name
#
# Each step keeps what is finished, and is left out once it is whole; one that could not judge all it should ends the
# script, and says why. What a profile or the self-test prints stays in its log.
set -euo pipefail
out=$1
shift
mkdir -p "$out"
steps=${*:-peaks profile baselines autotune strict v0.1 memory throughput defences defences_cuda pages baselines.jsonl selftest}

step() {
    local name=$1
    shift
    [[ " $steps " == *" $name "* ]] || return 0
    [[ -e $out/$name.whole ]] && return 0
    echo "== $name: $*"
    "$@" 2>&1 | tee -a "$out/$name.log"
    touch "$out/$name.whole"
}

kernelgauge() { python -m kernelgauge "$@"; }

step peaks sh -c 'python -m kernelgauge doctor --measure --device cuda --json > results/h200/peaks.json'
step profile kernelgauge profile 1/23
step baselines kernelgauge baseline --level 1,2,3 --modes eager,compile --device cuda --out "$out/baselines"
step autotune kernelgauge baseline --level 2 --limit 60 --modes compile-max-autotune --device cuda --out "$out/autotune"
step strict kernelgauge run --contestant inductor --device cuda --out "$out/inductor_strict"
step v0.1 kernelgauge reeval "$out/inductor_strict" --protocol v0.1 --out "$out/inductor_v0.1"
step memory python benchmarks/gpu_memory.py --problems 1/38 --near 4 --out "$out/gpu_memory.json"
step throughput python benchmarks/throughput.py --work "$out/throughput" --out "$out/throughput.json"
step defences python benchmarks/defences.py --device cuda --sizes full --out "$out/defences"
step defences_cuda python benchmarks/defences.py --device cuda --sizes full --candidates benchmarks/cuda_candidates --out "$out/defences_cuda"
step pages python benchmarks/results.py results/h200 "aa=$out/baselines" "baselines=$out/baselines" "autotune=$out/autotune" \
    "inductor_strict=$out/inductor_strict" "inductor_v0.1=$out/inductor_v0.1" \
    "throughput=$out/throughput.json" "gpu_memory=$out/gpu_memory.json"
step baselines.jsonl sh -c 'cat "$1"/*/baselines.jsonl > results/h200/baselines.jsonl' - "$out"
step selftest kernelgauge selftest --gpu
