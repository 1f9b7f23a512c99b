#!/bin/sh
# TP16 over two nodes of 8 × 141 GB: fits with expert parallelism; leave it out and experts are padded.
cd "$(dirname "$0")" || exit
exec "${SHARDPLAN:-shardplan}" plan "${MODEL:-config.json}" \
  --gpu h20-141 --nodes 2 --tp 16 --enable-expert-parallel \
  --max-model-len 128K --max-num-seqs 8 "$@"
