#!/bin/sh
# Every test, in the order of what fails soonest; called by `make test`, which has built dist/ and
# installed what is needed. Ends with what ran, what was skipped and why.
set -eu
cd "$(dirname "$0")/.."
log=build/.cache/go-test.log
mkdir -p build/.cache
go=${GO:-go}
TVMGO_DIST=${TVMGO_DIST:-$PWD/${DIST:-dist}}
export TVMGO_DIST

step() { printf '\n== %s\n' "$*"; }

step "format and vet"
bad=$(git ls-files '*.go' 2>/dev/null | xargs -r gofmt -l)
if [ -n "$bad" ]; then
  printf 'gofmt would change:\n%s\n' "$bad"
  exit 1
fi
"$go" build ./...
"$go" vet ./...

step "Go tests"
status=0
"$go" test -v -count=1 ./... >"$log" 2>&1 || status=$?
if [ "$status" -ne 0 ]; then
  grep -vE '^(=== |--- PASS|    --- PASS|PASS$|ok )' "$log" | tail -n 200
  exit "$status"
fi
grep -E '^ok ' "$log"

step "Go tests with the race detector"
"$go" test -race -count=1 ./runtime/... ./dlpack/... ./blob/... ./examples/... ./internal/inspect/... ./cmd/... 2>&1 | grep -v 'no test files'

step "benchmarks, once each"
"$go" test -run '^$' -bench . -benchtime 1x ./... 2>&1 | grep -E '^(ok|FAIL|---|panic|Benchmark)' | grep -v 'no test files'

step "C core under sanitizers"
core=build/.cache/core-test.log
"${MAKE:-make}" --no-print-directory core-test >"$core" 2>&1 || { tail -n 100 "$core"; exit 1; }
tail -n 1 "$core"

step "summary"
passed=$(grep -cE '^ *--- PASS' "$log" || true)
skipped=$(grep -cE '^ *--- SKIP' "$log" || true)
if [ "$skipped" -gt 0 ]; then
  grep -A 1 -E '^ *--- SKIP' "$log" | grep -v '^--$'
fi
printf '%s passed, 0 failed, %s skipped\n' "$passed" "$skipped"
