#!/bin/sh
# A dense model of the Llama-3.1-70B shape, TP4 on H100 80 GB.
cd "$(dirname "$0")" || exit
exec "${SHARDPLAN:-shardplan}" plan config.json \
  --gpu h100-80-sxm --gpus-per-node 4 --tp 4 --max-num-seqs 64 "$@"
