package vm_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/blob/vmcode"
	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/runtime/vm"
)

const (
	weightCount = 16
	weightSize  = 256 << 10 // bytes, but of the largest program
)

// weight returns the elements of a weight.
func weight(w int) []byte { return weightOf(w, weightSize) }

func weightOf(w, size int) []byte {
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(w*7 + i>>4)
	}
	return data
}

// withWeights exports a program whose function main passes its constants to f and returns them. pad moves them in the
// file.
func withWeights(t *testing.T, f string, pad int) (path string) {
	t.Helper()
	return withWeightsOf(t, f, pad, weightSize)
}

func withWeightsOf(t *testing.T, f string, pad, size int) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "model.so")
	require.NoError(t, export.Library(t.Context(), loaded(t, program(f, pad, size)), path))
	return path
}

// program is what withWeights exports.
func program(f string, pad, size int) *vmcode.Executable {
	e := &vmcode.Executable{Constants: []vmcode.Constant{{Kind: vmcode.StringConstant, Text: strings.Repeat("-", pad)}}}
	var args []vmcode.Operand
	for w := range weightCount {
		args = append(args, vmcode.Operand{Kind: vmcode.InConstant, Value: int64(len(e.Constants))})
		e.Constants = append(e.Constants, vmcode.Constant{Tensor: blob.Tensor{DType: dlpack.UInt8,
			Shape: []int64{int64(size)}, Data: weightOf(w, size)}})
	}
	e.Functions = []vmcode.Function{{Kind: vmcode.Packed, Name: f}, {Kind: vmcode.Packed, Name: "vm.builtin.make_tuple"},
		{Kind: vmcode.Bytecode, Name: "main", End: 3, Registers: 1}}
	e.Code = []vmcode.Instruction{invoke(int64(vmcode.Void), 0, args...), invoke(0, 1, args...), ret(0)}
	return e
}

// A file without a library is mapped, too: some of its constants are views, and it can be saved to its own path. The
// mapping ends with the last tensor.
func TestConstants_OfAFile(t *testing.T) {
	noLeaks(t)
	open := must.Open(runtime.Global("ffi.Module.load_from_file." + vm.Kind))(t)
	views := 0
	for pad := range 4 {
		path := filepath.Join(t.TempDir(), "model.vm")
		require.NoError(t, loaded(t, program("ffi.Array", pad, weightSize)).SaveToFile(path, ""))
		before := must.Get(os.ReadFile(path))(t)
		m := must.Get(open.Call(path, ""))(t).(*runtime.Module)
		s := session(t, m)
		list := mainOf(t, s)
		for w, x := range list {
			if modules.InFile(t, path, x.Data()) {
				views++
			}
			require.True(t, bytes.Equal(weight(w), modules.Slice[byte](t, x)))
		}
		require.NoError(t, m.SaveToFile(path, ""))
		require.True(t, bytes.Equal(before, must.Get(os.ReadFile(path))(t)))
		require.NoError(t, s.Close())
		require.NoError(t, m.Close())
		for w, x := range list {
			require.True(t, bytes.Equal(weight(w), modules.Slice[byte](t, x)))
			require.NoError(t, x.Close())
		}
		require.NotContains(t, string(must.Get(os.ReadFile("/proc/self/maps"))(t)), path)
	}
	require.Equal(t, 1, views)
	require.ErrorContains(t, must.Fail(open.Call(t.TempDir(), "")), "not a regular file")
}

// mainOf calls the function main of a session; the results are closed at the end of the test.
func mainOf(t *testing.T, s *runtime.Module) []*runtime.Tensor {
	t.Helper()
	var list []*runtime.Tensor
	for _, v := range must.Get(modules.Call(t, s, "main"))(t).([]any) {
		list = append(list, v.(*runtime.Tensor))
		t.Cleanup(func() { v.(*runtime.Tensor).Close() })
	}
	return list
}

// Constants are views of the library if they are aligned, and otherwise one copy that all sessions share. A function
// may write to them: it changes them in this process, and not in the file. They outlive the module.
func TestConstants_OfALibrary(t *testing.T) {
	noLeaks(t)
	write := must.Open(runtime.NewFunction(func(args ...any) (any, error) {
		for _, a := range args {
			b := make([]byte, weightSize)
			if err := a.(*runtime.Tensor).CopyToBytes(b); err != nil {
				return nil, err
			}
			b[weightSize/2]++
			if err := a.(*runtime.Tensor).CopyFromBytes(b); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}))(t)
	require.NoError(t, runtime.RegisterGlobal("test.write_weights", write, true))
	defer runtime.RemoveGlobal("test.write_weights")
	views := 0
	for pad := range 4 { // the elements of one of the programs begin at multiples of 4, of one weight at one of 64
		path := withWeights(t, "test.write_weights", pad)
		before := must.Get(os.ReadFile(path))(t)
		m := modules.Load(t, path)
		s := session(t, m)
		loaded := runtime.Live().TensorBytes
		first := mainOf(t, s)
		require.Equal(t, loaded, runtime.Live().TensorBytes, "the first call makes no other copy")
		second := mainOf(t, session(t, m))
		require.Equal(t, loaded, runtime.Live().TensorBytes, "the second session makes no other copy")
		require.NoError(t, s.Close())
		require.NoError(t, m.Close())
		for w, x := range first {
			data := modules.Slice[byte](t, x)
			require.Equal(t, weight(w)[weightSize/2]+2, data[weightSize/2], "both calls wrote")
			data[weightSize/2] -= 2
			require.True(t, bytes.Equal(weight(w), data), "weight %d", w)
			at := x.Data()
			require.Equal(t, at, second[w].Data(), "both sessions have one weight")
			require.Zero(t, at%dlpack.AllocAlignment)
			if modules.InFile(t, path, at) {
				views++
			}
		}
		require.True(t, bytes.Equal(before, must.Get(os.ReadFile(path))(t)))
	}
	require.Equal(t, 1, views)
}

// Many goroutines make the first call of a model at once.
func TestConstants_FirstCallOfManyGoroutines(t *testing.T) {
	noLeaks(t)
	s := session(t, modules.Load(t, withWeights(t, "ffi.Array", 0)))
	f := must.Open(s.Function("main"))(t)
	var group sync.WaitGroup
	wrong := make([]int, 16)
	for g := range wrong {
		group.Go(func() {
			v, err := f.Call()
			if err != nil {
				wrong[g]++
				return
			}
			for w, x := range v.([]any) {
				data, err := runtime.ToSlice[byte](x.(*runtime.Tensor))
				if err != nil || !bytes.Equal(weight(w), data) {
					wrong[g]++
				}
				x.(*runtime.Tensor).Close()
			}
		})
	}
	group.Wait()
	require.Equal(t, make([]int, 16), wrong)
}

// status returns a line of /proc/self/status in bytes.
func status(t *testing.T, key string) int {
	t.Helper()
	for line := range strings.Lines(string(must.Get(os.ReadFile("/proc/self/status"))(t))) {
		if words := strings.Fields(line); words[0] == key+":" {
			return must.Get(strconv.Atoi(words[1]))(t) << 10
		}
	}
	t.Fatalf("the system does not tell %s", key)
	return 0
}

// 256 MiB of weights that are not aligned take little memory before the first call, and after it 1.05 times their size.
func TestConstants_Memory(t *testing.T) {
	if os.Getenv("TVMGO_TEST_ALL") == "" {
		t.Skip("makes a library of 256 MiB: set TVMGO_TEST_ALL=1")
	}
	noLeaks(t)
	const size = 16 << 20
	path := withWeightsOf(t, "ffi.Array", 1, size)
	debug.FreeOSMemory()
	require.NoError(t, os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)) // the peak begins here
	before := status(t, "VmRSS")
	s := session(t, modules.Load(t, path))
	require.Less(t, status(t, "VmHWM")-before, weightCount*size/20)
	list := mainOf(t, s)
	for _, x := range list {
		require.Equal(t, int64(size), x.Size())
	}
	require.Less(t, status(t, "VmRSS")-before, weightCount*size/20*21)
	require.Less(t, status(t, "VmHWM")-before, weightCount*size/20*22)
	for w, x := range list {
		require.True(t, bytes.Equal(weightOf(w, size), modules.Slice[byte](t, x)), "weight %d", w)
	}
}
