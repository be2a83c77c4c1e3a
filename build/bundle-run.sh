#!/bin/sh
# Runs the bundle on this machine: says which drivers there are, runs the tests, writes results to
# $OUT (default: results/ beside this file). Exits non-zero when a test failed, or when there is a driver that nothing can use.
#
# Drivers are looked for in $DRIVERS, folders with colons between them, then where the system has libraries. What is found of
# NVIDIA's OpenCL driver is told to the loader, unless drivers are registered already (/etc/OpenCL/vendors, OCL_ICD_VENDORS).
set -u
cd "$(dirname "$0")"
OUT=${OUT:-$PWD/results}
mkdir -p "$OUT"
export LD_LIBRARY_PATH="$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
failed=0

DRIVERS=${DRIVERS:-/usr/local/nvidia/lib64:/usr/local/nvidia/lib}

path_of() { # files to look for: prints the first that is there
  for f in "$@"; do
    IFS=:
    for dir in $DRIVERS /usr/lib/x86_64-linux-gnu /usr/lib64 /usr/lib; do
      unset IFS
      if [ -e "$dir/$f" ]; then
        printf '%s\n' "$dir/$f"
        return
      fi
    done
    unset IFS
  done
  return 1
}

found() { # name, files to look for
  name=$1
  shift
  printf '%s: %s\n' "$name" "$(path_of "$@" || echo 'not found')"
}

# The driver's own libraries lie beside it. A driver that is found has to work.
driver=
if [ -z "${OCL_ICD_VENDORS:-}" ] && ! ls /etc/OpenCL/vendors/*.icd >/dev/null 2>&1 && driver=$(path_of libnvidia-opencl.so.1); then
  mkdir -p "$OUT/vendors"
  printf '%s\n' "$driver" >"$OUT/vendors/nvidia.icd"
  export OCL_ICD_VENDORS="$OUT/vendors"
  export LD_LIBRARY_PATH="$LD_LIBRARY_PATH:$(dirname "$driver")"
fi
export TVMGO_CACHE_DIR="${TVMGO_CACHE_DIR:-$OUT/cache}"

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
  for dir in /usr/local/nvidia/share/vulkan/icd.d /usr/share/vulkan/icd.d /etc/vulkan/icd.d /etc/OpenCL/vendors ${OCL_ICD_VENDORS:+"$OCL_ICD_VENDORS"}; do
    if [ -d "$dir" ]; then printf 'drivers in %s: %s\n' "$dir" "$(ls "$dir" | tr '\n' ' ')"; fi
  done
  if command -v nvidia-smi >/dev/null 2>&1; then
    nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,clocks.mem --format=csv
  fi
} | tee "$OUT/machine.txt"

bin/tvmgo devices --json >"$OUT/devices.json" && cat "$OUT/devices.json" || failed=1

bin/tvmgo doctor | tee "$OUT/doctor.txt"
devices=$(bin/tvmgo devices | sed -n 's/^opencl:\([0-9]*\) .*/\1/p')
if [ -n "$driver" ] && [ -z "$devices" ]; then
  echo "FAIL OpenCL: the driver $driver is there, and no device"
  failed=1
fi
for id in $devices; do
  for file in tree/testdata/artifacts/*/gpu_opencl.so; do
    log="$OUT/opencl_$(basename "$(dirname "$file")")_$id.log"
    if bin/gpu_artifact_test "$file" tree/testdata/artifacts 4 "$id" addone vadd matmul >"$log" 2>&1 &&
      bin/tvmgo run "$file" vadd --device "opencl:$id" --in tree/testdata/artifacts/vadd_in0.npy \
        --in tree/testdata/artifacts/vadd_in1.npy --out "$OUT/vadd.npy" --like 'float32[1001]' --repeat 100 >>"$log" 2>&1 &&
      cmp -i 128 "$OUT/vadd.npy" tree/testdata/artifacts/vadd_out.npy >>"$log" 2>&1; then
      printf 'ok %s on opencl:%s: %s\n' "$file" "$id" "$(grep 'time of a call' "$log")"
    else
      printf 'FAIL %s on opencl:%s\n' "$file" "$id"
      tail -n 40 "$log"
      failed=1
    fi
  done
done

for suite in tree/*/suite.test tree/*/*/suite.test; do
  [ -x "$suite" ] || continue
  name=$(dirname "${suite#tree/}" | tr / _)
  if (cd "$(dirname "$suite")" && ./suite.test -test.v -test.short -test.timeout 5m) >"$OUT/$name.log" 2>&1; then
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
