package runtime_test

import (
	"debug/elf"
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// elfSymbol returns the bytes from a symbol to the end of its segment's part of the file.
func elfSymbol(t testing.TB, r io.ReaderAt, symbol string) []byte {
	t.Helper()
	f := must.Get(elf.NewFile(r))(t)
	symbols := must.Get(f.DynamicSymbols())(t)
	for _, s := range symbols {
		for _, p := range f.Progs {
			if s.Name == symbol && p.Type == elf.PT_LOAD && s.Value >= p.Vaddr && s.Value < p.Vaddr+p.Filesz {
				data := make([]byte, p.Filesz-(s.Value-p.Vaddr))
				must.Get(p.ReadAt(data, int64(s.Value-p.Vaddr)))(t)
				return data
			}
		}
	}
	t.Fatalf("there is no %s", symbol)
	return nil
}

// someConstants returns two tensors. The symbol "f" needs both, the second one first.
func someConstants() *blob.Constants {
	return &blob.Constants{Names: []string{"w", "b"},
		Tensors: []blob.Tensor{{DType: dlpack.Float32, Shape: []int64{2},
			Data: []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40}},
			{DType: dlpack.Int8, Shape: []int64{1, 3}, Data: []byte{1, 2, 3}}},
		Symbols: []blob.SymbolConstants{{Symbol: "f", Names: []string{"b", "w"}}}}
}

func TestConstants(t *testing.T) {
	noLeaks(t)
	c := someConstants()
	m := must.Open(runtime.NewConstants(c))(t)
	require.Equal(t, "const_loader", m.Kind())
	require.Equal(t, runtime.Serializable, m.Properties())
	require.Equal(t, []string{"f"}, m.Functions())
	want := must.Get(c.Encode())(t)
	for _, layout := range []blob.Layout{blob.Legacy, blob.Modern} {
		require.Equal(t, want, must.Get(m.SaveToBinaryFor(layout))(t))
	}
	requireError(t, must.Fail(m.Function("f")), runtime.ErrFailed, "__init_f", "import the module that has it")
	requireError(t, must.Fail(m.Function("g")), runtime.ErrNotFound)

	calls := 0
	fails := errors.New("not yet")
	var order []any
	uses := must.Open(runtime.NewModule("uses", runtime.Runnable, &goModule{functions: map[string]runtime.PackedFunc{
		"__init_f": func(args ...any) (any, error) {
			if calls++; fails != nil {
				return nil, fails
			}
			for _, x := range args[0].([]any) {
				x := x.(*runtime.Tensor)
				require.Zero(t, x.Data()%64, "aligned for generated code")
				order = append(order, x.Shape())
			}
			return 0, nil
		},
		"f": func(args ...any) (any, error) { return "f", nil },
		"g": func(args ...any) (any, error) { return "g", nil },
	}}))(t)
	require.NoError(t, m.Import(uses))
	before := runtime.Live().Tensors
	require.Equal(t, "g", call(t, function(t, m, "g")))
	require.Zero(t, calls, "a function without constants needs no initialization")
	require.Equal(t, before, runtime.Live().Tensors, "unused constants are not copied")
	require.ErrorIs(t, must.Fail(m.Function("f")), fails)
	fails = nil
	require.Equal(t, "f", call(t, function(t, m, "f")))
	require.Equal(t, "f", call(t, function(t, m, "f")))
	require.Equal(t, 2, calls, "initialized again only after a failure")
	require.Equal(t, []any{[]int64{1, 3}, []int64{2}}, order)

	var first uintptr
	for _, name := range []string{"get_const_var_ndarray", "get_const_var_tensor"} {
		all := call(t, function(t, m, name)).(runtime.Map)
		require.Equal(t, "w", all[0].Key)
		require.Equal(t, []float32{1, 2}, slice[float32](t, all[0].Value.(*runtime.Tensor)))
		require.Equal(t, []int8{1, 2, 3}, slice[int8](t, all[1].Value.(*runtime.Tensor)))
		if first == 0 {
			first = all[0].Value.(*runtime.Tensor).Data()
		}
		require.Equal(t, first, all[0].Value.(*runtime.Tensor).Data(), "all share one copy")
		closeValue(all)
	}
}

func TestConstants_InitialisedOnceByMany(t *testing.T) {
	noLeaks(t)
	calls := 0
	m := must.Open(runtime.NewConstants(someConstants()))(t)
	uses := must.Open(runtime.NewModule("uses", runtime.Runnable, &goModule{functions: map[string]runtime.PackedFunc{
		"__init_f": func(args ...any) (any, error) { calls++; return nil, nil },
		"f":        func(args ...any) (any, error) { return nil, nil }}}))(t)
	require.NoError(t, m.Import(uses))
	var wait sync.WaitGroup
	for range 16 {
		wait.Go(func() {
			if f, err := m.Function("f"); err == nil {
				f.Close()
			}
		})
	}
	wait.Wait()
	require.Equal(t, 1, calls)
}

// The initializer of a function may look up that function and others whose initializers do the same, on one thread and
// on many.
func TestConstants_InitLooksUpFunctions(t *testing.T) {
	for _, opts := range []string{"one thread", "many threads"} {
		t.Run(opts, func(t *testing.T) {
			noLeaks(t)
			c := someConstants()
			c.Symbols = append(c.Symbols, blob.SymbolConstants{Symbol: "g", Names: []string{"w"}})
			m := must.Open(runtime.NewConstants(c))(t)
			calls := map[string]int{}
			initialises := func(names ...string) runtime.PackedFunc {
				return func(args ...any) (any, error) {
					calls[names[0]]++
					for _, name := range names {
						f, err := m.Function(name)
						if err != nil {
							return nil, err
						}
						require.Equal(t, name, must.Get(f.Call())(t))
						require.NoError(t, f.Close())
					}
					return nil, nil
				}
			}
			uses := must.Open(runtime.NewModule("uses", runtime.Runnable,
				&goModule{functions: map[string]runtime.PackedFunc{
					"__init_f": initialises("f", "g"), "__init_g": initialises("g", "f"),
					"f": func(...any) (any, error) { return "f", nil }, "g": func(...any) (any, error) {
						return "g",
							nil
					}}}))(t)
			require.NoError(t, m.Import(uses))
			var wait sync.WaitGroup
			for i := range map[string]int{"one thread": 1, "many threads": 16}[opts] {
				wait.Go(func() {
					f := must.Get(m.Function([]string{"f", "g"}[i%2]))(t)
					require.NoError(t, f.Close())
				})
			}
			wait.Wait()
			require.Equal(t, map[string]int{"f": 1, "g": 1}, calls, "each once")
		})
	}
}

func TestConstants_InitFunctionRefuses(t *testing.T) {
	noLeaks(t)
	m := must.Open(runtime.NewConstants(someConstants()))(t)
	uses := must.Open(runtime.NewModule("uses", runtime.Runnable, &goModule{functions: map[string]runtime.PackedFunc{
		"__init_f": func(args ...any) (any, error) { return -1, nil }}}))(t)
	require.NoError(t, m.Import(uses))
	requireError(t, must.Fail(m.Function("f")), runtime.ErrFailed, "__init_f returned -1")
}

// C can create a module of constants from its tensors.
func TestConstants_Created(t *testing.T) {
	noLeaks(t)
	create := global(t, "ffi.Module.create.const_loader")
	w, b := tensor(t, []float32{1, 2}), tensor(t, []int8{1, 2, 3}, 1, 3)
	m := call(t, create, runtime.Map{{"w", w}, {"b", b}}, runtime.Map{{"f", []any{"b", "w"}}}).(*runtime.Module)
	defer m.Close()
	require.Equal(t, must.Get(someConstants().Encode())(t), must.Get(m.SaveToBinary())(t))
	for says, args := range map[string][]any{
		"expected 2 argum":               {runtime.Map{}},
		"argument 0: expected a map":     {1, runtime.Map{}},
		"argument 1: expected a map":     {runtime.Map{{"w", w}}, 1},
		"from names to tensors, got str": {runtime.Map{{"w", "w"}}, runtime.Map{}},
		`needs constant "v"`:             {runtime.Map{{"w", w}}, runtime.Map{{"f", []any{"v"}}}},
		"key 0 is a int64":               {runtime.Map{{"w", w}}, runtime.Map{{1, []any{"v"}}}},
		"item 0: expected a string":      {runtime.Map{{"w", w}}, runtime.Map{{"f", []any{1}}}},
	} {
		requireError(t, must.Fail(create.Call(args...)), runtime.ErrInvalidArgument, says)
	}
}

// The file is the blob of a const_loader that imports a source module, as packed by Apache TVM v0.27.
func TestConstants_OfTVM(t *testing.T) {
	noLeaks(t)
	b := must.Get(blob.Parse(readFile(t, "testdata/const_loader.blob"), blob.Modern, nil))(t)
	require.Equal(t, "const_loader", b.Entries[0].Kind)
	m := call(t, global(t, "ffi.Module.load_from_bytes.const_loader"), b.Entries[0].Payload).(*runtime.Module)
	defer m.Close()
	require.Equal(t, []string{"f"}, m.Functions())
	w, i8 := tensor(t, []float32{1, 2}), tensor(t, []int8{1, 2, 3}, 1, 3)
	made := call(t, global(t, "ffi.Module.create.const_loader"), runtime.Map{{"b", i8}, {"w", w}},
		runtime.Map{{"f", []any{"b", "w"}}}).(*runtime.Module)
	defer made.Close()
	require.Equal(t, b.Entries[0].Payload, must.Get(made.SaveToBinary())(t))
}

func TestConstants_Bad(t *testing.T) {
	noLeaks(t)
	change := func(f func(c *blob.Constants)) *blob.Constants {
		c := someConstants()
		f(c)
		return c
	}
	for says, c := range map[string]*blob.Constants{
		"no constants":             nil,
		"2 tensors for 1 names":    change(func(c *blob.Constants) { c.Names = c.Names[:1] }),
		`constant "w" occurs twic`: change(func(c *blob.Constants) { c.Names[1] = "w" }),
		"empty name":               change(func(c *blob.Constants) { c.Names[1] = "" }),
		`constant "w": 7 bytes`:    change(func(c *blob.Constants) { c.Tensors[0].Data = c.Tensors[0].Data[1:] }),
		`needs constant "x"`:       change(func(c *blob.Constants) { c.Symbols[0].Names[0] = "x" }),
		`symbol "f" occurs twice`:  change(func(c *blob.Constants) { c.Symbols = append(c.Symbols, c.Symbols[0]) }),
	} {
		requireError(t, must.Fail(runtime.NewConstants(c)), runtime.ErrInvalidArgument, says)
	}
}
