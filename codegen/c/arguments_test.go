package c_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen/c"
	"tvmgo/tir"
)

// mixed has an argument of every kind; see testdata/arguments.c.
func mixed() *tir.PrimFunc {
	n, k, m, stride := tir.NewVar("n", tir.Int32), i64("k"), i64("m"), i64("stride")
	a, b := tir.NewBuffer("A", tir.Float32, n, k), tir.NewBuffer("B", tir.Float32, k, m)
	a.Alignment = 64
	b.Strides = []tir.Expr{stride, tir.I64(1)}
	out, d := tir.NewBuffer("C", tir.Int8, tir.Mul(n, tir.I32(2))), tir.NewBuffer("D", tir.Float64)
	f := tensors("mixed", &tir.Evaluate{Value: tir.I32(0)}, a, b, out, d)
	f.Params = append(f.Params, tir.NewVar("s", tir.Int16), tir.NewVar("x", tir.Float32), tir.NewVar("flag", tir.Bool),
		tir.NewVar("any", tir.Handle))
	return f
}

const mixedSignature = "mixed(A: float32[n, k], B: float32[k, m], C: int8[n * 2], D: float64[], s: int16, " +
	"x: float32, " +
	"flag: bool, any: handle)"

// wrongArguments are the changes that testdata/arguments.c makes to the arguments, and the resulting errors, in order;
// "" for valid arguments.
var wrongArguments = [][2]string{
	{"well", ""},
	{"count = 7", "TypeError: mixed: expected 8 arguments, got 7: " + mixedSignature},
	{"count = 9", "TypeError: mixed: expected 8 arguments, got 9: " + mixedSignature},
	{"count = -1", "TypeError: mixed: expected 8 arguments, got -1: " + mixedSignature},
	{"no_list = 1", "TypeError: mixed: expected 8 arguments, got NULL: " + mixedSignature},
	{"KIND(0) = NONE", "TypeError: mixed: argument 0 (A): expected float32[n, k], got None"},
	{"KIND(0) = INT", "TypeError: mixed: argument 0 (A): expected float32[n, k], got int"},
	{`(KIND(1) = TEXT, TEXT_OF(1) = "text")`, "TypeError: mixed: argument 1 (B): expected float32[k, m], got a string"},
	{"POINTER_OF(0) = NULL", "ValueError: mixed: argument 0 (A): the pointer to the tensor is NULL"},
	{"KIND(4) = REAL", "TypeError: mixed: argument 4 (s): expected int16, got float"},
	{`(KIND(4) = TEXT, TEXT_OF(4) = "7")`, "TypeError: mixed: argument 4 (s): expected int16, got a string"},
	{"args[4].v_int64 = 32768", "ValueError: mixed: argument 4 (s): 32768 does not fit int16"},
	{"args[4].v_int64 = -32769", "ValueError: mixed: argument 4 (s): -32769 does not fit int16"},
	{"(KIND(5) = INT, args[5].v_int64 = 2)", ""},
	{`(KIND(5) = TEXT, TEXT_OF(5) = "0.5")`, "TypeError: mixed: argument 5 (x): expected float32, got a string"},
	{"args[6].v_int64 = 2", "ValueError: mixed: argument 6 (flag): 2 does not fit bool"},
	{"(KIND(7) = POINTER, POINTER_OF(7) = &a)", ""},
	{`(KIND(7) = TEXT, TEXT_OF(7) = "text")`, "TypeError: mixed: argument 7 (any): expected handle, got a string"},
	{"a.ndim = 3", "ValueError: mixed: argument 0 (A): expected 2 dimensions (float32[n, k]), got 3"},
	{"a.ndim = 1", "ValueError: mixed: argument 0 (A): expected 2 dimensions (float32[n, k]), got 1"},
	{"a.ndim = -1", "ValueError: mixed: argument 0 (A): expected 2 dimensions (float32[n, k]), got -1"},
	{"d.ndim = 1", "ValueError: mixed: argument 3 (D): expected 0 dimensions (float64[]), got 1"},
	{"a.shape = NULL", "ValueError: mixed: argument 0 (A): the tensor's shape is NULL"},
	{"a_shape[0] = -1", "ValueError: mixed: argument 0 (A): shape[0] is -1, which is negative"},
	{"a_shape[1] = INT64_MIN", "ValueError: mixed: argument 0 (A): shape[1] is -9223372036854775808, which is negative"},
	{"a_shape[0] = INT64_MAX", "ValueError: mixed: argument 0 (A): shape[0] is 9223372036854775807, which is more than " +
		"memory can hold"},
	{"(a_shape[0] = 0, a_shape[1] = INT64_MAX)", "ValueError: mixed: argument 0 (A): shape[1] is 9223372036854775807, " +
		"which is more than memory can hold"},
	{"a.dtype.code = kDLInt", "TypeError: mixed: argument 0 (A): expected float32, got int32"},
	{"a.dtype.bits = 64", "TypeError: mixed: argument 0 (A): expected float32, got float64"},
	{"a.dtype.lanes = 4", "TypeError: mixed: argument 0 (A): expected float32, got float32x4"},
	{"a.dtype.code = 99", "TypeError: mixed: argument 0 (A): expected float32, got a type of code 99"},
	{"d.dtype.code = kDLBfloat", "TypeError: mixed: argument 3 (D): expected float64, got bfloat64"},
	{"a.device.device_type = kDLCUDA",
		"ValueError: mixed: argument 0 (A): the tensor is on cuda:0, expected cpu: copy it"},
	{"(b.device.device_type = kDLOpenCL, b.device.device_id = 3)", "ValueError: mixed: argument 1 (B): the tensor is on " +
		"opencl:3, expected cpu: copy it"},
	{"a.device.device_type = 77", "ValueError: mixed: argument 0 (A): the tensor is on a device of type 77, expected " +
		"cpu: copy it"},
	{"a.device.device_id = 5", ""}, // all CPU devices share memory
	{"a.data = NULL", "ValueError: mixed: argument 0 (A): the tensor's data is NULL"},
	{"(a.data = NULL, a_shape[0] = 0, c_shape[0] = 0)", ""},
	{"a.data = (char*)a.data + 32",
		"ValueError: mixed: argument 0 (A): the elements begin 32 bytes behind a multiple of 64: copy them to " +
			"aligned memory"},
	{"a.byte_offset = 64", ""},
	{"a.byte_offset = 4", "ValueError: mixed: argument 0 (A): the elements begin 4 bytes behind a multiple of 64: copy " +
		"them to aligned memory"},
	{"b.byte_offset = 4", ""},
	{"b.byte_offset = 2", "ValueError: mixed: argument 1 (B): the elements begin 2 bytes behind a multiple of 4: copy " +
		"them to aligned memory"},
	{"d.data = (char*)d.data + 1", "ValueError: mixed: argument 3 (D): the elements begin 1 bytes behind a multiple of " +
		"8: copy them to aligned memory"},
	{"a.strides = NULL", ""},
	{"a_strides[0] = 5", "ValueError: mixed: argument 0 (A): strides[0] is 5, expected 4: the tensor is not " +
		"contiguous, copy it"},
	{"(a_strides[0] = 1, a_strides[1] = 3)",
		"ValueError: mixed: argument 0 (A): strides[1] is 3, expected 1: the tensor " +
			"is not contiguous, copy it"},
	{"a_strides[1] = 0", "ValueError: mixed: argument 0 (A): strides[1] is 0, expected 1: the tensor is not " +
		"contiguous, copy it"},
	{"(a_shape[0] = 1, c_shape[0] = 2, a_strides[0] = 99)", ""}, // the stride of a single row does not matter
	{"b_strides[0] = 20", ""},
	{"b_strides[1] = 2", "ValueError: mixed: argument 1 (B): strides[1] is 2, expected 1"},
	{"b_strides[0] = -8", ""},
	{"b_strides[0] = INT64_MAX", ""},
	{"b.strides = NULL", ""},
	{"b_shape[0] = 5", "ValueError: mixed: argument 1 (B): shape[0] is 5, expected k = 4 (argument 0 (A): shape[1])"},
	{"c_shape[0] = 7", "ValueError: mixed: argument 2 (C): shape[0] is 7, expected n * 2 = 6 (argument 0 (A): shape[0])"},
	{"(a_shape[0] = (int64_t)1 << 32, c_shape[0] = (int64_t)1 << 33)",
		"ValueError: mixed: argument 0 (A): shape[0] is 4294967296, which does not fit int32"},
	{"(a_shape[1] = 0, b_shape[0] = 0)", ""},
}

// TestArguments passes every kind of wrong argument to a function of each convention, under sanitizers.
func TestArguments(t *testing.T) {
	for _, classic := range []bool{false, true} {
		dir := t.TempDir()
		code, program := filepath.Join(dir, "mixed.c"), filepath.Join(dir, "arguments")
		require.NoError(t, os.WriteFile(code, []byte(emit(t, c.Emitter{Classic: classic}, module(t, mixed()))), 0o666))
		args := []string{"-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined",
			"-fno-sanitize-recover=all", "-I../../include",
			"testdata/arguments.c", code, "-o", program}
		if classic {
			args = append(args, "-DCLASSIC")
		}
		out, err := exec.Command("gcc", args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		out, err = exec.Command(program).CombinedOutput()
		require.NoError(t, err, "%s", out)
		lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		for i, line := range lines {
			what, got, _ := strings.Cut(line, " => ")
			require.Less(t, i, len(wrongArguments), line)
			require.Equal(t, wrongArguments[i][0], what)
			rc := "-1 "
			if wrongArguments[i][1] == "" {
				rc = "0 "
			}
			require.Equal(t, rc+wrongArguments[i][1], got, "classic=%v: %s", classic, what)
		}
		require.Len(t, lines, len(wrongArguments))
	}
}
