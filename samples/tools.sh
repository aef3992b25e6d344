#!/usr/bin/env bash
# Looks for programs, and names all that are missing with the one command that installs them.
#
#   samples/tools.sh [cargo] [cc] [git] [node] [python3] …
set -euo pipefail

missing=()
for tool in "$@"; do
  command -v "$tool" >/dev/null || missing+=("$tool")
done
[ ${#missing[@]} -gt 0 ] || exit 0

manager=
for known in apt-get dnf apk pacman zypper brew; do
  if command -v "$known" >/dev/null; then
    manager=$known
    break
  fi
done

# The package that a program comes with.
package() {
  case $manager:$1 in
    apk:cc) echo build-base ;;
    *:cc) echo gcc ;;
    apt-get:node | dnf:node | apk:node | pacman:node | zypper:node) echo nodejs ;;
    pacman:python3 | brew:python3) echo python ;;
    *) echo "$1" ;;
  esac
}

commands=()
packages=()
for tool in "${missing[@]}"; do
  if [ "$tool" = cargo ]; then
    commands+=("curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh")
  elif [ "$tool:$manager" = cc:brew ]; then
    commands+=("xcode-select --install")
  else
    packages+=("$(package "$tool")")
  fi
done
if [ ${#packages[@]} -gt 0 ]; then
  sudo=
  [ "$(id -u)" = 0 ] || sudo="sudo "
  case $manager in
    apt-get) commands+=("${sudo}apt-get update && ${sudo}apt-get install --yes ${packages[*]}") ;;
    dnf) commands+=("${sudo}dnf install --assumeyes ${packages[*]}") ;;
    apk) commands+=("${sudo}apk add ${packages[*]}") ;;
    pacman) commands+=("${sudo}pacman --sync --needed ${packages[*]}") ;;
    zypper) commands+=("${sudo}zypper install --no-confirm ${packages[*]}") ;;
    brew) commands+=("brew install ${packages[*]}") ;;
    # Nobody knows how this machine installs anything.
    *) ;;
  esac
fi

{
  echo "error: these programs are missing: ${missing[*]}"
  if [ ${#commands[@]} -gt 0 ]; then
    all=$(printf ' && %s' "${commands[@]}")
    echo "install them with: ${all# && }"
  fi
} >&2
exit 3
