#!/bin/sh
# Runs the tests that take too long for every change. `make test-long` calls it, after it has built dist/ and installed
# what is needed. It generates new cases on each run, so a failure may be older than your change: the seed or the input
# that failed is in the output.
#   FUZZTIME   how long each fuzz test runs (20s)
#   ROUNDS     how often the packages with random tests and the tests of concurrency run (3)
set -eu
cd "$(dirname "$0")/../.."
mkdir -p build/.cache
go=${GO:-go}
TVMGO_DIST=${TVMGO_DIST:-$PWD/${DIST:-dist}}
export TVMGO_DIST
log=build/.cache/test-long.log
: >"$log"

step() { printf '\n== %s\n' "$*" | tee -a "$log"; }

# Runs a command and appends its output to the log. On failure prints what failed, and goes on with the next command.
failed=0
logged() {
  if "$@" >build/.cache/test-long.last 2>&1; then
    cat build/.cache/test-long.last >>"$log"
    return 0
  fi
  cat build/.cache/test-long.last >>"$log"
  awk -f build/scripts/failures.awk build/.cache/test-long.last
  printf 'failed: %s\n' "$*"
  failed=$((failed + 1))
}

step "fuzz tests, ${FUZZTIME:=20s} each"
fuzzed=0
for test in $(git grep -ohE '^func Fuzz[A-Za-z_0-9]+' -- '*_test.go' | sed 's/func //' | sort -u); do
  for file in $(git grep -lE "^func $test\(" -- '*_test.go'); do
    # an input that reaches new code is not made smaller: that takes up to a minute, in which no other one runs
    logged "$go" test -tags "$TAGS" -run '^$' -fuzz "^$test\$" -fuzztime "$FUZZTIME" -fuzzminimizetime 1x "./${file%/*}"
    fuzzed=$((fuzzed + 1))
  done
done
printf '%s fuzz tests ran\n' "$fuzzed"

step "packages with random tests, ${ROUNDS:=3} random seeds"
packages=$(git grep -l 'internal/testing/testseed"' -- '*_test.go' | sed 's|^|./|; s|/[^/]*$||' | sort -u)
rounds=$(seq "$ROUNDS") # ends the script if ROUNDS is no number
for round in $rounds; do
  # shellcheck disable=SC2086 # a list
  TVMGO_TEST_SEED=random logged "$go" test -tags "$TAGS" -v -count=1 -timeout 60m $packages
done

step "every case of operators, and hundreds of random schedules, on every device"
cases='OnDevices|^TestValues$|^TestOpen|^TestTensorCores$'
for package in ./te/ops ./te; do
  TVMGO_TEST_SEED=random TVMGO_TEST_ALL=1 \
    logged "$go" test -tags "$TAGS" -v -count=1 -timeout 120m -run "$cases" "$package"
done

step "every test of single operators in ONNX's wheel, on every device, and more random models"
TVMGO_TEST_ALL=1 logged "$go" test -tags "$TAGS" -v -count=1 -timeout 240m ./compile/conformance

step "100 000 requests of a server, with models that are loaded again"
TVMGO_TEST_ALL=1 logged "$go" test -tags "$TAGS" -v -count=1 -timeout 120m -run Load ./serve/daemon

step "kernels between guard pages, of every combination of sizes up to 40"
TVMGO_TEST_SEED=random TVMGO_TEST_ALL=1 \
  logged "$go" test -tags "$TAGS" -v -count=1 -timeout 120m -run 'TestGuarded|TestFast_Bytes' ./te/schedule/cpu

step "what needs no C, for every system"
TVMGO_TEST_ALL=1 logged "$go" test -count=1 -timeout 60m ./build/limits

step "C++ with every compiler, and the documents' commands that take minutes"
TVMGO_TEST_ALL=1 logged "$go" test -tags "$TAGS" -v -count=1 -timeout 60m -run 'TestHpp' ./capi
TVMGO_TEST_ALL=1 logged "$go" test -tags "$TAGS" -v -count=1 -timeout 60m -run 'Snippets' ./docs

step "CUDA drivers of several ages"
TVMGO_TEST_ALL=1 logged "$go" test -tags "$TAGS" -v -count=1 -timeout 60m -run 'TestOlderDrivers' ./runtime/cuda

step "memory of a model with 256 MiB of weights"
TVMGO_TEST_ALL=1 logged "$go" test -tags "$TAGS" -v -count=1 -run 'Constants_Memory' ./runtime/vm

step "figures of tvmgo bench beside those of clpeak"
TVMGO_TEST_ALL=1 logged "$go" test -tags "$TAGS" -v -count=1 -timeout 60m -run 'LikeClpeak|Assemble' ./bench/suite

step "a million calls of the virtual machine with changing shapes, also under sanitizers"
TVMGO_TEST_ALL=1 logged make core-test CORE_TESTS=vm_threads

step "tests of concurrency, $ROUNDS times"
logged "$go" test -tags "$TAGS" -count="$ROUNDS" -timeout 60m -run 'Hammer|Concurren|Threads|Parallel|Race|Goroutine' \
  ./runtime/... ./target/... ./export/... ./codegen/... ./cmd/...

step "what is shipped, and whether another folder gives the same bits"
logged env TVMGO_TEST_ALL=1 make --no-print-directory test-release

step "tests for arm64 under qemu-user"
logged make --no-print-directory test-arm64

step "every Go test with the race detector"
logged "$go" test -tags "$TAGS" -race -count=1 -timeout 60m ./...

step "summary"
printf '%s commands failed; the output: %s\n' "$failed" "$log"
[ "$failed" -eq 0 ]
