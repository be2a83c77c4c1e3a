#!/bin/sh
# Builds a network of tensor expressions and runs it from C, C++, Go and the command line, and from Python and Apache
# TVM if they are installed. Then it runs hand-written kernels on every device. It uses dist/, which `make` builds, or
# the folder in the first argument. It stops with an error when anything fails or a result is wrong.
set -eu

dist=$(cd "${1:-dist}" && pwd) || { echo "demo: there is no ${1:-dist}: run make first" >&2; exit 1; }
cd "$(dirname "$0")/.."
out=build/.cache/demo
cc=${CC:-cc}
cxx=${CXX:-c++}
go=${GO:-go}
rm -rf "$out"
mkdir -p "$out"

say() { printf '\n%s\n' "$*"; }
fail() { echo "demo: $*" >&2; exit 1; }

# npy FILE BYTES writes 1024 float32 values in NumPy's format: the 8 values of BYTES (octal, low byte first), repeated.
npy() {
  printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (1024,), }" >"$1"
  block=$2$2$2$2$2$2$2$2
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do printf "$block"; done >>"$1"
}

has() { command -v "${1%% *}" >/dev/null 2>&1; }

# same NAME compares the rows that a program printed with those of the first program.
same() {
  cat "$out/printed"
  grep '^row' "$out/printed" >"$out/rows"
  [ -e "$out/rows.first" ] || cp "$out/rows" "$out/rows.first"
  cmp -s "$out/rows" "$out/rows.first" || fail "$1 has results that differ from those before"
}

say "1. examples/model defines relu(A*B + bias) and softmax as tensor expressions, schedules them (tiles, vectors,"
echo "   threads), and builds both into one library, $out/model.so; the loops are in $out/model.tir"
"$go" build ${TAGS:+-tags "$TAGS"} -trimpath -o "$out/model" ./examples/model
"$out/model" -o "$out/model.so" -tir "$out/model.tir"
"$dist/bin/tvmgo" inspect "$out/model.so"

say "2. A C program, examples/model/run/model.c, loads it, calls both functions and compares them with plain loops:"
"$cc" -O2 -Wall -Wextra -I"$dist/include" examples/model/run/model.c -o "$out/model_c" \
  -L"$dist/lib" -Wl,-rpath,"$dist/lib" -ltvmgo -lm
"$out/model_c" "$out/model.so" >"$out/printed"
same "the C program"

if has "$cxx"; then
  say "3. The same in C++, with the classes of tvmgo/tvmgo.hpp:"
  "$cxx" -std=c++17 -O2 -Wall -Wextra -I"$dist/include" examples/model/run/model.cc -o "$out/model_cpp" \
    -L"$dist/lib" -Wl,-rpath,"$dist/lib" -ltvmgo
  "$out/model_cpp" "$out/model.so" >"$out/printed"
  same "the C++ program"
else
  say "3. (Skipped: there is no C++ compiler. On Debian: apt-get install g++)"
fi

say "4. In Go:"
"$out/model" -run "$out/model.so" -arrays "$out" >"$out/printed"
same "the Go program"

say "5. On the command line, with arrays in NumPy's format; first this library, then one built from its loops as text:"
"$dist/bin/tvmgo" build "$out/model.tir" -o "$out/again.so"
for library in model again; do
  "$dist/bin/tvmgo" run "$out/$library.so" dense --in "$out/a.npy" --in "$out/b.npy" --in "$out/bias.npy" \
    --out "$out/x.npy" --like 'float32[30,10]'
  cmp "$out/x.npy" "$out/dense.npy" || fail "dense of $out/$library.so has different results"
  "$dist/bin/tvmgo" run "$out/$library.so" softmax --in "$out/x.npy" --out "$out/y.npy" --like 'float32[30,10]'
  cmp "$out/y.npy" "$out/softmax.npy" || fail "softmax of $out/$library.so has different results"
done
echo "the first elements: $(od -An -j128 -N24 -tf4 -w24 "$out/y.npy" | tr -s ' '); all are equal to those of Go"

python=build/.cache/venv/bin/python
if [ -x "$python" ] && "$python" -c 'import numpy, tvm, tvm_ffi' >/dev/null 2>&1; then
  say "6. Apache TVM loads the same file, in Python:"
  "$python" -B examples/model/run/model.py "$out/model.so" >"$out/printed"
  same "Apache TVM"
else
  say "6. (Skipped: the wheel of Apache TVM is not in build/.cache/venv; build/scripts/deps.sh installs it)"
fi

if ! has clang; then
  say "7. (Skipped: kind llvm needs clang. On Debian: apt-get install clang)"
else
  say "7. Built for kind llvm, through clang:"
  "$dist/bin/tvmgo" build "$out/model.tir" --target llvm -o "$out/llvm.so"
  "$out/model" -run "$out/llvm.so" >"$out/printed"
  same "the library of kind llvm"
fi

say "8. For a wrong argument the function reports an error:"
if "$dist/bin/tvmgo" run "$out/model.so" dense --in "$out/a.npy" --in "$out/b.npy" --in "$out/bias.npy" \
  --out "$out/d.npy" --like 'float32[30,12]' 2>"$out/error"; then
  fail "an output of the wrong shape was accepted"
fi
cat "$out/error"
grep -q 'dense: argument 3 (out): shape\[1\] is 12, expected 10' "$out/error" || fail "this is not the expected error"
[ ! -e "$out/d.npy" ] || fail "the failed call wrote $out/d.npy"

say "9. A kernel written in C, examples/kernel/add.c, becomes a module: $out/add.so"
"$cc" -O3 -Wall -Wextra -Werror -shared -fPIC -I"$dist/include" examples/kernel/add.c -o "$out/add.so"
"$dist/bin/tvmgo" inspect "$out/add.so"

say "10. A C program, examples/deploy_c, loads it and measures a call."
make -s -C examples/deploy_c TVMGO="$dist" OUT="$PWD/$out" CC="$cc"
"$out/deploy_c" "$out/add.so" add 1024
"$out/deploy_c" "$out/add.so" add 1048576

if has "$cxx"; then
  say "11. The same in C++, examples/deploy_cpp, with the classes of tvmgo/tvmgo.hpp."
  make -s -C examples/deploy_cpp TVMGO="$dist" OUT="$PWD/$out" CXX="$cxx"
  "$out/deploy_cpp" "$out/add.so" add 1024
  "$out/deploy_cpp" "$out/add.so" add 1048576
  if "$out/deploy_cpp" "$out/add.so" absent 2>"$out/error"; then fail "found a function that does not exist"; fi
  grep -q 'NotFoundError: .*"absent"' "$out/error" ||
    fail "this is not the error of a missing function: $(cat "$out/error")"
else
  say "11. (Skipped: there is no C++ compiler. On Debian: apt-get install g++)"
fi

say "12. A Go service, examples/deploy_go, loads the same file and answers a request over HTTP."
"$go" build ${TAGS:+-tags "$TAGS"} -trimpath -o "$out/deploy_go" ./examples/deploy_go
"$out/deploy_go" -module "$out/add.so" -function add -selftest

say "13. The command line calls it with two arrays in NumPy's format, and writes a third."
#      1 2 3 4 5 6 7 8,  10 20 30 40 50 60 70 80,  and their sums
o='\000\000'
npy "$out/a.npy" "$o\200\077$o\000\100$o\100\100$o\200\100$o\240\100$o\300\100$o\340\100$o\000\101"
npy "$out/b.npy" "$o\040\101$o\240\101$o\360\101$o\040\102$o\110\102$o\160\102$o\214\102$o\240\102"
npy "$out/sum.npy" "$o\060\101$o\260\101$o\004\102$o\060\102$o\134\102$o\204\102$o\232\102$o\260\102"
"$dist/bin/tvmgo" run "$out/add.so" add --in "$out/a.npy" --in "$out/b.npy" --out "$out/c.npy" \
  --like 'float32[1024]' --repeat 100
cmp "$out/c.npy" "$out/sum.npy" || fail "wrong result: $out/c.npy is not the sum of a.npy and b.npy"
echo "the first elements: $(od -An -j128 -N32 -tf4 -w32 "$out/c.npy" | tr -s ' '); all 1024 are right"

python=
for candidate in build/.cache/venv/bin/python python3; do
  if "$candidate" -c 'import numpy' >/dev/null 2>&1; then python=$candidate; break; fi
done
if [ -n "$python" ]; then
  say "14. Python with ctypes, examples/deploy_py, passes NumPy arrays to it, by pointer and by DLPack."
  TVMGO_LIBRARY=$dist/lib/libtvmgo.so "$python" -B examples/deploy_py/main.py "$out/add.so" add 1024
else
  say "14. (Skipped: there is no python3 with NumPy. On Debian: apt-get install python3-numpy)"
fi

say "15. Kernels for devices, examples/kernel/add.cl, add.ptx and add.spv, become one module: $out/gpu.so"
"$dist/bin/tvmgo" pack examples/kernel/add.cl examples/kernel/add.ptx examples/kernel/add.spv -o "$out/gpu.so" \
  --func 'add(a: const float32[n], b: const float32[n], c: out float32[n]) launch blockIdx.x=n'
devices=$("$dist/bin/tvmgo" devices | sed -n -E 's/^((cuda|opencl|vulkan):[0-9]+) .*/\1/p')
for device in $devices; do
  say "   On $device, from C, from Go, from Python and from the command line:"
  "$out/deploy_c" "$out/gpu.so" add 4096 "$device"
  "$out/deploy_go" -module "$out/gpu.so" -function add -device "$device" -selftest
  [ -z "$python" ] ||
    TVMGO_LIBRARY=$dist/lib/libtvmgo.so "$python" -B examples/deploy_py/main.py "$out/gpu.so" add 4096 "$device"
  "$dist/bin/tvmgo" run "$out/gpu.so" add --device "$device" --in "$out/a.npy" --in "$out/b.npy" \
    --out "$out/c.npy" --like 'float32[1024]'
  cmp "$out/c.npy" "$out/sum.npy" || fail "wrong result on $device"
done
if [ -z "$devices" ]; then
  echo "There is no device except the CPU; \"$dist/bin/tvmgo doctor\" reports why:"
  "$dist/bin/tvmgo" doctor
fi

say "16. examples/deploy_fat builds functions for the CPU and every kind of device into one library, $out/fat.so:"
"$go" build ${TAGS:+-tags "$TAGS"} -trimpath -o "$out/deploy_fat" ./examples/deploy_fat
"$out/deploy_fat" -o "$out/fat.so"
"$dist/bin/tvmgo" inspect "$out/fat.so" | grep ' on \|dense (\|softmax ('
echo "   In Go, on every device found; the device of the arguments selects the variant:"
"$out/deploy_fat" -run "$out/fat.so"
echo "   The same file in C:"
"$cc" -O2 -Wall -Wextra -I"$dist/include" examples/deploy_fat/run/fat.c -o "$out/fat_c" \
  -L"$dist/lib" -Wl,-rpath,"$dist/lib" -ltvmgo -lm
"$out/fat_c" "$out/fat.so"

say "17. examples/deploy_model loads a whole model of Apache TVM's Relax compiler, lists its functions, and calls it"
echo "   from two threads with different batch sizes. In C:"
model=testdata/artifacts/modern/relax_mlp
make -s -C examples/deploy_model TVMGO="$dist" OUT="$PWD/$out" CC="$cc" "$PWD/$out/deploy_model_c"
"$out/deploy_model_c" "$model.so" "$model.params" "${model}_in0.npy" "${model}_out.npy"
if has "$cxx"; then
  echo "   In C++:"
  make -s -C examples/deploy_model TVMGO="$dist" OUT="$PWD/$out" CXX="$cxx" "$PWD/$out/deploy_model_cpp"
  "$out/deploy_model_cpp" "$model.so" "$model.params" "${model}_in0.npy" "${model}_out.npy"
fi
echo "   In Go:"
"$go" build ${TAGS:+-tags "$TAGS"} -trimpath -o "$out/deploy_model_go" ./examples/deploy_model/go
"$out/deploy_model_go" "$model.so" "$model.params" "${model}_in0.npy" "${model}_out.npy"

say "18. examples/model/onnx writes a network in ONNX's format; tvmgo compile makes a library of it, with the weights"
echo "   in a file of their own. From the command line:"
mkdir -p "$out/onnx"
"$go" build ${TAGS:+-tags "$TAGS"} -trimpath -o "$out/write_onnx" ./examples/model/onnx
"$out/write_onnx" -o "$out/onnx"
"$dist/bin/tvmgo" compile "$out/onnx/network.onnx" -o "$out/network.so" --params "$out/network.safetensors"
"$dist/bin/tvmgo" run "$out/network.so" --params "$out/network.safetensors" --in "x=$out/onnx/x.npy" --out "$out/y.npy"
cmp "$out/y.npy" "$out/onnx/y.npy"
echo "   By the programs of examples/deploy_model, in C:"
"$out/deploy_model_c" "$out/network.so" "$out/network.safetensors" "$out/onnx/x.npy" "$out/onnx/y.npy" main
if has "$cxx"; then
  echo "   In C++:"
  "$out/deploy_model_cpp" "$out/network.so" "$out/network.safetensors" "$out/onnx/x.npy" "$out/onnx/y.npy" main
fi
echo "   In Go:"
"$out/deploy_model_go" "$out/network.so" "$out/network.safetensors" "$out/onnx/x.npy" "$out/onnx/y.npy" main

say "All results are right."
