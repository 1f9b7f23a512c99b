#!/bin/sh
# The same without offload: does not fit, and what would.
cd "$(dirname "$0")" || exit
exec "${SHARDPLAN:-shardplan}" plan "${MODEL:-config.json}" \
  --gpu h20-96 --nodes 2 --tp 8 --pp 2 --pp-partition 48,45 --language-model-only \
  --max-model-len 512K --max-num-seqs 1 --max-num-batched-tokens 8192 --enforce-eager \
  --gpu-memory-utilization 0.90 "$@"
