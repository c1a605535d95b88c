#!/usr/bin/env bash
# Runs every fuzz target for FUZZTIME, one after another: go test -fuzz takes
# one target of one package at a time.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${FUZZTIME:-10s}
n=0
while IFS=: read -r file name; do
  pkg=./$(dirname "$file")
  echo "fuzz: $pkg $name ($time)"
  go test "$pkg" -run '^$' -fuzz "^$name\$" -fuzztime "$time"
  n=$((n + 1))
done < <(grep -rnoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . |
  sed -E 's|^\./||; s/:[0-9]+:func /:/' | sort)
echo "fuzz: $n targets, $time each"
((n > 0)) # none found means this script no longer finds them
