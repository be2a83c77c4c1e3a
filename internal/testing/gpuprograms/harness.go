package gpuprograms

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// Harness is a generator and the devices that run its code.
type Harness struct {
	Kind    string             // of its target and modules
	Devices []dlpack.Device    // at least two
	Need    func(t testing.TB) // skips a test without devices
	// Target returns a target for the devices, with options that are set to true, and C for the host.
	Target    func(t testing.TB, options ...string) *target.Target
	Alignment int // where tensors may begin in the memory of the devices, in bytes; 0: wherever an element may
	// Check checks a module that was built; may be nil.
	Check func(t testing.TB, m *runtime.Module)
}

// Run runs all tests of this package.
func (h *Harness) Run(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"VectorsOfAnyLength", h.VectorsOfAnyLength},
		{"TwoDimensions", h.TwoDimensions},
		{"SharedTiles", h.SharedTiles},
		{"Softmax", h.Softmax},
		{"SeveralKernels", h.SeveralKernels},
		{"Vectors", h.Vectors},
		{"NarrowTypes", h.NarrowTypes},
		{"CalledAtOnce", h.CalledAtOnce},
		{"BadArguments", h.BadArguments},
		{"Offsets", h.Offsets},
		{"KernelByHand", h.KernelByHand},
		{"Stages", h.Stages},
		{"RandomSchedules", h.RandomSchedules},
		{"HalvesOfIntegers", h.HalvesOfIntegers},
		{"PartsOfVectors", h.PartsOfVectors},
		{"ExtendedIntegers", h.ExtendedIntegers},
		{"SharedTypes", h.SharedTypes},
	} {
		if c.name == "Offsets" && h.Alignment == 0 {
			continue // no module has a function that returns the alignment
		}
		t.Run(c.name, c.run)
	}
}

// Library builds a program, exports it and loads it.
func (h *Harness) Library(t testing.TB, m *tir.IRModule) *runtime.Module {
	t.Helper()
	return h.LibraryFor(t, m, h.Target(t))
}

func (h *Harness) LibraryFor(t testing.TB, m *tir.IRModule, to *target.Target) *runtime.Module {
	t.Helper()
	built := must.Get(codegen.Build(m, to))(t)
	defer built.Close()
	require.Equal(t, "c", built.Kind())
	imports := must.Get(built.Imports())(t)
	require.Len(t, imports, 1)
	require.Equal(t, h.Kind, imports[0].Kind())
	if h.Check != nil {
		h.Check(t, imports[0])
	}
	require.NoError(t, imports[0].Close())
	path := filepath.Join(t.TempDir(), "lib.so")
	require.NoError(t, export.Library(context.Background(), built, path))
	return gputest.Module(t, path)
}

// OnDevice copies an array to a device.
func OnDevice(t testing.TB, a *tirrun.Array, dev dlpack.Device) *runtime.Tensor {
	t.Helper()
	x := must.Open(runtime.NewTensor(dlpack.DataType(a.DType), a.Shape, dev))(t)
	require.NoError(t, x.CopyFromBytes(a.Data))
	return x
}

// interpreted returns a program with its barriers, to be run with race detection.
func interpreted(t testing.TB, m *tir.IRModule) *tirrun.Program {
	t.Helper()
	synced := must.Get(transform.ThreadSync(m, nil))(t)
	return must.Get(tirrun.Compile(synced, tirrun.Options{Seed: 7}))(t)
}

// Compare runs a function on all h.Devices and in the interpreter; the last array is the result.
func (h *Harness) Compare(t *testing.T, m *tir.IRModule, name string, within float64, args ...any) {
	t.Helper()
	h.CompareFor(t, m, h.Target(t), name, within, args...)
}

// CompareFor is Compare for a target.
func (h *Harness) CompareFor(t *testing.T, m *tir.IRModule, to *target.Target, name string, within float64,
	args ...any) {
	t.Helper()
	h.Need(t)
	h.CompareIn(t, h.LibraryFor(t, m, to), m, name, within, args...)
}

// CompareIn is Compare for a library of a program.
func (h *Harness) CompareIn(t *testing.T, lib *runtime.Module, m *tir.IRModule, name string, within float64,
	args ...any) {
	t.Helper()
	want := make([]any, len(args))
	var out *tirrun.Array
	last := 0
	for i, a := range args {
		if x, ok := a.(*tirrun.Array); ok {
			c := *x
			c.Data = append([]byte(nil), x.Data...)
			want[i], out, last = &c, &c, i
			continue
		}
		want[i] = a
	}
	h.Need(t)
	must.Get(interpreted(t, m).Call(name, want...))(t)
	expected := must.Get(tirrun.Values[float64](out))(t)
	for _, dev := range h.Devices {
		given := make([]any, len(args))
		for i, a := range args {
			if given[i] = a; i <= last {
				if x, ok := a.(*tirrun.Array); ok {
					given[i] = OnDevice(t, x, dev)
				}
			}
		}
		f := gputest.Function(t, lib, name)
		must.Get(f.Call(given...))(t)
		got := *out
		got.Data = make([]byte, len(out.Data))
		require.NoError(t, given[last].(*runtime.Tensor).CopyToBytes(got.Data))
		values := must.Get(tirrun.Values[float64](&got))(t)
		for i := range expected {
			if math.Abs(values[i]-expected[i]) > within*(1+math.Abs(expected[i])) ||
				math.IsNaN(values[i]) != math.IsNaN(expected[i]) {
				t.Fatalf("%s on %v: element %d is %v, expected %v", name, dev, i, values[i], expected[i])
			}
		}
	}
}

func Random() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }
