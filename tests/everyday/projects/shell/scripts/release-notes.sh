#!/bin/sh
# Writes NOTES.md from the history.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git log --format='- %s' > "$work/log"
{ echo '# Notes'; cat "$work/log"; } > NOTES.md
