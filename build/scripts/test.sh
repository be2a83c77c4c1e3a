#!/bin/sh
# Runs every test; the steps that find mistakes fastest come first. `make test` calls it after it has built dist/ and
# installed what the tests need. At the end it prints the skipped tests with their reasons and the number of tests that
# passed.
set -eu
cd "$(dirname "$0")/../.."
log=build/.cache/go-test.log
mkdir -p build/.cache
go=${GO:-go}
TVMGO_DIST=${TVMGO_DIST:-$PWD/${DIST:-dist}}
export TVMGO_DIST
export GOGC="${GOGC:-300}" # the compiler and the tests collect garbage less often: a tenth of the time

began=$(date +%s)
step() { printf '\n== %s (after %s minutes)\n' "$*" "$((($(date +%s) - began) / 60))"; }

# Runs a command and writes its output to a log. On failure prints the end of the log without passed tests, and then one
# line for each failed test.
logged() {
  file=$1
  shift
  if "$@" >"$file" 2>&1; then return 0; fi
  grep -vE '^(=== | *--- PASS|PASS$|ok )' "$file" | tail -n 200
  awk -f build/scripts/failures.awk "$file"
  printf '%s failed; all of its output: %s\n' "$*" "$file"
  exit 1
}

step "format and vet"
bad=$(git ls-files '*.go' 2>/dev/null | xargs -r gofmt -l)
if [ -n "$bad" ]; then
  printf 'gofmt would change:\n%s\n' "$bad"
  exit 1
fi
# Without tags and flags, as in a fresh clone: the program, and the packages with files for absent tags.
untagged=$(git grep -lE '^//go:build.*!(cuda|opencl)' -- '*.go' | sed 's|^|./|; s|/[^/]*$||' | sort -u)
# shellcheck disable=SC2086 # a list
(unset CGO_CFLAGS && "$go" build -o /dev/null ./cmd/tvmgo && "$go" vet $untagged &&
  "$go" test ./runtime/cuda ./runtime/opencl ./internal/dl)
"$go" vet -tags "$TAGS" ./...

step "Go tests"
# The package that takes longest comes first, so that the others run beside it.
logged "$log" "$go" test -tags "$TAGS" -vet=off -v -count=1 -timeout 60m ./te/ops ./...
grep -E '^ok ' "$log"

step "Go tests with the race detector"
race=build/.cache/race-test.log
# The tests of concurrency, and all tests of what serves requests and of the caches that processes share. The detector
# makes other tests slow and sees one goroutine in them; make test-long runs all of them with it.
concurrent='Hammer|Concurren|Threads|Goroutine|AtOnce|Parallel|Stream'
processes='TestTriton|TestKServe|TestPage_.*|TestHandler_PageInBrowser'
logged "$race" "$go" test -run "$concurrent" -tags "$TAGS" -race -vet=off -count=1 -timeout 60m \
  ./runtime/... ./dlpack ./export ./target/... ./codegen ./codegen/llvm ./internal/nvrtc ./internal/cpufeatures \
  ./internal/tagdata ./internal/modelcall
grep -E '^ok .*s$' "$race"
logged "$race" "$go" test -skip "^($processes)\$" -tags "$TAGS" -race -vet=off -count=1 -timeout 60m \
  ./serve/... ./internal/diskcache
grep -E '^ok ' "$race"

step "benchmarks, once each"
once=build/.cache/bench-once.log
logged "$once" "${MAKE:-make}" --no-print-directory bench-once
printf '%s benchmarks ran\n' "$(grep -cE '^Benchmark' "$once")"

step "C core under sanitizers"
core=build/.cache/core-test.log
logged "$core" "${MAKE:-make}" --no-print-directory core-test
tail -n 1 "$core"

step "arm64 under qemu-user"
sh build/scripts/test-arm64.sh short

step "summary"
passed=$(grep -cE '^ *--- PASS' "$log" || true)
skipped=$(grep -cE '^ *--- SKIP' "$log" || true)
awk -f build/scripts/skipped.awk "$log"
printf '%s passed, 0 failed, %s skipped\n' "$passed" "$skipped"
