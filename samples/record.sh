#!/usr/bin/env bash
# Plays each sample's replies and puts the transcript of that run in place of the old one: for when the
# format of transcripts or the results of tools change. Look at the difference before you commit it.
set -euo pipefail
samples=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
for sample in "$samples"/*/; do
  name=$(basename "$sample")
  out=$(mktemp -d)
  OUT=$out "$samples/try.sh" "$name" --quiet >/dev/null
  cp "$out/transcript.jsonl" "$samples/$name/transcript.jsonl"
  rm -rf "$out"
done
