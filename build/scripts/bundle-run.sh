#!/bin/sh
# Tests tvmgo on this machine: lists the drivers, runs the tests, compares with direct use of the CUDA driver, and
# measures generated kernels and the suites of tvmgo bench. The results, with summary.txt, cuda.json, kernels_*.json and
# bench.json, are in $OUT (default: results/ beside this file). The exit status is 1 if a test failed, or if a driver
# was found but has no usable device.
# Tests that cannot run because a driver or a compiler is missing are listed as not measured.
#
# The script looks for drivers in $DRIVERS, a list of folders separated by colons, and then in the system's folders of
# libraries. It registers NVIDIA's drivers for OpenCL and Vulkan with the loaders, unless drivers are registered already
# (/etc/OpenCL/vendors, OCL_ICD_VENDORS; /etc/vulkan/icd.d, /usr/share/vulkan/icd.d, VK_DRIVER_FILES).
# TVMGO_CUDA_LIBRARY names another CUDA driver; CARD_FLAGS has options of bin/cuda_card, such as --quick; CUBLAS_LIBRARY
# names cuBLAS where the linker does not find it. To try the kernels on drivers for the CPU, KERNELS is a folder that
# `measure -gpu -quarter 4 -write` made, and KERNEL_FLAGS is -quarter 4.
# BENCH_SUITE and BENCH_TIME are --suite and --time of tvmgo bench.
set -u
cd "$(dirname "$0")"
OUT=${OUT:-$PWD/results}
mkdir -p "$OUT"
export LD_LIBRARY_PATH="$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
failed=0
: >"$OUT/summary.txt"

# Holds programs and libraries while they are decompressed.
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
for name in tvmgo measure; do
  xz -dc "bin/$name.xz" >"$work/$name" && chmod +x "$work/$name" || exit 1
done
mkdir "$work/lib"
for packed in lib/libtvmgo.so.*.xz; do
  library=${packed##*/}
  xz -dc "$packed" >"$work/lib/${library%.xz}" || exit 1
  ln -s "${library%.xz}" "$work/lib/libtvmgo.so.0"
done
export LD_LIBRARY_PATH="$work/lib:$LD_LIBRARY_PATH"

say() { printf '%s\n' "$*" | tee -a "$OUT/summary.txt"; }
fail() { # what failed, and a log whose end is printed
  say "FAIL $1"
  failed=1
  if [ $# -gt 1 ]; then tail -n 40 "$2"; fi
}

DRIVERS=${DRIVERS:-/usr/local/nvidia/lib64:/usr/local/nvidia/lib}

path_of() { # names of files: prints the path of the first that exists
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

found() { # name, names of files
  name=$1
  shift
  printf '%s: %s\n' "$name" "$(path_of "$@" || echo 'not found')"
}

# The driver's other libraries are in the same folder. If there is a driver, it has to work.
driver=
if [ -z "${OCL_ICD_VENDORS:-}" ] && ! ls /etc/OpenCL/vendors/*.icd >/dev/null 2>&1 &&
  driver=$(path_of libnvidia-opencl.so.1); then
  mkdir -p "$OUT/vendors"
  printf '%s\n' "$driver" >"$OUT/vendors/nvidia.icd"
  export OCL_ICD_VENDORS="$OUT/vendors"
  export LD_LIBRARY_PATH="$LD_LIBRARY_PATH:$(dirname "$driver")"
fi
vulkan= # the file that describes the driver; its folder is beside that of the libraries
if [ -z "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ] &&
  ! ls /etc/vulkan/icd.d/*.json /usr/share/vulkan/icd.d/*.json >/dev/null 2>&1; then
  for dir in $(printf '%s' "$DRIVERS" | tr : ' '); do
    for file in "$dir"/../share/vulkan/icd.d/*.json; do
      if [ -z "$vulkan" ] && [ -e "$file" ]; then vulkan=$file; fi
    done
  done
  if [ -n "$vulkan" ]; then
    export VK_DRIVER_FILES="$vulkan" VK_ICD_FILENAMES="$vulkan" # newer loaders read the first, older ones the second
    case ":$LD_LIBRARY_PATH:" in *":${DRIVERS%%:*}:"*) ;; *) export LD_LIBRARY_PATH="$LD_LIBRARY_PATH:$DRIVERS" ;; esac
  fi
fi
cuda=${TVMGO_CUDA_LIBRARY:-}
if [ -z "$cuda" ] && cuda=$(path_of libcuda.so.1); then
  case ":$LD_LIBRARY_PATH:" in
    *":$(dirname "$cuda"):"*) ;;
    *) export LD_LIBRARY_PATH="$LD_LIBRARY_PATH:$(dirname "$cuda")" ;;
  esac
fi
export TVMGO_CACHE_DIR="${TVMGO_CACHE_DIR:-$work/cache}"

nvrtc=
if [ -d nvrtc ] && [ -z "${TVMGO_NVRTC:-}" ]; then
  nvrtc=$work/nvrtc
  mkdir "$nvrtc"
  for f in nvrtc/*.gz; do
    name=${f##*/}
    gzip -dc "$f" >"$nvrtc/${name%.gz}" || fail "unpack $f"
  done
  export TVMGO_NVRTC="$nvrtc" # NVRTC finds its builtins in the same folder
fi

{
  printf 'date: %s\ncommit: %s\n' "$(date -u +%FT%TZ)" "$(cat commit.txt)"
  uname -srm
  grep -m 1 'model name' /proc/cpuinfo
  nproc
  found 'CUDA driver' libcuda.so.1
  if [ -n "$nvrtc" ]; then
    echo 'NVRTC: from the bundle'
  else
    found 'NVRTC' libnvrtc.so.13 libnvrtc.so.12 libnvrtc.so.11.2
  fi
  found 'OpenCL loader' libOpenCL.so.1
  found 'NVIDIA OpenCL' libnvidia-opencl.so.1
  found 'Vulkan loader' libvulkan.so.1
  for dir in /usr/local/nvidia/share/vulkan/icd.d /usr/share/vulkan/icd.d /etc/vulkan/icd.d \
    /etc/OpenCL/vendors ${OCL_ICD_VENDORS:+"$OCL_ICD_VENDORS"}; do
    if [ -d "$dir" ]; then printf 'drivers in %s: %s\n' "$dir" "$(ls "$dir" | tr '\n' ' ')"; fi
  done
  if command -v nvidia-smi >/dev/null 2>&1; then
    nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,clocks.mem --format=csv
  fi
} | tee "$OUT/machine.txt"

if "$work/tvmgo" devices --json >"$OUT/devices.json"; then cat "$OUT/devices.json"; else fail 'tvmgo devices --json'; fi
if "$work/tvmgo" doctor >"$OUT/doctor.txt"; then cat "$OUT/doctor.txt"; else fail 'tvmgo doctor' "$OUT/doctor.txt"; fi
"$work/tvmgo" devices >"$work/devices.txt"

devices_of() { # type: prints the indices of its usable devices
  sed -n "/ absent: /d; s/^$1:\([0-9]*\) .*/\1/p" "$work/devices.txt"
}

# try_artifact FILE TYPE NUMBER INDEX runs a module of Apache TVM on a device, by both ABIs and by the command line.
try_artifact() {
  log="$OUT/$2_$(basename "$(dirname "$1")")_$(basename "$1" .so)_$4.log"
  if bin/gpu_artifact_test "$1" tree/testdata/artifacts "$3" "$4" addone vadd matmul >"$log" 2>&1 &&
    "$work/tvmgo" run "$1" vadd --device "$2:$4" --in tree/testdata/artifacts/vadd_in0.npy \
      --in tree/testdata/artifacts/vadd_in1.npy \
      --out "$work/vadd.npy" --like 'float32[1001]' --repeat 100 >>"$log" 2>&1 &&
    cmp -i 128 "$work/vadd.npy" tree/testdata/artifacts/vadd_out.npy >>"$log" 2>&1; then
    say "ok $1 on $2:$4: $(grep 'time of a call' "$log")"
  elif [ -z "$nvrtc" ] && grep -q 'NVRTC is not usable' "$log"; then
    say "not measured: $1 on $2:$4: it contains source code, and this machine has no NVRTC"
  elif grep -q 'no headers of CUDA were found' "$log"; then
    say "not measured: $1 on $2:$4: it contains source code, and NVRTC has no CUDA headers"
  else
    fail "$1 on $2:$4" "$log"
  fi
}

if [ -n "$driver" ] && [ -z "$(devices_of opencl)" ]; then fail "OpenCL: there is a driver, $driver, but no device"; fi
for id in $(devices_of opencl); do
  for file in tree/testdata/artifacts/*/gpu_opencl.so; do try_artifact "$file" opencl 4 "$id"; done
done
if [ -z "$(devices_of opencl)" ]; then say 'not measured: OpenCL: there is no device'; fi

if [ -z "$cuda" ]; then
  say "not measured: CUDA: there is no libcuda.so.1 in $DRIVERS or in the system's folders of libraries"
elif [ -z "$(devices_of cuda)" ]; then
  fail "CUDA: there is a driver, $cuda, but no usable device" "$OUT/doctor.txt"
elif grep -q '^cuda[a-z_]*:[0-9]* *absent: ' "$work/devices.txt"; then
  fail "CUDA: $(grep -m 1 '^cuda[a-z_]*:[0-9]* *absent: ' "$work/devices.txt")"
fi
for id in $(devices_of cuda); do
  for file in tree/testdata/artifacts/*/gpu_cuda*.so; do try_artifact "$file" cuda 2 "$id"; done
done

if [ -n "$vulkan" ] && [ -z "$(devices_of vulkan)" ]; then
  fail "Vulkan: there is a driver, $vulkan, but no usable device" "$OUT/doctor.txt"
elif [ -z "$(devices_of vulkan)" ]; then
  say 'not measured: Vulkan: there is no device'
fi

# A kernel for every kind of device, from C and from the command line.
for type in cuda opencl vulkan; do
  for id in $(devices_of "$type"); do
    log="$OUT/gpu_$type$id.log"
    if bin/deploy_c bin/gpu.so add 32768 "$type:$id" >"$log" 2>&1 &&
      "$work/tvmgo" run bin/gpu.so add --device "$type:$id" --in tree/testdata/artifacts/vadd_in0.npy \
        --in tree/testdata/artifacts/vadd_in1.npy \
        --out "$work/add.npy" --like 'float32[1001]' --repeat 100 >>"$log" 2>&1 &&
      cmp -i 128 "$work/add.npy" tree/testdata/artifacts/vadd_out.npy >>"$log" 2>&1; then
      say "ok gpu.so on $type:$id: $(grep -m 1 'time of a call' "$log")"
    else
      fail "gpu.so on $type:$id" "$log"
    fi
  done
done

for packed in tree/*/suite.test.xz tree/*/*/suite.test.xz; do
  folder=$(dirname "$packed")
  name=$(printf '%s' "${folder#tree/}" | tr / _)
  if { [ "$name" = runtime_cuda ] && [ -z "$(devices_of cuda)" ]; } ||
    { [ "$name" = runtime_vulkan ] && [ -z "$(devices_of vulkan)" ]; }; then
    say "not measured: $name: there is no device"
    continue
  fi
  # The tests of CUDA use the GPU's driver, never the fake driver.
  library=${TVMGO_CUDA_LIBRARY:-}
  if [ "$name" = runtime_cuda ]; then library=$cuda; fi
  if ! xz -dc "$packed" >"$work/$name.test" || ! chmod +x "$work/$name.test"; then
    fail "unpack $packed"
  elif (cd "$folder" && TVMGO_CUDA_LIBRARY=$library "$work/$name.test" -test.v -test.short -test.timeout 8m) \
    >"$OUT/$name.log" 2>&1; then
    say "ok $name: $(grep -c -- '--- PASS' "$OUT/$name.log") passed, $(grep -c -- '--- SKIP' "$OUT/$name.log") skipped"
  else
    grep -vE '^(=== |--- PASS|    --- PASS)' "$OUT/$name.log" >"$work/$name.log"
    fail "$name" "$work/$name.log"
  fi
  rm -f "$work/$name.test"
done

if bin/deploy_c bin/add.so >"$OUT/deploy_c.txt" 2>&1; then say 'ok deploy_c'; else fail deploy_c "$OUT/deploy_c.txt"; fi
# one library with variants for every kind of device, on every device
if bin/fat_c bin/fat.so >"$OUT/fat_c.txt" 2>&1; then
  say "ok fat_c: $(grep -c 'as on the CPU' "$OUT/fat_c.txt") devices have the same results"
else
  fail fat_c "$OUT/fat_c.txt"
fi

# ONNX's tests of single operators, compiled for the first device of each kind. Those of known.txt do not pass anywhere.
if command -v cc >/dev/null && tar xJf onnx-node-tests.tar.xz -C "$work"; then
  for type in cuda opencl vulkan; do
    if [ -z "$(devices_of "$type")" ]; then
      say "not measured: ONNX on $type: there is no device"
      continue
    fi
    log="$OUT/onnx_$type.txt"
    case $type in
      cuda) target="cuda -arch=$("$work/tvmgo" devices | sed -n 's/^ *arch  *\(sm_[0-9a-z]*\).*/\1/p' | head -n 1)" ;;
      vulkan) target='vulkan -from_device=0' ;;
      *) target=$type ;;
    esac
    "$work/tvmgo" check "$work/node" --target "$target" >"$log" 2>&1
    sed -n 's/^FAIL \([^:]*\):.*/\1/p' "$log" | grep -vxF -f onnx-known.txt >"$work/new.txt"
    if grep -q '^ok ' "$log" && [ ! -s "$work/new.txt" ]; then
      say "ok ONNX on $type: $(tail -n 2 "$log" | grep passed)"
    else
      fail "ONNX on $type: $(tail -n 1 "$log"): $(head -n 20 "$work/new.txt" | tr '\n' ' ')"
    fi
  done
else
  say 'not measured: ONNX: there is no C compiler, or no xz'
fi

# Generated kernels against copies of the device and cuBLAS, on the first device of each kind.
for type in cuda opencl vulkan; do
  if [ -z "$(devices_of "$type")" ]; then
    say "not measured: kernels on $type: there is no device"
    continue
  fi
  result="$OUT/kernels_$type"
  if "$work/measure" -gpu -on "$type" -from "${KERNELS:-kernels}" -json "$result.json" -svg "$result.svg" \
    ${KERNEL_FLAGS:-} >"$result.txt" 2>"$result.log"; then
    say "ok kernels on $type"
  elif grep -q 'is a CPU' "$result.log"; then
    say "not measured: kernels on $type: $(tail -n 1 "$result.log")"
  else
    fail "kernels on $type" "$result.log"
  fi
  sed 's/^/  /' "$result.txt" | tee -a "$OUT/summary.txt"
done

# The suites of tvmgo bench, on the first device of each kind in the same rounds.
compare=
for type in cuda opencl vulkan; do
  for id in $(devices_of "$type" | head -n 1); do compare="$compare${compare:+,}$type:$id"; done
done
if [ -z "$compare" ]; then
  say 'not measured: tvmgo bench: there is no device'
else
  "$work/tvmgo" bench --suite "${BENCH_SUITE:-all}" --compare "$compare" --time "${BENCH_TIME:-6m}" --timeout 1m -v \
    -o "$OUT/bench.json" -o "$OUT/bench.md" >"$OUT/bench.txt" 2>"$OUT/bench.log"
  status=$? # 1: rows have failed, and the report says which
  if [ "$status" = 0 ]; then
    say "ok tvmgo bench on $compare"
  elif [ "$status" = 1 ] && [ -s "$OUT/bench.json" ]; then
    fail "tvmgo bench on $compare: $(tail -n 1 "$OUT/bench.log")"
  else
    fail "tvmgo bench on $compare" "$OUT/bench.log"
  fi
fi

# One result, of the first device. A missed target is reported, but is not a failure.
if [ -z "$(devices_of cuda)" ]; then
  say 'not measured: cuda_card: there is no device'
elif bin/cuda_card ${CARD_FLAGS:-} --json "$OUT/cuda.json" tree/bench/card \
    tree/testdata/artifacts/classic/gpu_cuda.so >"$OUT/cuda_card.log" 2>&1; then
  say 'ok cuda_card'
  fields='"name": "\([^"]*\)", "unit": "\([^"]*\)", "ours": \([^,]*\),.* "raw": \([^,}]*\),.* "met": \([a-z]*\)'
  sed -n "s/.*$fields.*/  \\1: \\3 \\2, by the driver \\4, target met: \\5/p" "$OUT/cuda.json" |
    sed 's/, target met: null//' | tee -a "$OUT/summary.txt"
else
  fail cuda_card "$OUT/cuda_card.log"
fi

printf '\n== summary\n'
cat "$OUT/summary.txt"
if [ "$failed" = 0 ]; then echo 'no failures'; else echo "$(grep -c '^FAIL' "$OUT/summary.txt") failed"; fi
exit "$failed"
