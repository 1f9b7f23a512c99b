#!/bin/sh
# Kimi-K2, TP16 over two nodes of 8 × H20 96 GB.
cd "$(dirname "$0")" || exit
exec "${SHARDPLAN:-shardplan}" plan config.json \
  --gpu h20-96 --nodes 2 --tp 16 --max-num-seqs 64 "$@"
