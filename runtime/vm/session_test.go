package vm_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/blob/vmcode"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/runtime/vm"
)

func reg(r int64) vmcode.Operand { return vmcode.Operand{Kind: vmcode.InRegister, Value: r} }
func fun(i int64) vmcode.Operand { return vmcode.Operand{Kind: vmcode.OfFunction, Value: i} }
func ret(r int64) vmcode.Instruction {
	return vmcode.Instruction{Op: vmcode.Ret, Source: vmcode.Register(r)}
}
func invoke(dst int64, callee int, args ...vmcode.Operand) vmcode.Instruction {
	return vmcode.Instruction{Op: vmcode.Call, Dst: vmcode.Register(dst), Callee: callee, Args: args}
}

// pairs is a program with functions that return their arguments: main as a tuple, id as they are, and clo a closure of
// main with its argument bound; fn is a function that is missing.
func pairs(fn string) *vmcode.Executable {
	return &vmcode.Executable{
		Functions: []vmcode.Function{
			{Kind: vmcode.Packed, Name: fn},
			{Kind: vmcode.Packed, Name: "vm.builtin.make_closure"},
			{Kind: vmcode.Bytecode, Name: "main", Begin: 0, End: 2, Arity: 2, Registers: 3, Parameters: []string{"x", "y"}},
			{Kind: vmcode.Bytecode, Name: "id", Begin: 2, End: 3, Arity: 1, Registers: 1},
			{Kind: vmcode.Bytecode, Name: "clo", Begin: 3, End: 5, Arity: 1, Registers: 2, Parameters: []string{"x"}},
		},
		Code: []vmcode.Instruction{
			invoke(2, 0, reg(0), reg(1)), ret(2),
			ret(0),
			invoke(1, 1, fun(2), reg(0)), ret(1),
		},
	}
}

// loaded makes a module of an executable. It is closed at the end of the test.
func loaded(t testing.TB, e *vmcode.Executable) *runtime.Module {
	t.Helper()
	data := must.Get(e.EncodePayload(blob.Modern))(t)
	load := must.Open(runtime.Global("ffi.Module.load_from_bytes." + vm.Kind))(t)
	m := must.Get(load.Call(data))(t).(*runtime.Module)
	t.Cleanup(func() { m.Close() })
	return m
}

// Answers and errors are those of Apache TVM's virtual machine.
func TestSession_StatefulCalls(t *testing.T) {
	noLeaks(t)
	s := session(t, loaded(t, pairs("vm.builtin.make_tuple")))
	call := func(name string, args ...any) (any, error) { return modules.Call(t, s, name, args...) }
	fails := func(text, name string, args ...any) {
		t.Helper()
		_, err := call(name, args...)
		require.ErrorContains(t, err, text)
	}
	is := func(want any, name string, args ...any) {
		t.Helper()
		require.Equal(t, want, must.Get(call(name, args...))(t))
	}
	fails("expects 2 arguments (x, y), but 1 was given", "main", 1)
	fails("expects 2 arguments (x, y), but 1 was given", "set_input", "main", 1)
	fails("Unknown function: nope", "set_input", "nope", 1)
	fails("No inputs set for stateful call of main; use `set_input` first.", "invoke_stateful", "main")
	fails(`No output saved for call of "main"; use `+"`invoke_stateful`", "get_output", "main")
	is(nil, "set_input", "main", 5, 7)
	is([]any{int64(1), int64(2)}, "main", 1, 2)
	fails("No output saved", "get_output", "main")
	is(nil, "invoke_stateful", "main")
	fails("cannot return a tuple", "get_output", "main")
	is(int64(7), "get_output", "main", 1)
	is(nil, "set_input", "main", 5, 8)
	is(int64(7), "get_output", "main", 1) // the output stays until the next call
	is(nil, "invoke_stateful", "main")
	is(int64(8), "get_output", "main", 1)
	fails("Invalid index (2 >= 2)", "get_output", "main", 2)
	fails("Attempted to index into an object that is not an Array", "get_output", "main", 0, 0)
	is(int64(2), "get_output_arity", "main")
	is(int64(-1), "get_output_arity", "main", 0)
	fails("not an Array", "get_output_arity", "main", 0, 0)
	is(int64(2), "get_function_arity", "main")
	fails("Unknown function: nope", "get_function_arity", "nope")
	is("y", "get_function_param_name", "main", 1)
	fails("Invalid index for main (2 out of 2)", "get_function_param_name", "main", 2)
	fails("Invalid index for id (0 out of 0)", "get_function_param_name", "id", 0)

	other := session(t, loaded(t, pairs("vm.builtin.make_tuple"))) // has a state of its own
	_, err := modules.Call(t, other, "invoke_stateful", "main")
	require.ErrorContains(t, err, "No inputs set")
}

// The last parameter is the tuple that the function get_params of a module returns.
func TestSession_ParamModule(t *testing.T) {
	noLeaks(t)
	s := session(t, loaded(t, pairs("vm.builtin.make_tuple")))
	global := func(name string, args ...any) any {
		return must.Get(must.Open(runtime.Global("vm.builtin." + name))(t).Call(args...))(t)
	}
	first, second := floats(t, 2), floats(t, 3)
	global("tensor_cache.update", "param_module_0", first, true)
	global("tensor_cache.update", "param_module_1", second, true)
	m := global("param_module_from_cache", "param_module", 2).(*runtime.Module)
	defer m.Close()
	global("tensor_cache.clear")
	must.Get(modules.Call(t, s, "set_input_with_param_module", "main", 5, m))(t)
	must.Get(modules.Call(t, s, "invoke_stateful", "main"))(t)
	require.Equal(t, int64(5), must.Get(modules.Call(t, s, "get_output", "main", 0))(t))
	for i, want := range []*runtime.Tensor{first, second} {
		got := must.Get(modules.Call(t, s, "get_output", "main", 1, i))(t).(*runtime.Tensor)
		require.Equal(t, want.Data(), got.Data())
		require.NoError(t, got.Close())
	}
	for text, args := range map[string][]any{
		"expects 2 arguments (x, y), but 1 was given; missing: y": {"main", m},
		"must be a module with the function get_params, got int":  {"main", 5, 7},
		"no function get_params":                                  {"main", 5, s},
		"Unknown function: mai: did you mean main?":               {"mai", 5, m},
	} {
		require.ErrorContains(t, must.Fail(modules.Call(t, s, "set_input_with_param_module", args...)), text)
	}
	require.Equal(t, int64(5), must.Get(modules.Call(t, s, "get_output", "main", 0))(t))
	must.Get(modules.Call(t, s, "set_input", "main", 1, 2))(t) // releases the tensors
	must.Get(modules.Call(t, s, "invoke_stateful", "main"))(t)
}

func TestSession_SavedFunctions(t *testing.T) {
	noLeaks(t)
	s := session(t, loaded(t, pairs("vm.builtin.make_tuple")))
	must.Get(modules.Call(t, s, "save_function", "main", "saved", true, 3, 4))(t)
	require.Equal(t, []any{int64(3), int64(4)}, must.Get(modules.Call(t, s, "saved"))(t))
	must.Get(modules.Call(t, s, "save_function", "main", "saved", false, 3, 4))(t)
	require.Nil(t, must.Get(modules.Call(t, s, "saved"))(t))
	require.ErrorContains(t, must.Fail(modules.Call(t, s, "saved", 1)),
		`saved call of function "main": expected no arguments, got 1: save_function has stored its arguments`)
	require.ErrorContains(t, must.Fail(modules.Call(t, s, "save_function", "nope", "x", true)), "Unknown function: nope")
	must.Get(modules.Call(t, s, "save_function", "main", "bad", true, 3))(t)
	require.ErrorContains(t, must.Fail(modules.Call(t, s, "bad")), "expects 2 arguments")
}

func TestSession_Closures(t *testing.T) {
	noLeaks(t)
	s := session(t, loaded(t, pairs("vm.builtin.make_tuple")))
	c := must.Get(modules.Call(t, s, "clo", 8))(t).(*runtime.Object)
	require.Equal(t, []any{int64(1), int64(8)}, must.Get(modules.Call(t, s, "invoke_closure", c, 1))(t), "bound last")
	require.ErrorContains(t, must.Fail(modules.Call(t, s, "invoke_closure", c)), "expects 2 arguments")
	require.ErrorContains(t, must.Fail(modules.Call(t, s, "invoke_closure", 3)), "expected a closure or a function")
	require.NoError(t, s.Close())
	other := session(t, loaded(t, pairs("vm.builtin.make_tuple"))) // a closure lives longer than its session
	require.Equal(t, []any{int64(1), int64(8)}, must.Get(modules.Call(t, other, "invoke_closure", c, 1))(t))
	require.NoError(t, c.Close())
}

// The error of a recursion through C names the innermost functions and the outermost one.
func TestSession_EndlessRecursion(t *testing.T) {
	noLeaks(t)
	s := session(t, loaded(t, &vmcode.Executable{
		Functions: []vmcode.Function{
			{Kind: vmcode.Packed, Name: "vm.builtin.invoke_closure"},
			{Kind: vmcode.Bytecode, Name: "deep", Begin: 0, End: 2, Arity: 1, Registers: 2},
			{Kind: vmcode.Bytecode, Name: "start", Begin: 2, End: 4, Registers: 1},
		},
		Code: []vmcode.Instruction{
			invoke(1, 0, reg(int64(vmcode.Context)), reg(0), reg(0)), ret(1),
			invoke(0, 1, fun(1)), ret(0),
		},
	}))
	for range 2 {
		text := must.Fail(modules.Call(t, s, "start")).Error()
		require.Contains(t, text, `call function: in function "start", instruction 0 (call deep in: f[deep] dst: %0): `)
		require.Contains(t, text, ` more calls: in function "deep", instruction 0 (`)
		require.Contains(t, text, `function "deep" is called too deep: `)
		require.Equal(t, 3, strings.Count(text, `in function "deep"`), text)
	}
}

func TestSession_Instrument(t *testing.T) {
	noLeaks(t)
	s := session(t, loaded(t, pairs("vm.builtin.make_tuple")))
	var told []any
	action := int64(0)
	f := must.Open(runtime.NewFunction(func(args ...any) (any, error) {
		told = append(told, args[1:]...)
		return action, nil
	}))(t)
	must.Get(modules.Call(t, s, "set_instrument", f))(t)
	pair := []any{int64(1), int64(2)}
	require.Equal(t, pair, must.Get(modules.Call(t, s, "main", 1, 2))(t))
	name := "vm.builtin.make_tuple"
	require.Equal(t, []any{name, true, nil, int64(1), int64(2), name, false, pair, int64(1), int64(2)}, told)
	action = 1 // skips the call
	require.Nil(t, must.Get(modules.Call(t, s, "main", 1, 2))(t))
	require.ErrorContains(t, must.Fail(modules.Call(t, s, "set_instrument", "nope")), "Cannot find factory nope")
	must.Get(modules.Call(t, s, "set_instrument", nil))(t)
	require.Equal(t, pair, must.Get(modules.Call(t, s, "main", 1, 2))(t))
}

func TestSession_Initialization(t *testing.T) {
	noLeaks(t)
	m := loaded(t, pairs("vm.builtin.make_tuple"))
	s := must.Get(modules.Call(t, m, "vm_load_executable"))(t).(*runtime.Module)
	defer s.Close()
	require.Equal(t, "relax.VirtualMachine", s.Kind())
	require.Subset(t, s.Functions(), []string{"main", "id", "clo", "vm_initialization", "set_input"})
	require.NotContains(t, s.Functions(), "vm.builtin.make_tuple")
	require.ErrorContains(t, must.Fail(modules.Call(t, s, "main", 1, 2)), "call vm_initialization(")
	for _, c := range []struct {
		text string
		args []any
	}{
		{"got 0 arguments", nil}, {"got 2 arguments", []any{1, 0}}, {"Unknown allocator type: 7", []any{1, 0, 7}},
		{"the last device must be the host", []any{2, 0, 2}},
	} {
		require.ErrorContains(t, must.Fail(modules.Call(t, s, "vm_initialization", c.args...)), c.text)
	}
	_, err := s.Function("nope")
	require.ErrorIs(t, err, runtime.ErrNotFound)

	missing := must.Get(modules.Call(t, loaded(t, pairs("nope.fn")), "vm_load_executable"))(t).(*runtime.Module)
	defer missing.Close()
	_, err = modules.Call(t, missing, "vm_initialization", 1, 0, 2)
	require.ErrorIs(t, err, runtime.ErrNotFound)
	require.ErrorContains(t, err, `function "nope.fn" is missing: function "main" of the module of kind "relax.VMExec`)
}

func TestExecutable_Functions(t *testing.T) {
	noLeaks(t)
	e := pairs("vm.builtin.make_tuple")
	m := loaded(t, e)
	require.Equal(t, []string{"as_python", "as_text", "has_function", "stats", "vm_load_executable"}, m.Functions())
	require.Equal(t, e.Text(), must.Get(modules.Call(t, m, "as_text"))(t))
	require.Equal(t, e.Python(), must.Get(modules.Call(t, m, "as_python"))(t))
	require.Equal(t, e.Stats(), must.Get(modules.Call(t, m, "stats"))(t))
	require.Equal(t, true, must.Get(modules.Call(t, m, "has_function", "main"))(t))
	require.Equal(t, false, must.Get(modules.Call(t, m, "has_function", "vm.builtin.make_tuple"))(t))
	require.ErrorIs(t, must.Fail(modules.Call(t, m, "has_function")), runtime.ErrInvalidArgument)
	require.Equal(t, e.Text(), must.Get(m.GetSource(""))(t))
}

// Saving gives the bytes that were loaded, and a file that loads again.
func TestExecutable_Saves(t *testing.T) {
	noLeaks(t)
	e := pairs("vm.builtin.make_tuple")
	m := loaded(t, e)
	require.Equal(t, must.Get(e.EncodePayload(blob.Modern))(t), must.Get(m.SaveToBinary())(t))
	old := must.Get(m.SaveToBinaryFor(blob.Legacy))(t)
	require.Equal(t, must.Get(e.EncodePayload(blob.Legacy))(t), old)
	legacy := must.Open(runtime.Global("runtime.module.loadbinary_" + vm.OldKind))(t)
	again := must.Get(legacy.Call(old))(t).(*runtime.Module)
	defer again.Close()
	require.Equal(t, old, must.Get(again.SaveToBinaryFor(blob.Legacy))(t))
	require.Equal(t, must.Get(m.SaveToBinary())(t), must.Get(again.SaveToBinary())(t))

	path := filepath.Join(t.TempDir(), "model.bin")
	require.NoError(t, m.SaveToFile(path, ""))
	load := must.Open(runtime.Global("ffi.Module.load_from_file." + vm.Kind))(t)
	file := must.Get(load.Call(path, ""))(t).(*runtime.Module)
	defer file.Close()
	require.Equal(t, []any{int64(1), int64(2)}, must.Get(modules.Call(t, session(t, file), "main", 1, 2))(t))
	require.ErrorIs(t, must.Fail(load.Call(path+".none")), runtime.ErrNotFound)
	require.ErrorIs(t, must.Fail(must.Open(runtime.Global("ffi.Module.load_from_bytes."+vm.Kind))(t).Call([]byte("x"))),
		runtime.ErrCorruptModule)
}

// Instructions of functions can be in any order: the compiler moves functions.
func TestExecutable_OrderOfFunctions(t *testing.T) {
	noLeaks(t)
	e := pairs("vm.builtin.make_tuple")
	e.Functions[2], e.Functions[3] = e.Functions[3], e.Functions[2]
	e.Code[3].Args[0] = fun(3)
	s := session(t, loaded(t, e))
	require.Equal(t, []any{int64(1), int64(2)}, must.Get(modules.Call(t, s, "main", 1, 2))(t))
	require.Equal(t, int64(6), must.Get(modules.Call(t, s, "id", 6))(t))
}
