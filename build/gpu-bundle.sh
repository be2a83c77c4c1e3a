#!/bin/sh
# Puts everything that a machine with a GPU needs into one folder: test programs, the command line, a
# C host, artifacts and run.sh. That machine needs neither Go nor a compiler nor a network.
#
# The loader of OpenCL (libOpenCL.so.1) comes along, from Debian's package; drivers belong to that machine.
#
#   build/gpu-bundle.sh FOLDER     as make gpu-bundle calls it: TAGS and CGO_CFLAGS are set
set -eu
cd "$(dirname "$0")/.."
out=${1:?usage: gpu-bundle.sh FOLDER}
go=${GO:-go}
dist=${DIST:-dist}

rm -rf "$out"
mkdir -p "$out/bin" "$out/lib" "$out/tree"

# Test programs run in the folder of their package, with its testdata beside them.
for pkg in dlpack blob runtime runtime/cuda runtime/opencl internal/dl internal/inspect; do
  [ -d "$pkg" ] || continue
  mkdir -p "$out/tree/$pkg"
  "$go" test -c ${TAGS:+-tags "$TAGS"} -trimpath -ldflags='-s -w' -o "$out/tree/$pkg/suite.test" "./$pkg"
  if [ -d "$pkg/testdata" ]; then cp -r "$pkg/testdata" "$out/tree/$pkg/"; fi
done
cp -r testdata include "$out/tree/"  # tests that compile their own modules use the headers
cp -P "$dist"/lib/libtvmgo.so* "$out/lib/"
cp "$dist/bin/tvmgo" "$out/bin/"
cc -O2 -I"$dist/include" examples/deploy_c/main.c -L"$dist/lib" -ltvmgo -Wl,-rpath,'$ORIGIN/../lib' -o "$out/bin/deploy_c"
cc -O2 -fPIC -shared -I"$dist/include" examples/kernel/add.c -o "$out/bin/add.so"
cc -std=gnu11 -O2 -I"$dist/include" capi/testdata/gpu_artifact_test.c -L"$dist/lib" -ltvmgo -Wl,-rpath,'$ORIGIN/../lib' -pthread \
  -o "$out/bin/gpu_artifact_test"

# The loader, with its licence.
loader=$(cc -print-file-name=libOpenCL.so.1)
[ -e "$loader" ] || { echo "gpu-bundle: there is no libOpenCL.so.1: run build/deps.sh (Debian: ocl-icd-libopencl1)" >&2; exit 1; }
cp -L "$loader" "$out/lib/libOpenCL.so.1"
cp /usr/share/doc/ocl-icd-libopencl1/copyright "$out/lib/libOpenCL.copyright" 2>/dev/null || true
"$go" version >"$out/built-with.txt"
git rev-parse HEAD >"$out/commit.txt" 2>/dev/null || echo unknown >"$out/commit.txt"
cp build/bundle-run.sh "$out/run.sh"
chmod +x "$out/run.sh"

size=$(du -sm "$out" | cut -f1)
echo "$out: $size MiB"
if [ "$size" -gt 60 ]; then
  echo "gpu-bundle: more than 60 MiB" >&2
  exit 1
fi
