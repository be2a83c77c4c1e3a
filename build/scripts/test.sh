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
(unset CGO_CFLAGS && "$go" build ./... && "$go" vet ./... &&
  "$go" test ./runtime/cuda ./runtime/opencl ./internal/dl) # without tags, as in a fresh clone
"$go" vet -tags "$TAGS" ./...

step "Go tests"
# The package that takes longest comes first, so that the others run beside it.
logged "$log" "$go" test -tags "$TAGS" -v -count=1 -timeout 60m ./te/ops ./...
grep -E '^ok ' "$log"

step "Go tests with the race detector"
race=build/.cache/race-test.log
# Skipped here are tests that repeat a whole suite in another configuration or with each call failing, comparisons and
# counts on one goroutine, and tests of compilers and other processes, which the detector does not observe. They have
# run above. Packages without goroutines are left to make test-long, too.
again='TestVerify_Endless|TestRun_(Artifacts|Cpp|ModuleRefusesArguments|OpenCL)|TestInspectLoad_.*|TestDoctor_.*'
again="$again|TestBuild_(EmitLLVM|RandomLikeInterpreter|DeepIsLinear|Split.*)|TestCblas_.*|TestValidated"
again="$again|TestOlderDrivers|TestPooledDescriptors|TestEveryCall(MayFail|Fails|Fails_Kernels)"
again="$again|TestArtifacts_EveryCallFails|TestFlight_IsBounded|TestSchema_Agrees.*|TestWheel_.*"
again="$again|TestSign_GenerateEncrypted|TestTriton|TestKServe|TestPage_.*|TestHandler_PageInBrowser"
logged "$race" "$go" test -skip "^($again)\$" -tags "$TAGS" -race -count=1 -timeout 30m \
  ./runtime/... ./dlpack/... ./export/... ./examples/... ./internal/nvrtc/... ./internal/diskcache/... ./target/... \
  ./internal/testing/byoctest/... ./codegen ./cmd/... ./serve/...
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
if [ "$skipped" -gt 0 ]; then
  grep -A 1 -E '^ *--- SKIP' "$log" | grep -v '^--$'
fi
printf '%s passed, 0 failed, %s skipped\n' "$passed" "$skipped"
