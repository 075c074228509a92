#!/usr/bin/env bash
# Ask a model for one answer to each problem of the built-in suite that counts, and have it judged.
#   suite.sh MODEL URL OUT [more options of vf-eval]
# URL speaks OpenAI's interface (vLLM: http://localhost:8001/v1); its key is in OPENAI_API_KEY.
# KERNELGAUGE_SERVER and KERNELGAUGE_TOKEN name the server that judges.
set -euo pipefail
model="$1" url="$2" out="$3"
vf-eval kernelgauge-verifiers --model "$model" --client.base-url "$url" --client.api-key-var OPENAI_API_KEY \
  --env.agent.harness.id null --env.agent.runtime.type subprocess --env.taskset.task.turns 1 \
  --max-concurrent 64 --no-push --output-dir "$out" "${@:4}"
python "$(dirname "$0")/scores.py" "$out"
