package main_test

import (
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/wheelmodels"
	"tvmgo/weights"
)

// caseWriter writes the file of calls that relax_test.c reads.
type caseWriter struct{ out []byte }

func (w *caseWriter) number(n int64) { w.out = binary.LittleEndian.AppendUint64(w.out, uint64(n)) }

func (w *caseWriter) bytes(b []byte) {
	w.number(int64(len(b)))
	w.out = append(w.out, b...)
	w.out = append(w.out, make([]byte, 8-len(b)%8)...)
}

func (w *caseWriter) dtype(d dlpack.DataType) {
	w.number(int64(d.Code))
	w.number(int64(d.Bits))
	w.number(int64(d.Lanes))
}

func (w *caseWriter) dims(shape []int64) {
	w.number(int64(len(shape)))
	for _, n := range shape {
		w.number(n)
	}
}

// value writes the number of the kind (V_NONE … V_OBJECT) and the value.
func (w *caseWriter) value(v wheelmodels.Value) {
	switch {
	case v.Tensor != nil:
		w.number(1)
		w.dtype(v.Tensor.DType)
		w.dims(v.Tensor.Shape)
		w.bytes(v.Tensor.Data)
	case v.Tuple != nil:
		w.number(2)
		w.number(int64(len(v.Tuple)))
		for _, item := range v.Tuple {
			w.value(item)
		}
	case v.Shape != nil:
		w.number(3)
		w.dims(v.Shape)
	case v.Int != nil:
		w.number(4)
		w.number(*v.Int)
	case v.Float != nil:
		w.number(5)
		w.number(int64(math.Float64bits(*v.Float)))
	case v.Bool != nil:
		w.number(6)
		w.number(map[bool]int64{true: 1}[*v.Bool])
	case v.String != nil:
		w.number(7)
		w.bytes([]byte(*v.String))
	case v.DType != nil:
		w.number(8)
		w.dtype(*v.DType)
	case v.Object != "":
		w.number(9)
	default:
		w.number(0)
	}
}

// writeCases writes calls to home/<name>.cases and returns the path.
func (l *lab) writeCases(t *testing.T, name string, cases []wheelmodels.Case) string {
	t.Helper()
	var w caseWriter
	w.number(int64(len(cases)))
	for _, c := range cases {
		w.bytes([]byte(c.Function))
		w.number(map[bool]int64{true: 1}[c.Error != ""])
		w.number(int64(len(c.Inputs)))
		for i, v := range c.Inputs {
			w.value(v)
			w.value(c.After[i])
		}
		w.value(c.Output)
	}
	path := filepath.Join(l.path("home"), name+".cases")
	require.NoError(t, os.WriteFile(path, w.out, 0o644))
	return path
}

// mlpCases are calls of relax_mlp with 1 to 4 rows of its input, and what Apache TVM computed for them.
func (l *lab) mlpCases(t *testing.T) (cases []wheelmodels.Case) {
	t.Helper()
	tensor := func(data []float32, shape ...int64) wheelmodels.Value {
		raw := unsafe.Slice((*byte)(unsafe.Pointer(&data[0])), 4*len(data))
		return wheelmodels.Value{Tensor: &wheelmodels.Tensor{DType: dlpack.Float32, Shape: shape, Data: raw}}
	}
	in, shape := modules.NPY(t, l.path("artifacts", "modern", "relax_mlp_in0.npy"))
	out, outShape := modules.NPY(t, l.path("artifacts", "modern", "relax_mlp_out.npy"))
	set := must.Open(weights.Open(l.path("artifacts", "modern", "relax_mlp.params")))(t)
	var params []wheelmodels.Value
	for _, name := range []string{"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"} {
		w := must.Get(set.Lookup(name))(t)
		data := append([]byte(nil), must.Get(w.Data())(t)...)
		params = append(params,
			wheelmodels.Value{Tensor: &wheelmodels.Tensor{DType: w.DType, Shape: w.Shape, Data: data}})
	}
	for n := int64(1); n <= shape[0]; n++ {
		cases = append(cases, wheelmodels.Case{
			Function: "forward",
			Inputs:   append([]wheelmodels.Value{tensor(in[:n*shape[1]], n, shape[1])}, params...),
			Output:   tensor(out[:n*outShape[1]], n, outShape[1]),
		})
	}
	return cases
}

// relaxProgram builds relax_test for both C ABIs, tvmgo/model.h and tvmgo.hpp.
func (l *lab) relaxProgram(t *testing.T) string {
	t.Helper()
	object := l.path("bin", "relax_hpp_test.o")
	r := l.run(t, nil, "c++", "-std=c++17", "-O1", "-g1", "-Wall", "-Wextra", "-Werror", "-I"+l.path("include"), "-c",
		l.path("src", "relax_hpp_test.cc"), "-o", object)
	require.True(t, r.ok, r.out)
	return l.compile(t, "relax_test", "relax*_test.c", append([]string{object, "-lstdc++"}, l.linked()...)...)
}

// Programs run Relax executables of Apache TVM through both C ABIs, in one call and in steps, through tvmgo/model.h and
// tvmgo::Model, and get bit by bit what TVM's own machine computes: convolutions, a transformer, tuples, conditions,
// recursion, closures, calls that change their inputs, element types, and calls that fail.
func TestRelax_FromC(t *testing.T) {
	l := newLab(t)
	program := l.relaxProgram(t)
	args := []string{program, "1"}
	// The packed functions that the program has.
	globals := []string{"wheelmodels.count", "wheelmodels.less", "wheelmodels.plus"}
	programs := map[string]bool{}
	for _, m := range wheelmodels.Need(t) {
		missing := slices.ContainsFunc(m.Globals, func(g string) bool { return !slices.Contains(globals, g) })
		if m.Error != "" || missing || strings.Join(m.Devices, " ") != "cpu" ||
			m.Program == "few_arguments" || m.Program == "packed" {
			continue
		}
		library := filepath.Join(l.path("home"), m.Name+".so")
		require.NoError(t, os.WriteFile(library, must.Get(os.ReadFile(m.Path))(t), 0o755))
		args = append(args, library, l.writeCases(t, m.Name, m.Cases))
		programs[m.Program] = true
	}
	for _, p := range []string{"convnet", "transformer", "tuples", "branches", "loops", "closures", "several", "in_place",
		"type_bool", "type_int8", "type_float16", "dynamic", "strings", "jumps", "builtins"} {
		require.True(t, programs[p], p)
	}
	l.runOK(t, nil, args...)

	// 64 threads share one session or model; their calls have different batch sizes.
	l.runOK(t, nil, program, "64", l.modern("relax_mlp"), l.writeCases(t, "relax_mlp", l.mlpCases(t)))
}

// mlpFiles are the arguments of programs that run relax_mlp: the library, its parameters, an input and the output.
func (l *lab) mlpFiles() []string {
	mlp := l.path("artifacts", "modern", "relax_mlp")
	return []string{mlp + ".so", mlp + ".params", mlp + "_in0.npy", mlp + "_out.npy"}
}

// examples/deploy_model, built as its Makefile does, runs one model from two threads in C and in C++.
func TestDeployModel(t *testing.T) {
	l := newLab(t)
	source := filepath.Join(l.path("home"), "deploy_model")
	require.NoError(t, copyTree(source, filepath.Join(l.root, "examples", "deploy_model")))
	r := l.run(t, nil, "make", "-s", "-C", source, "TVMGO="+l.dist)
	require.True(t, r.ok, r.out)
	programs := []string{"deploy_model_c", "deploy_model_cpp"}
	if _, err := exec.LookPath("pkg-config"); err == nil { // as an installed library is used
		env := []string{"PKG_CONFIG_PATH=" + filepath.Join(l.dist, "lib", "pkgconfig"), "DIST=" + l.dist}
		r := l.run(t, env, "sh", "-c", `cd deploy_model && cc c/main.c $(pkg-config --cflags --libs tvmgo) -pthread -lm \
  -Wl,-rpath,"$DIST/lib" -o installed`)
		require.True(t, r.ok, r.out)
		programs = append(programs, "installed")
	}
	for _, program := range programs {
		r := l.run(t, nil, append([]string{filepath.Join(source, program)}, l.mlpFiles()...)...)
		require.True(t, r.ok, r.out)
		require.Contains(t, r.out, "forward(x: float32[batch, 16], fc1.weight: float32[32, 16] (bound), ")
		require.Contains(t, r.out, "thread 1: 100 calls with a batch of 1, and all are right\n")
		require.Contains(t, r.out, "thread 2: 100 calls with a batch of 4, and all are right\n")
		require.Contains(t, r.out, "memory: 3496 bytes of weights for both threads\n")
		files := l.mlpFiles()
		wrong := must.Get(os.ReadFile(files[3]))(t)
		copy(wrong[len(wrong)-4:], "\x00\x00\x80\x3f") // the last element is 1
		files[3] = filepath.Join(source, "wrong.npy")
		require.NoError(t, os.WriteFile(files[3], wrong, 0o644))
		r = l.run(t, nil, append([]string{filepath.Join(source, program)}, files...)...)
		require.False(t, r.ok)
		require.Contains(t, r.out, "wrong result: element 39 is ")
		r = l.run(t, nil, append([]string{filepath.Join(source, program)}, append(l.mlpFiles(), "backward")...)...)
		require.False(t, r.ok)
		require.Contains(t, r.out, `no function "backward"`)
	}
}

// tvmgo/model.h, also in C99 and with AddressSanitizer, which sees what the program does not free.
func TestModelHeader(t *testing.T) {
	l := newLab(t)
	r := l.run(t, nil, "sh", "-c", `echo "#include <tvmgo/model.h>" |
		cc -std=c99 -Wall -Wextra -Wpedantic -Wshadow -Werror -fsyntax-only "-I$TVMGO_INCLUDE" -xc -`)
	require.True(t, r.ok, r.out)
	for _, flags := range [][]string{{"-Wpedantic", "-Wshadow"},
		{"-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"}} {
		program := l.compile(t, "model_test", "model_test.c", append(flags, l.linked()...)...)
		l.runOK(t, nil, append([]string{program}, l.mlpFiles()...)...)
	}
}
