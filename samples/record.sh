#!/usr/bin/env bash
# Replays each sample and replaces its transcript with the one of that run. Use it when the transcript format or the
# results of tools change, and look at the difference before you commit it.
set -euo pipefail
samples=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
for base in "$samples"/*/base; do
  name=$(basename "$(dirname "$base")")
  out=$(mktemp -d)
  OUT=$out "$samples/try.sh" "$name" --quiet >/dev/null
  cp "$out/transcript.jsonl" "$samples/$name/transcript.jsonl"
  rm -rf "$out"
done
