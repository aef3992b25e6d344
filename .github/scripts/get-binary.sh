#!/usr/bin/env bash
# Finds or downloads the program and names it in the step output `binary`.
# Reads BINARY_PATH, VERSION, RELEASES_URL and the runner's RUNNER_OS, RUNNER_ARCH, RUNNER_TEMP, RUNNER_TOOL_CACHE.
set -euo pipefail

fail() {
  printf '::error title=architect-ci::%s\n' "$1" >&2
  exit 3
}

if [ -n "${BINARY_PATH:-}" ]; then
  [ -x "$BINARY_PATH" ] || fail "\`binary-path\` is not an executable program; check the input"
  binary=$(cd "$(dirname "$BINARY_PATH")" && pwd)/$(basename "$BINARY_PATH")
  printf 'binary=%s\n' "$binary" >>"$GITHUB_OUTPUT"
  exit 0
fi

case "${RUNNER_OS:-}-${RUNNER_ARCH:-}" in
  Linux-X64) target=x86_64-unknown-linux-musl ;;
  Linux-ARM64) target=aarch64-unknown-linux-musl ;;
  macOS-X64) target=x86_64-apple-darwin ;;
  macOS-ARM64) target=aarch64-apple-darwin ;;
  Windows-X64) target=x86_64-pc-windows-msvc ;;
  *) fail "there is no release for this runner (${RUNNER_OS:-?} ${RUNNER_ARCH:-?}); build the program and set \`binary-path\`" ;;
esac
[[ $VERSION =~ ^v[0-9]+\.[0-9]+\.[0-9]+([.-][0-9A-Za-z.-]+)?$ ]] || fail "invalid value for \`version\`; use a release such as v0.1.0"
[[ $RELEASES_URL =~ ^https?://[^[:space:]]+$ ]] || fail "invalid value for \`releases-url\`; use a URL that begins with https://"

archive=architect-ci-$target.tar.gz
# The tool cache, in the form that GitHub's own set-up actions use: whatever is marked complete is whole.
cache=${RUNNER_TOOL_CACHE:-$RUNNER_TEMP}/architect-ci/${VERSION#v}
folder=$cache/$target
complete=$folder.complete
program=$folder/architect-ci
[ "$RUNNER_OS" != Windows ] || program=$program.exe

fetch() {
  curl --fail --silent --show-error --location --retry 3 --retry-delay 1 --connect-timeout 20 --max-time 300 \
    --output "$2" "$1" ||
    fail "could not download ${1##*/}; check \`version\` and \`releases-url\`, or set \`binary-path\`"
}

if [ ! -f "$complete" ] || [ ! -x "$program" ]; then
  fresh=$(mktemp -d "${RUNNER_TEMP:-/tmp}/architect-ci-XXXXXX")
  trap 'rm -rf "$fresh"' EXIT
  fetch "$RELEASES_URL/$VERSION/$archive" "$fresh/$archive"
  fetch "$RELEASES_URL/$VERSION/SHA256SUMS" "$fresh/SHA256SUMS"
  expected=$(awk -v name="$archive" '$2 == name || $2 == "*" name { print $1 }' "$fresh/SHA256SUMS")
  if command -v sha256sum >/dev/null; then
    actual=$(sha256sum "$fresh/$archive" | cut -d ' ' -f 1)
  else
    actual=$(shasum -a 256 "$fresh/$archive" | cut -d ' ' -f 1)
  fi
  if [ -z "$expected" ] || [ "$expected" != "$actual" ]; then
    fail "the SHA-256 of $archive is not the one in SHA256SUMS; nothing was run"
  fi
  mkdir -p "$fresh/unpacked" "$cache"
  tar -xzf "$fresh/$archive" -C "$fresh/unpacked"
  [ -f "$fresh/unpacked/$(basename "$program")" ] || fail "$archive does not contain the program; check \`version\` and \`releases-url\`"
  chmod +x "$fresh/unpacked/$(basename "$program")"
  # In one step: another job of this machine may be doing the same.
  rm -f "$complete"
  rm -rf "$folder"
  mv "$fresh/unpacked" "$folder"
  : >"$complete"
fi
printf 'binary=%s\n' "$program" >>"$GITHUB_OUTPUT"
