#!/bin/sh
# Kimi-K3 on SGLang, conservative: TP16 and EP16 over 2 × 8 H20 141 GB, a window of 32,768 tokens,
# BF16 cache and states, no prefix cache, no draft. MODEL=DIR plans a checkpoint directory instead.
cd "$(dirname "$0")" || exit
exec "${SHARDPLAN:-shardplan}" plan "${MODEL:-config.json}" --engine sglang \
  --gpu h20-141 --nodes 2 --tp-size 16 --ep-size 16 --context-length 32768 \
  --moe-runner-backend marlin --attention-backend flashmla --mamba-ssm-dtype bfloat16 \
  --disable-radix-cache "$@"
