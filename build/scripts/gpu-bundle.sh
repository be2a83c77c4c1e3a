#!/bin/sh
# Writes a folder with everything that is needed to test on a machine with a GPU: test programs, the command line, a C
# program, artifacts and run.sh. That machine needs no Go, no compiler and no network.
#
# The folder has the loaders of OpenCL, Vulkan and EGL (libOpenCL.so.1, libvulkan.so.1, libEGL.so.1) from Debian's
# packages; the machine has to have the drivers. Go programs are compressed with xz. The folder also has NVRTC from
# NVIDIA's wheel, compressed, if the size stays within LIMIT_MIB (60); otherwise run.sh uses the NVRTC of the machine.
#
#   build/scripts/gpu-bundle.sh FOLDER     `make gpu-bundle` calls it with TAGS and CGO_CFLAGS
set -eu
cd "$(dirname "$0")/../.."
out=${1:?usage: gpu-bundle.sh FOLDER}
go=${GO:-go}
dist=${DIST:-dist}

rm -rf "$out"
mkdir -p "$out/bin" "$out/lib" "$out/tree"

# Test programs run in a folder with the name of their package, which has its testdata.
for pkg in dlpack blob runtime runtime/cuda runtime/opencl runtime/vulkan \
  internal/dl internal/inspect internal/nvrtc; do
  mkdir -p "$out/tree/$pkg"
  "$go" test -c ${TAGS:+-tags "$TAGS"} -trimpath -ldflags='-s -w' -o "$out/tree/$pkg/suite.test" "./$pkg"
  xz -T0 "$out/tree/$pkg/suite.test"
  if [ -d "$pkg/testdata" ]; then cp -r "$pkg/testdata" "$out/tree/$pkg/"; fi
done
cp -r testdata include "$out/tree/"  # tests that compile their own modules use the headers
# sources that tests read
cp --parents dlpack/devicetable.go examples/hello_device/device.go examples/kernel/add.spv* "$out/tree/"
cp -P "$dist"/lib/libtvmgo.so* "$out/lib/"
cp "$dist/bin/tvmgo" "$out/bin/"
cc -O2 -I"$dist/include" examples/deploy_c/main.c -L"$dist/lib" -ltvmgo -Wl,-rpath,'$ORIGIN/../lib' \
  -o "$out/bin/deploy_c"
cc -O2 -fPIC -shared -I"$dist/include" examples/kernel/add.c -o "$out/bin/add.so"
cc -O2 -I"$dist/include" examples/deploy_fat/run/fat.c -L"$dist/lib" -ltvmgo -Wl,-rpath,'$ORIGIN/../lib' -lm \
  -o "$out/bin/fat_c"
"$go" run ${TAGS:+-tags "$TAGS"} ./examples/deploy_fat -o "$out/bin/fat.so" # for every kind of device
cc -std=gnu11 -O2 -I"$dist/include" capi/testdata/gpu_artifact_test.c -L"$dist/lib" -ltvmgo \
  -Wl,-rpath,'$ORIGIN/../lib' -pthread -o "$out/bin/gpu_artifact_test"

# The comparison with direct use of the CUDA driver, and its kernels.
cc -std=c11 -D_GNU_SOURCE -O2 -Ibuild/include -I"$dist/include" bench/card/*.c -L"$dist/lib" -ltvmgo \
  -Wl,-rpath,'$ORIGIN/../lib' -ldl -lm -o "$out/bin/cuda_card"
mkdir -p "$out/tree/bench/card"
cp bench/card/kernels.* "$out/tree/bench/card/"

# Kernels of te/ops for every kind of device, and what measures them (bench/kernels).
"$go" build ${TAGS:+-tags "$TAGS"} -trimpath -ldflags='-s -w' -o "$out/bin/measure" ./bench/kernels/measure
mkdir -p "$out/kernels"
gpu='-max_threads_per_block=1024 -max_num_threads=1024 -max_shared_memory_per_block=49152 -thread_warp_size=32'
for targets in 'cuda -arch=sm_75; cuda -arch=sm_80; nvidia/h100; cuda -arch=sm_100; cuda -arch=sm_120' \
  "opencl $gpu" "vulkan $gpu -supports_float16=1 -supports_16bit_buffer=1 -supports_storage_buffer_storage_class=1"; do
  "$out/bin/measure" -gpu -write "$out/kernels" -target "$targets"
done

# A kernel for every kind of device.
"$dist/bin/tvmgo" pack examples/kernel/add.cl examples/kernel/add.ptx examples/kernel/add.spv -o "$out/bin/gpu.so" \
  --func 'add(a: const float32[n], b: const float32[n], c: out float32[n]) launch blockIdx.x=n'

# Programs and the library are compressed, too.
xz -T0 "$out/bin/tvmgo" "$out/bin/measure"
for f in "$out"/lib/libtvmgo.so*; do
  if [ -L "$f" ]; then rm "$f"; else xz -T0 "$f"; fi
done

# ONNX's tests of single operators, which a machine with a C compiler compiles for its GPU.
nodes=$(ls -d build/.cache/venv/lib/python3*/site-packages/onnx/backend/test/data/node)
tar cJf "$out/onnx-node-tests.tar.xz" -C "${nodes%/*}" node
sed -n 's/^\t\(test_[A-Za-z0-9_]*\).*/\1/p' compile/conformance/testdata/node.txt >"$out/onnx-known.txt"

# The loaders and their licences. Without a display, NVIDIA's driver of Vulkan needs libEGL.
for loader in libOpenCL.so.1:ocl-icd-libopencl1 libvulkan.so.1:libvulkan1 \
  libEGL.so.1:libegl1 libGLdispatch.so.0:libglvnd0; do
  name=${loader%:*} package=${loader#*:}
  file=$(cc -print-file-name="$name")
  [ -e "$file" ] || { echo "gpu-bundle: there is no $name: run build/scripts/deps.sh (Debian: $package)" >&2; exit 1; }
  cp -L "$file" "$out/lib/$name"
  cp "/usr/share/doc/$package/copyright" "$out/lib/${name%.so.*}.copyright" 2>/dev/null || true
done
"$go" version >"$out/built-with.txt"
git rev-parse HEAD >"$out/commit.txt" 2>/dev/null || echo unknown >"$out/commit.txt"
cp build/scripts/bundle-run.sh "$out/run.sh"
chmod +x "$out/run.sh"

limit=${LIMIT_MIB:-60}
size_of() { du -sm "$1" | cut -f1; }

# NVRTC and its licence.
nvrtc=$(ls build/.cache/venv/lib/python3*/site-packages/nvidia/cu13/lib/libnvrtc.so.13)
mkdir -p "$out/nvrtc"
for f in "$nvrtc" "${nvrtc%/*}"/libnvrtc-builtins.so.13*; do
  gzip -9 -c "$f" >"$out/nvrtc/${f##*/}.gz"
done
cp "${nvrtc%/nvidia/*}"/nvidia_cuda_nvrtc-*.dist-info/licenses/* "$out/nvrtc/"
if [ "$(size_of "$out")" -le "$limit" ]; then
  echo "NVRTC: $(size_of "$out/nvrtc") MiB of the bundle"
else
  echo "NVRTC: not included: with its $(size_of "$out/nvrtc") MiB the bundle would have $(size_of "$out") MiB"
  rm -r "$out/nvrtc"
fi

size=$(size_of "$out")
echo "$out: $size MiB"
if [ "$size" -gt "$limit" ]; then
  echo "gpu-bundle: more than $limit MiB" >&2
  exit 1
fi
