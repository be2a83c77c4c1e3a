#!/bin/sh
# Runs tests for arm64, under qemu-user: the C core, packages in Go, libraries and models that Apache TVM exported for
# arm64, code with scalable vectors (SVE) of several lengths, the library, a C program and the command line. At the end
# it prints the skipped tests with their reasons.
#
#   TAGS=… build/scripts/test-arm64.sh         what `make test-arm64` runs: two to three hours
#   TAGS=… build/scripts/test-arm64.sh short   what is part of `make test`: about two minutes
#
# Tests that need x86, such as those with libraries in testdata/artifacts, skip themselves (internal/testing/machine).
set -eu
cd "$(dirname "$0")/../.."
log=build/.cache/arm64/test.log
mkdir -p build/.cache/arm64
: >"$log"
arm64() { sh build/scripts/arm64.sh "$@"; }
failed=0
logged() {
  printf '== %s\n' "$*" >>"$log"
  if "$@" >build/.cache/arm64/last.log 2>&1; then
    cat build/.cache/arm64/last.log >>"$log"
    return 0
  fi
  cat build/.cache/arm64/last.log >>"$log"
  grep -vE '^(=== | *--- PASS|PASS$|ok )' build/.cache/arm64/last.log | tail -n 60
  printf 'failed: %s\n' "$*"
  failed=$((failed + 1))
}

# The code of generators on a CPU without SVE, and with vectors of these lengths in bytes.
vectors() {
  suite=build/.cache/arm64/llvm.test
  logged arm64 "${GO:-go}" test -c -o "$suite" ./codegen/llvm
  for bytes in 0 "$@"; do
    cpu=cortex-a72
    if [ "$bytes" -gt 0 ]; then cpu=max,sve-default-vector-length=$bytes; fi
    logged arm64 env TVMGO_TEST_SVE="$bytes" QEMU_CPU="$cpu" sh -c \
      "cd codegen/llvm && ../../$suite -test.v -test.run TestScalable"
  done
}

if [ "${1:-}" = short ]; then
  if [ -z "${CI:-}" ] && ! arm64 true; then
    echo "skipped: this machine cannot run programs for arm64"
    exit 0
  fi
  logged arm64 make --no-print-directory core-test CORE_TEST_KINDS=plain \
    CORE_TESTS='image mapping constants parallel_test object_test'
  logged arm64 "${GO:-go}" test -vet=off -count=1 ./internal/cpufeatures -run 'CPUOf|Host|Triple|Arm'
  logged arm64 "${GO:-go}" test -vet=off -count=1 ./runtime -run 'TestWheelMachine'
  vectors 16 64
else
  unset CI # where missing devices are failures; there are no drivers for arm64
  dist=$PWD/build/.cache/arm64/dist
  logged arm64 make --no-print-directory dist DIST="$dist"

  # Each prints the tests that it cannot run here. Forks of processes with threads are beyond qemu-user.
  logged arm64 make --no-print-directory core-test CORE_TEST_KINDS=plain CORE_TEST_TIMEOUT=3000 \
    CORE_TESTS='image mapping module_test constants cpu_notes trust parallel team device_test object container map list
    hash function call_result bridge graph validate'
  for cpu in cortex-a72 neoverse-n1 max,sve=off; do # with other instructions
    logged arm64 env QEMU_CPU=$cpu make --no-print-directory core-test CORE_TEST_KINDS=plain CORE_TESTS=cpu_notes
  done
  vectors 16 32 64 128 256

  # All packages but those that have tests of documents, of this folder and of benchmarks, and but the operators, whose
  # cases alone run: without a schedule by the interpreter, and with that of a CPU as code for arm64.
  packages=$("${GO:-go}" list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' -tags "$TAGS" ./... |
    grep -vE '^tvmgo/(docs|build|bench|te/ops|compile/conformance)(/|$)')
  # shellcheck disable=SC2086 # a list
  logged arm64 env TVMGO_DIST="$dist" "${GO:-go}" test -tags "$TAGS" -vet=off -v -count=1 -timeout 120m $packages
  logged arm64 "${GO:-go}" test -tags "$TAGS" -vet=off -v -count=1 -timeout 120m -run '^TestValues$' ./te/ops
  # Libraries on systems with larger pages.
  for bytes in 16384 65536; do
    logged arm64 env QEMU_PAGESIZE=$bytes "${GO:-go}" test -vet=off -count=1 ./runtime -run TestWheelMachine
  done

  # A C program and the command line.
  logged arm64 cc -O2 -I "$dist/include" examples/deploy_c/main.c -L "$dist/lib" -ltvmgo -lm \
    -o build/.cache/arm64/deploy
  cat >build/.cache/arm64/add.tir <<'EOF'
func add(a_handle: handle, b_handle: handle, c_handle: handle) {
  var n: int64
  buffer a: float32[n], param a_handle
  buffer b: float32[n], param b_handle
  buffer c: float32[n], param c_handle
  for i in range(n) {
    c[i] = a[i] + b[i]
  }
}
EOF
  for target in c llvm; do
    made=build/.cache/arm64/$target.so
    logged arm64 "$dist/bin/tvmgo" build build/.cache/arm64/add.tir --target $target -o $made
    logged arm64 env LD_LIBRARY_PATH="$dist/lib" build/.cache/arm64/deploy $made add
  done
  awk -f build/scripts/skipped.awk "$log"
fi
grep -cE '^(ok |--- PASS)' "$log" | sed 's/$/ tests and packages passed for arm64/'
[ "$failed" -eq 0 ]
