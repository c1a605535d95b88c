#!/usr/bin/env bash
# Runs every fuzz target for FUZZTIME, one after another: go test -fuzz takes
# one target of one package at a time.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${FUZZTIME:-10s}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

fuzz() { go test "$1" -run '^$' -fuzz "^$2\$" -fuzztime "$time" 2>&1 | tee "$log"; }

# On a busy machine go test at times reports the end of fuzztime itself as a
# failure, without a failing input. Only that is tried again, once.
ranOut() { grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input written' "$log"; }

n=0
while IFS=: read -r file name; do
  pkg=./$(dirname "$file")
  echo "fuzz: $pkg $name ($time)"
  if ! fuzz "$pkg" "$name"; then
    if ! ranOut; then
      sed -nE 's/.*Failing input written to (.*)/\1/p' "$log" | while read -r input; do
        echo "fuzz: the failing input, to be kept as $pkg/$input:"
        cat "$pkg/$input"
      done
      exit 1
    fi
    fuzz "$pkg" "$name"
  fi
  n=$((n + 1))
done < <(grep -rnoE --include='*_test.go' --exclude-dir=node_modules '^func Fuzz[A-Za-z0-9_]*' . |
  sed -E 's|^\./||; s/:[0-9]+:func /:/' | sort)
echo "fuzz: $n targets, $time each"
((n > 0)) # none found means this script no longer finds them
