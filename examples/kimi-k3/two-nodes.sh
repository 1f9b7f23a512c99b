#!/bin/sh
# Kimi-K3, text only, 512K window, on 2 × 8 H20 96 GB with 32 GiB of experts a card in host memory.
# MODEL=DIR plans a checkpoint directory (or a stand-in of one) instead of the config alone.
cd "$(dirname "$0")" || exit
exec "${SHARDPLAN:-shardplan}" plan "${MODEL:-config.json}" \
  --gpu h20-96 --nodes 2 --tp 8 --pp 2 --pp-partition 48,45 --language-model-only \
  --max-model-len 512K --output-tokens 32768 --max-num-seqs 1 --max-num-batched-tokens 8192 \
  --enforce-eager --enable-prefix-caching --gpu-memory-utilization 0.90 \
  --offload-backend uva --cpu-offload-gb 32 --cpu-offload-params w13_weight,w2_weight --numa-bind "$@"
