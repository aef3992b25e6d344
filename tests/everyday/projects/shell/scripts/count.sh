#!/usr/bin/env bash
# Counts the lines of each chapter.
set -euo pipefail
for chapter in chapters/*.txt; do
  printf '%s %s\n' "$(basename "$chapter" .txt)" "$(wc -l < "$chapter")"
done
