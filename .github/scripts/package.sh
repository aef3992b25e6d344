#!/usr/bin/env bash
# Puts programs into archives, the same bytes for the same programs, and writes SHA256SUMS.
#
#   package.sh PROGRAMS OUT [MANUAL]
#
# PROGRAMS holds a folder for each target, such as x86_64-unknown-linux-musl, with the program in it; MANUAL is what
# `architect-ci manual` has written.
set -euo pipefail
programs=${1:?name the folder of the programs}
out=${2:?name the folder for the archives}
manual=${3:-}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

mkdir -p "$out"
out=$(cd "$out" && pwd)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
count=0
for folder in "$programs"/*/; do
  target=$(basename "$folder")
  name=architect-ci
  case "$target" in *windows*) name=architect-ci.exe ;; esac
  [ -f "$folder/$name" ] || { echo "$folder holds no $name" >&2; exit 1; }
  rm -rf "${stage:?}"/*
  install -m 755 "$folder/$name" "$stage/$name"
  install -m 644 "$root/LICENSE" "$root/README.md" "$root/CHANGELOG.md" "$stage"
  if [ -n "$manual" ]; then cp -R "$manual/." "$stage"; fi
  # Neither time, nor owner, nor order of the machine that packs gets into the archive.
  tar --sort=name --mtime="@${SOURCE_DATE_EPOCH:-0}" --owner=0 --group=0 --numeric-owner --format=ustar \
    -C "$stage" -cf - . | gzip -n -9 >"$out/architect-ci-$target.tar.gz"
  count=$((count + 1))
done
[ "$count" -gt 0 ] || { echo "there is no program in $programs" >&2; exit 1; }
(cd "$out" && sha256sum -- *.tar.gz >SHA256SUMS)
echo "$count archives in $out"
