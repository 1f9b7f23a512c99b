#!/bin/sh
# The published deployment of Kimi-K3 on a cluster that a file describes: figures as in the short
# form, host memory of each node, and what lies where.
cd "$(dirname "$0")" || exit
exec "${SHARDPLAN:-shardplan}" plan "${MODEL:-../kimi-k3/config.json}" \
  --cluster two-h20-nodes.yaml --tp 8 --pp 2 --pp-partition 48,45 --language-model-only \
  --max-model-len 512K --output-tokens 32768 --max-num-seqs 1 --max-num-batched-tokens 8192 \
  --enforce-eager --enable-prefix-caching --gpu-memory-utilization 0.90 \
  --offload-backend uva --cpu-offload-gb 32 --cpu-offload-params w13_weight,w2_weight --numa-bind "$@"
