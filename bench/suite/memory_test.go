package suite

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/nvrtctest"
	"tvmgo/target"
	"tvmgo/tir"
)

// Each kernel that accesses memory has the right values on each device, in small arrays. CUDA's kernels are executed by
// the CPU, in one group.
func TestMemory_Values(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			on := testDevice(t, kind)
			bytes := int64(3 << 20)
			if kind == dlpack.CUDA {
				bytes = 1
			}
			for _, m := range memoryKernels() {
				w := must.Open(m.open(on, &resources{}, bytes))(t)
				how := must.Get(w.Check(t.Context()))(t)
				require.Contains(t, how, "exact", m.name)
				require.Positive(t, must.Get(w.Run(t.Context(), 2))(t).Wall)
				of := w.(*memoryWork).of
				n := float64(w.(*memoryWork).groups*of.elements()) * float64(m.t.Bits/8)
				arrays := float64(m.inputs)
				if m.value != "" {
					arrays++
				}
				require.Equal(t, n*arrays, w.Amount().Bytes, m.name)
			}
			for _, k := range localKernels() {
				k = k.sizesFor(on, must.Get(Target(on))(t))
				if k.groups = 3; kind == dlpack.CUDA {
					k.threads, k.steps, k.groups = 32, 4, 2
				}
				w, err := k.open(on, &resources{})
				if kind == dlpack.CPU {
					require.ErrorIs(t, err, bench.ErrNotMeasured)
					require.ErrorContains(t, err, "no shared memory")
					continue
				}
				require.NoError(t, err, k.name)
				must.Get(w.Check(t.Context()))(t)
				must.Get(w.Run(t.Context(), 2))(t)
				require.NoError(t, w.Close())
			}
		})
	}
}

// A kernel that writes nothing, or not everything, is wrong.
func TestMemory_WrongResults(t *testing.T) {
	on := testDevice(t, dlpack.CPU)
	for _, m := range memoryKernels() {
		w := must.Open(m.open(on, &resources{}, 1<<20))(t).(*memoryWork)
		call := w.Call
		w.Call = func() error { return nil }
		_, err := w.Check(t.Context())
		require.ErrorIs(t, err, bench.ErrWrongResult, m.name)
		if w.Call = call; m.value == "" {
			w.of.vectors--
		} else {
			w.of.value = "ONE"
			if m.value == "ONE" {
				w.of.value = "X"
			}
		}
		_, err = w.Check(t.Context())
		require.ErrorIs(t, err, bench.ErrWrongResult, m.name)
	}
	if on = testDevice(t, dlpack.OpenCL); on != nil {
		for _, k := range localKernels() {
			k = k.sizesFor(on, must.Get(Target(on))(t))
			k.groups = 2
			w := must.Open(k.open(on, &resources{}))(t).(*localWork)
			w.of.steps++
			_, err := w.Check(t.Context())
			require.ErrorIs(t, err, bench.ErrWrongResult, k.name)
		}
	}
}

// Arrays have four times the size of a large cache, and no more than a buffer or the memory can have.
func TestArraySize(t *testing.T) {
	on := testDevice(t, dlpack.CPU)
	to := must.Get(target.New(`{"kind": "vulkan", "max_storage_buffer_range": 1000000}`))(t)
	require.EqualValues(t, 1000000, arraySize(on, to, mostBytes))
	require.EqualValues(t, 4096, arraySize(on, to, 4096))
	require.Less(t, arraySize(on, must.Get(Target(on))(t), 1<<60), int64(1<<60))
}

// All accesses of GPU kernels to memory are those of whole vectors.
func TestMemory_MachineCode(t *testing.T) {
	for _, arch := range []string{"sm_75", "sm_80", "sm_90"} {
		to := cudaTarget(t, arch)
		var functions []*tir.PrimFunc
		add := func(m *tir.IRModule, err error) {
			require.NoError(t, err)
			f := m.Funcs[0]
			f.Name += string(rune('a' + len(functions)))
			functions = append(functions, f)
		}
		add(memoryKernels()[0].shapeFor(to).program(false))
		for _, k := range localKernels()[:2] {
			k.threads = 256
			add(k.program())
		}
		code := machineCode(t, arch, functions...)
		copies := code["accessa_kernel"]
		require.Equal(t, 4, strings.Count(copies, "LDG.E.128"), copies)
		require.Equal(t, 4, strings.Count(copies, "STG.E.128"), copies)
		for name, c := range map[string]struct {
			load string
			most float64 // instructions of a load, and the additions
		}{"localb_kernel": {"", 2.7}, "localc_kernel": {".128", 5.7}} {
			loops := nvrtctest.InnermostLoops(code[name])
			require.Len(t, loops, 1)
			n := 0
			for _, i := range loops[0] {
				if strings.HasPrefix(i, "LDS") && strings.HasSuffix(i, c.load) {
					n++
				}
			}
			t.Logf("%s: %s: %d of %d instructions are loads", arch, name, n, len(loops[0]))
			require.Zero(t, n%8, loops[0])
			require.Positive(t, n, loops[0])
			require.Less(t, float64(len(loops[0])), c.most*float64(n), loops[0])
		}
	}
}

// The limits of memory are among the cases.
func TestLimits_Memory(t *testing.T) {
	var ids []string
	for _, k := range MemoryKernels() {
		ids = append(ids, k.ID(), k.Family)
	}
	for _, id := range []string{GlobalCopy, GlobalSum, GlobalRead, LocalBandwidth} {
		require.Contains(t, ids, id)
	}
	_, err := Select([]string{GlobalSum}, Options{})
	require.NoError(t, err)
}
