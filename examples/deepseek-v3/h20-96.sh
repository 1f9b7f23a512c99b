#!/bin/sh
# DeepSeek-V3, TP8 on one node of 8 × H20 96 GB.
cd "$(dirname "$0")" || exit
exec "${SHARDPLAN:-shardplan}" plan config.json \
  --gpu h20-96 --tp 8 --max-num-seqs 64 "$@"
