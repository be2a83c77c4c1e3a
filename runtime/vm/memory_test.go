package vm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob/vmcode"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

func memory(t testing.TB, s *runtime.Module, name string) map[string]any {
	t.Helper()
	return asMaps(must.Get(modules.Call(t, s, name))(t)).(map[string]any)
}

// counters are those of an account, in bytes and storages.
func counters(live, peak, storages, taken, limit, weights int64) map[string]any {
	return map[string]any{"live": live, "peak": peak, "storages": storages, "taken": taken, "limit": limit,
		"weights": weights}
}

// A limit makes calls fail, and a session that failed goes on; the model's numbers are those of its sessions together.
func TestMemory(t *testing.T) {
	noLeaks(t)
	s, params, in, _, batch := mlp(t)
	other := must.Get(modules.Call(t, s, "tvmgo.session"))(t).(*runtime.Module)
	defer other.Close()
	x := modules.Tensor(t, in, batch, 16)
	f, g := must.Open(s.Function("forward"))(t), must.Open(other.Function("forward"))(t)
	call := func(f *runtime.Function) *runtime.Tensor {
		return must.Get(f.Call(append([]any{x}, params...)...))(t).(*runtime.Tensor)
	}
	require.Equal(t, counters(0, 0, 0, 0, 0, 0), memory(t, s, "tvmgo.memory"))
	out := call(f)
	m := memory(t, s, "tvmgo.memory")
	require.EqualValues(t, 4096, m["live"])
	require.EqualValues(t, 1, m["storages"])
	require.Greater(t, m["peak"], m["live"])
	require.Greater(t, m["taken"], m["storages"])
	require.Equal(t, counters(0, 0, 0, 0, 0, 0), memory(t, other, "tvmgo.memory"))
	require.Equal(t, m, memory(t, other, "tvmgo.model_memory"))
	call(g).Close()
	require.Equal(t, 2*m["taken"].(int64), memory(t, s, "tvmgo.model_memory")["taken"])
	out.Close()

	setLimit := func(name string, bytes int) { must.Get(modules.Call(t, s, name, bytes))(t) }
	for _, who := range []string{"session", "model"} {
		name := map[string]string{"session": "tvmgo.set_memory_limit", "model": "tvmgo.set_model_memory_limit"}[who]
		setLimit(name, 4096)
		_, err := f.Call(append([]any{x}, params...)...)
		require.ErrorContains(t, err, "4096 bytes exceed the memory limit of the "+who+": 4096 of 4096 bytes are in use")
		require.ErrorContains(t, err, `in function "forward", instruction `)
		require.ErrorContains(t, err, "vm.builtin.alloc_storage")
		setLimit(name, 1<<20)
		call(f).Close()
		setLimit(name, 0)
		call(f).Close()
		require.ErrorContains(t, must.Fail(modules.Call(t, s, name, -1)), "the limit is -1 bytes")
	}
	for _, name := range []string{"tvmgo.memory", "tvmgo.model_memory"} {
		m = memory(t, s, name)
		require.EqualValues(t, 0, m["live"])
		require.EqualValues(t, 0, m["storages"])
	}
}

// Bound tensors are counted once for each device, however many functions and sessions use them.
func TestMemory_OfWeights(t *testing.T) {
	noLeaks(t)
	m := loaded(t, layers())
	s, w, b := session(t, m), floats(t, 2, 3), floats(t, 7)
	must.Get(modules.Call(t, s, "tvmgo.bind", values(map[string]any{"w": w, "b": b})))(t)
	require.EqualValues(t, 24+28, memory(t, s, "tvmgo.memory")["weights"]) // w is in two functions
	again, empty := session(t, m), session(t, m)
	must.Get(modules.Call(t, again, "tvmgo.bind", values(map[string]any{"w": w})))(t)
	require.EqualValues(t, 24, memory(t, again, "tvmgo.memory")["weights"])
	require.EqualValues(t, 0, memory(t, empty, "tvmgo.memory")["weights"])
	require.EqualValues(t, 24+28, memory(t, empty, "tvmgo.model_memory")["weights"])
	must.Get(modules.Call(t, s, "tvmgo.bind", values(map[string]any{"w": floats(t, 2, 3), "b": floats(t, 1)})))(t)
	require.EqualValues(t, 24+24+4, memory(t, empty, "tvmgo.model_memory")["weights"])
	require.NoError(t, s.Close())
	require.EqualValues(t, 24, memory(t, empty, "tvmgo.model_memory")["weights"])

	require.Equal(t, []any{dlpack.Device{Type: dlpack.CPU}}, must.Get(modules.Call(t, again, "tvmgo.devices"))(t))
	copied := must.Get(modules.Call(t, again, "tvmgo.session"))(t).(*runtime.Module) // with what is bound
	defer copied.Close()
	out := must.Get(modules.Call(t, copied, "main", w, b))(t).([]any)
	require.Equal(t, w.Data(), out[1].(*runtime.Tensor).Data())
	closeAll(out)
}

// With the naive allocator, released memory goes back to the device; the pooled one keeps it.
func TestMemory_NaiveAllocator(t *testing.T) {
	noLeaks(t)
	s, params, in, want, batch := mlp(t)
	x := modules.Tensor(t, in, batch, 16)
	kept := func(allocator int) int64 {
		must.Get(modules.Call(t, s, "vm_initialization", 1, 0, allocator))(t)
		must.Get(runtime.TrimWorkspaces(runtime.CPU))(t)
		before := runtime.Live().DataBytes
		out := must.Get(modules.Call(t, s, "forward", append([]any{x}, params...)...))(t).(*runtime.Tensor)
		require.InDeltaSlice(t, want, modules.Slice[float32](t, out), 1e-5)
		out.Close()
		return int64(runtime.Live().DataBytes - before)
	}
	require.Positive(t, kept(2))
	require.Zero(t, kept(1))
	require.Zero(t, memory(t, s, "tvmgo.memory")["live"])
}

// Results of to_device are charged to the session, although the builtin does not get the machine.
func TestMemory_OfCopies(t *testing.T) {
	noLeaks(t)
	number := func(v int64) vmcode.Operand { return vmcode.Operand{Kind: vmcode.Immediate, Value: v} }
	s := session(t, loaded(t, &vmcode.Executable{
		Functions: []vmcode.Function{
			{Kind: vmcode.Packed, Name: "vm.builtin.to_device"},
			{Kind: vmcode.Bytecode, Name: "main", End: 2, Arity: 1, Registers: 2, Parameters: []string{"x"}},
		},
		Code: []vmcode.Instruction{invoke(1, 0, reg(0), number(1), number(0)), ret(1)},
	}))
	out := must.Get(modules.Call(t, s, "main", floats(t, 2000)))(t).(*runtime.Tensor)
	require.EqualValues(t, 8192, memory(t, s, "tvmgo.memory")["live"])
	require.NoError(t, out.Close())
	require.EqualValues(t, 0, memory(t, s, "tvmgo.memory")["live"])
	must.Get(modules.Call(t, s, "tvmgo.set_memory_limit", 4096))(t)
	err := must.Fail(modules.Call(t, s, "main", floats(t, 2000)))
	require.ErrorContains(t, err, "8192 bytes exceed the memory limit of the session: 0 of 4096 bytes are in use")
	require.ErrorContains(t, err, `in function "main", instruction 0 (call vm.builtin.to_device`)
}
