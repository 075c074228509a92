#!/bin/sh
# A Ray cluster on this machine, and a run on it: a head that only leads, and a node whose CPU judges.
set -e
export RAY_AUTH_MODE=token  # as `ray start --head` has it by itself since Ray 2.60
ray start --head --num-cpus=0 --port=6379 --include-dashboard=false
ray start --address=127.0.0.1:6379 --num-cpus=1 --resources='{"judge": 1}'
trap 'ray stop' EXIT
kernelgauge run --contestant inductor --executor ray --device cpu --sizes small --level 1 --limit "${1:-5}" --out "${2:-runs/cluster}"
