#!/usr/bin/env bash
# Everything that results/h100 or results/h200 shows, measured on the GPUs that are visible here:
#
#     bash benchmarks/gpu_results.sh results/h100 runs/h100                    # hours on one GPU
#     bash benchmarks/gpu_results.sh results/h100 runs/h100 inductor pages     # some steps, by their names
#     LIMIT=1500 bash benchmarks/gpu_results.sh results/h100 runs/h100         # ends after so many seconds
#
# The run folders that are archived in results/h100 are unpacked first. Interrupted, or at its limit, the same command
# goes on: each step keeps what is finished, and is left out once it is whole. A step that could not judge all it
# should ends the script, and says why. What a profile or the self-test prints stays in its log.
set -euo pipefail
results=$1
out=$2
shift 2
steps=${*:-peaks expert expert_v0.1 inductor inductor_v0.1 compile compile_v0.1 eager autotune profile memory throughput defences defences_cuda selftest baselines pages}
ends=$((SECONDS + ${LIMIT:-1000000}))

if [[ ! -e $out ]]; then
    mkdir -p "$out"
    for archive in "$results"/runs*.tar.xz; do
        [[ -e $archive ]] && tar xJf "$archive" -C "$out"
    done
fi

step() {
    local name=$1 left=$((ends - SECONDS)) status=0
    shift
    [[ " $steps " == *" $name "* ]] || return 0
    [[ -e $out/$name.whole ]] && return 0
    if ((left < 20)); then
        echo "== $name: no time is left for it"
        exit 0
    fi
    echo "== $name: $*"
    # Ctrl-C, and half a minute to keep what is finished.
    timeout --foreground --signal INT --kill-after 30 "$left" "$@" > >(tee -a "$out/$name.log") 2>&1 || status=$?
    if ((SECONDS >= ends)); then
        echo "== $name: the time is up; the same command goes on"
        exit 0
    fi
    ((status == 0)) || exit "$status"
    touch "$out/$name.whole"
}

run=(python -m kernelgauge run --device cuda --level 1,2,3)
again=(python -m kernelgauge reeval)
baseline=(python -m kernelgauge baseline --device cuda --level 1,2,3)
defences=(python benchmarks/defences.py --device cuda --sizes full)

step peaks sh -c 'python -m kernelgauge doctor --measure --device cuda --json > "$1/peaks.part" && mv "$1/peaks.part" "$1/peaks.json"' - "$results"
step expert "${run[@]}" --contestant expert --out "$out/expert_strict"
step expert_v0.1 "${run[@]}" --contestant expert --protocol v0.1 --out "$out/expert_v0.1"
step inductor "${run[@]}" --contestant inductor --out "$out/inductor_strict"
step inductor_v0.1 "${again[@]}" "$out/inductor_strict" --protocol v0.1 --out "$out/inductor_v0.1"
step compile "${baseline[@]}" --modes compile --out "$out/compile_strict"
step compile_v0.1 "${baseline[@]}" --modes compile --protocol v0.1 --out "$out/compile_v0.1"
step eager "${baseline[@]}" --modes eager --out "$out/eager_strict"
step autotune python -m kernelgauge baseline --device cuda --level 2 --limit 60 --modes compile-max-autotune --out "$out/autotune"
step profile python -m kernelgauge profile 1/23
step memory python benchmarks/gpu_memory.py --problems 1/38 --near 4 --out "$out/gpu_memory.json"
step throughput python benchmarks/throughput.py --work "$out/throughput" --out "$out/throughput.json"
step defences "${defences[@]}" --out "$out/defences"
step defences_cuda "${defences[@]}" --candidates benchmarks/cuda_candidates --out "$out/defences_cuda"
step selftest python -m kernelgauge selftest --gpu

# Baselines that are committed stay: of several of a problem the newest counts.
known=$results/baselines.jsonl.xz
step baselines sh -c '{ if [ -e "$1" ]; then xz -dc "$1"; fi; cat "$2"/*/baselines.jsonl; } | sort -u | xz -9e > "$2/known.xz" && mv "$2/known.xz" "$1"' - "$known" "$out"

pages=()
headroom=()
there() { # RESULT SOURCE: what has not been measured leaves the page as it was
    if [[ -e $out/$2 ]]; then pages+=("$1=$out/$2"); fi
}
there aa eager_strict
there baselines compile_strict
there baselines_v0.1 compile_v0.1
there autotune autotune
there expert_strict expert_strict
there expert_v0.1 expert_v0.1
there inductor_strict inductor_strict
there inductor_v0.1 inductor_v0.1
there throughput throughput.json
there gpu_memory gpu_memory.json
for run in eager_strict compile_strict inductor_strict expert_strict; do
    if [[ -e $out/$run ]]; then headroom+=("$out/$run"); fi
done
step pages python benchmarks/results.py "$results" "${pages[@]}" "headroom=$(IFS=+; echo "${headroom[*]}")"
