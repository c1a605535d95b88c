#!/usr/bin/env bash
# Runs the benchmarks and writes bench/RESULTS.md: machine, date, commit, and
# every figure as go test prints it. Ratios are figures of the benchmarks
# themselves (b.ReportMetric), so that both sides are measured in one run.
set -euo pipefail
cd "$(dirname "$0")/.."
out=bench/RESULTS.md
mkdir -p bench
tmp=$(mktemp)
trap 'rm -f "$tmp"' EXIT

pkgs=$(grep -rlE --include='*_test.go' '^func Benchmark' . | grep -v '^./bench/' | xargs -rn1 dirname | sort -u)
# shellcheck disable=SC2086 # one word per package
go test -run '^$' -bench . -benchmem -count "${COUNT:-3}" $pkgs | tee "$tmp" >&2

{
  echo "# Benchmark results"
  echo
  echo "Written by \`make bench\`; do not edit. Read figures of different machines as ratios only."
  echo
  echo "- date: $(date -u +%Y-%m-%d)"
  echo "- commit: $(git describe --tags --always --dirty)"
  echo "- go: $(go env GOVERSION) $(go env GOOS)/$(go env GOARCH)"
  echo "- cpu: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -1), $(getconf _NPROCESSORS_ONLN) cores"
  echo "- memory: $(awk '/MemTotal/ {printf "%.0f GiB", $2/1048576}' /proc/meminfo 2>/dev/null)"
  echo "- kernel: $(uname -sr)"
  echo
  echo '```'
  grep -E '^(pkg:|Benchmark)' "$tmp"
  echo '```'
} >"$out"
echo "wrote $out" >&2
