#!/bin/sh
# Runs the bundle on this machine: says which drivers there are, runs the tests, writes results to
# $OUT (default: results/ beside this file). Exits non-zero when a test failed.
set -u
cd "$(dirname "$0")"
OUT=${OUT:-$PWD/results}
mkdir -p "$OUT"
export LD_LIBRARY_PATH="$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
failed=0

found() { # name, files to look for
  name=$1
  shift
  for f in "$@"; do
    for dir in /usr/local/nvidia/lib64 /usr/local/nvidia/lib /usr/lib/x86_64-linux-gnu /usr/lib64 /usr/lib; do
      if [ -e "$dir/$f" ]; then
        printf '%s: %s\n' "$name" "$dir/$f"
        return
      fi
    done
  done
  printf '%s: not found\n' "$name"
}

{
  printf 'date: %s\ncommit: %s\n' "$(date -u +%FT%TZ)" "$(cat commit.txt)"
  uname -srm
  grep -m 1 'model name' /proc/cpuinfo
  nproc
  found 'CUDA driver' libcuda.so.1
  found 'NVRTC' libnvrtc.so.13 libnvrtc.so.12 libnvrtc.so.11.2
  found 'OpenCL loader' libOpenCL.so.1
  found 'NVIDIA OpenCL' libnvidia-opencl.so.1
  found 'Vulkan loader' libvulkan.so.1
  for dir in /usr/local/nvidia/share/vulkan/icd.d /usr/share/vulkan/icd.d /etc/vulkan/icd.d /etc/OpenCL/vendors; do
    if [ -d "$dir" ]; then printf 'drivers in %s: %s\n' "$dir" "$(ls "$dir" | tr '\n' ' ')"; fi
  done
  if command -v nvidia-smi >/dev/null 2>&1; then
    nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,clocks.mem --format=csv
  fi
} | tee "$OUT/machine.txt"

bin/tvmgo devices --json >"$OUT/devices.json" && cat "$OUT/devices.json" || failed=1

for suite in tree/*/suite.test tree/*/*/suite.test; do
  [ -x "$suite" ] || continue
  name=$(dirname "${suite#tree/}" | tr / _)
  if (cd "$(dirname "$suite")" && ./suite.test -test.v -test.short) >"$OUT/$name.log" 2>&1; then
    printf 'ok %s: %s passed, %s skipped\n' "$name" "$(grep -c -- '--- PASS' "$OUT/$name.log")" \
      "$(grep -c -- '--- SKIP' "$OUT/$name.log")"
  else
    printf 'FAIL %s\n' "$name"
    grep -vE '^(=== |--- PASS|    --- PASS)' "$OUT/$name.log" | tail -n 40
    failed=1
  fi
done

if bin/deploy_c bin/add.so >"$OUT/deploy_c.txt" 2>&1; then cat "$OUT/deploy_c.txt"; else
  cat "$OUT/deploy_c.txt"
  failed=1
fi
exit "$failed"
