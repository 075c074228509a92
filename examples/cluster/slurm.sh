#!/bin/bash
#SBATCH --job-name=kernelgauge
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=64
#SBATCH --time=04:00:00
#SBATCH --exclusive
# A Ray cluster inside one job, and a run on it: sbatch slurm.sh --contestant folder:answers --out runs/answers
# Submitted again after its time limit, the run goes on where it was.
set -euo pipefail
export RAY_AUTH_MODE=token  # the token is in the home that all nodes share: `ray get-auth-token --generate`, once

export KERNELGAUGE_CACHE=${SLURM_TMPDIR:-/tmp}/kernelgauge-$USER  # a local disk: locks of a shared one may not hold
port=6379
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)

# The head's node judges too: --exclusive leaves its GPUs to this job.
srun --nodes=1 --ntasks=1 --nodelist="$head" ray start --head --port=$port --include-dashboard=false --block &
until srun --overlap --nodes=1 --ntasks=1 --nodelist="$head" ray status --address="$head:$port" >/dev/null 2>&1; do
    sleep 2
done
if [ "$SLURM_JOB_NUM_NODES" -gt 1 ]; then
    srun --nodes=$((SLURM_JOB_NUM_NODES - 1)) --ntasks=$((SLURM_JOB_NUM_NODES - 1)) --exclude="$head" \
        ray start --address="$head:$port" --block &
fi
srun --overlap --nodes=1 --ntasks=1 --nodelist="$head" kernelgauge run --executor "ray:$head:$port" "$@"
