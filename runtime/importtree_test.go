package runtime_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

func TestImportTree_OfGoModules(t *testing.T) {
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			noLeaks(t)
			namedKind(t, nil)
			m := loadBytes(t, withBlob(t, l.source, l.tree(
				[]entry{lib(), l.of("a"), l.of("b"), l.of("c")}, [][]int{{1, 3}, {2, 3}, nil, nil})))
			require.Equal(t, "library", m.Kind())
			require.Equal(t, []string{"a", "c"}, names(t, m))
			deps := must.Get(m.Imports())(t)
			defer deps[0].Close()
			defer deps[1].Close()
			require.Equal(t, named, deps[0].Kind())
			require.Equal(t, runtime.Serializable|runtime.Runnable, deps[0].Properties())
			require.Equal(t, []string{"b", "c"}, names(t, deps[0]))
			// Depth first: b comes before c.
			require.Equal(t, "a", call(t, function(t, m, "who")))
			require.Equal(t, "b", call(t, function(t, m, "b")))
			require.Equal(t, "c", call(t, function(t, m, "c")))
			requireError(t, must.Fail(deps[1].Function("b")), runtime.ErrNotFound)
		})
	}
}

func TestImportTree_PayloadIsAViewThatLives(t *testing.T) {
	noLeaks(t)
	var data []byte
	moduleKind(t, runtime.ModuleKind{Name: "tvmgo_test_view", Load: func(p runtime.Payload) (runtime.ModuleImpl,
		error) {
		require.Equal(t, "tvmgo_test_view", p.Kind)
		require.False(t, p.Legacy)
		data = p.Data
		return &goModule{payload: p.Data}, nil
	}})
	payload := []byte("what the module is made of")
	m, err := runtime.LoadBytes(ctx, withBlob(t, probeSource, modernTree([]entry{lib(), {"tvmgo_test_view", payload}},
		[][]int{{1}, nil})))
	require.NoError(t, err)
	address := call(t, function(t, m, "blob_address")).(int64)
	at := int64(uintptr(unsafe.Pointer(unsafe.SliceData(data))))
	require.True(t, at > address && at < address+blobRoom, "the payload was copied")

	deps := must.Get(m.Imports())(t)
	require.NoError(t, m.Close())
	// Only the module keeps the file mapped.
	require.Equal(t, payload, data)
	require.Equal(t, payload, must.Get(deps[0].SaveToBinary())(t))
	require.Equal(t, "source in words", must.Get(deps[0].GetSource("words"))(t))
	requireError(t, deps[0].SaveToFile("x", ""), runtime.ErrNotSupported)
	require.NoError(t, deps[0].Close())
}

func TestImportTree_ClosesFromTheRootDown(t *testing.T) {
	noLeaks(t)
	var closed []string
	namedKind(t, &closed)
	m := must.Get(runtime.LoadBytes(ctx, withBlob(t, probeSource, modernTree(
		[]entry{of("root"), lib(), of("leaf")}, [][]int{{1, 2}, {2}, nil}))))(t)
	leaf := must.Get(m.Function("leaf"))(t)
	require.NoError(t, m.Close())
	require.Equal(t, []string{"root", "leaf"}, closed)
	require.Equal(t, "leaf", call(t, leaf)) // a Go function needs no module
	require.NoError(t, leaf.Close())
}

func TestImportTree_FunctionOfLibraryKeepsItsImports(t *testing.T) {
	noLeaks(t)
	var closed []string
	namedKind(t, &closed)
	m, err := runtime.LoadBytes(ctx, withBlob(t, probeSource, modernTree([]entry{lib(), of("a")}, [][]int{{1}, nil})))
	require.NoError(t, err)
	env := must.Get(m.Function("env"))(t)
	require.NoError(t, m.Close())
	require.Empty(t, closed)
	require.Equal(t, "a", call(t, env, "who"))
	require.NoError(t, env.Close())
	require.Equal(t, []string{"a"}, closed)
}

// Chains of imports of any length can be loaded and freed.
func TestImportTree_LongChain(t *testing.T) {
	noLeaks(t)
	namedKind(t, nil)
	const modules = 1000
	var entries []entry
	var children [][]int
	for i := range modules {
		entries = append(entries, of(fmt.Sprint(i)))
		children = append(children, []int{i + 1})
	}
	children[modules-1] = nil
	m := must.Get(runtime.LoadBytes(ctx, withBlob(t, probeSource, modernTree(entries, children))))(t)
	require.NoError(t, m.Close())
}

func TestImportTree_Bad(t *testing.T) {
	wild := func(at int, v uint64) []byte {
		b := modernTree([]entry{lib(), of("a")}, [][]int{{1}, nil})
		binary.LittleEndian.PutUint64(b[at:], v)
		return b
	}
	for _, c := range []struct {
		name string
		blob []byte
		kind error
		says string
	}{
		{"cycle of two", modernTree([]entry{lib(), of("a")}, [][]int{{1}, {0}}), runtime.ErrCorruptModule, "module"},
		{"module that imports itself", modernTree([]entry{lib()}, [][]int{{0}}), runtime.ErrCorruptModule, "module"},
		{"child before parent", modernTree([]entry{lib(), of("a"), of("b")}, [][]int{{2}, nil, {1}}),
			runtime.ErrCorruptModule, "module"},
		{"child that does not exist", modernTree([]entry{lib()}, [][]int{{1}}), runtime.ErrCorruptModule, "module"},
		{"two libraries", modernTree([]entry{lib(), lib()}, [][]int{{1}, nil}), runtime.ErrCorruptModule, "_lib"},
		{"no module", modernTree(nil, nil), runtime.ErrCorruptModule, "module"},
		{"unknown kind", modernTree([]entry{lib(), {"npu", nil}}, [][]int{{1}, nil}), runtime.ErrNotFound,
			`"npu" has no loader: register one`},
		{"kind without name", modernTree([]entry{lib(), {"", nil}}, [][]int{{1}, nil}), runtime.ErrCorruptModule,
			"kind"},
		{"length of the blob", wild(0, 1<<63), runtime.ErrCorruptModule, "blob"},
		{"length one too many", wild(0, blobRoom), runtime.ErrCorruptModule, "blob"},
		{"length of nothing", wild(0, 0), runtime.ErrCorruptModule, "blob"},
		{"count of row pointers", wild(8, 1<<61), runtime.ErrCorruptModule, "row pointers"},
		{"row pointers that fall", wild(24, 1<<40), runtime.ErrCorruptModule, "tree"},
		{"count of children", wild(40, ^uint64(0)), runtime.ErrCorruptModule, "children"},
		{"length of a kind", wild(56, ^uint64(0)), runtime.ErrCorruptModule, "kind"},
	} {
		t.Run(c.name, func(t *testing.T) {
			noLeaks(t)
			namedKind(t, nil)
			_, err := runtime.LoadBytes(ctx, withBlob(t, probeSource, c.blob), runtime.Name("model.so"))
			requireError(t, err, c.kind, "load model.so", c.says)
		})
	}
	t.Run("two libraries, legacy", func(t *testing.T) {
		noLeaks(t)
		_, err := runtime.LoadBytes(ctx,
			withBlob(t, classicSource, legacyTree([]entry{lib(), lib()}, [][]int{{1}, nil})))
		requireError(t, err, runtime.ErrCorruptModule, "_lib")
	})
	t.Run("unknown kind, legacy", func(t *testing.T) {
		noLeaks(t)
		_, err := runtime.LoadBytes(ctx,
			withBlob(t, classicSource, legacyTree([]entry{lib(), {"npu", nil}}, [][]int{{1}, nil})))
		requireError(t, err, runtime.ErrNotFound, `"npu"`)
	})
}

// A truncated blob, and one with any byte changed, is loaded or rejected, and nothing leaks.
func TestImportTree_DamagedBlob(t *testing.T) {
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			noLeaks(t)
			namedKind(t, nil)
			good := l.tree([]entry{lib(), l.of("a"), l.of("b")}, [][]int{{1}, {2}, nil})
			try := func(b []byte) {
				m, err := runtime.LoadBytes(ctx, withBlob(t, l.source, b))
				if err != nil {
					require.True(t, isKind(err, runtime.ErrCorruptModule, runtime.ErrNotFound), "%v", err)
					return
				}
				m.Functions()
				m.Close()
			}
			for n := 8; n < len(good); n += 3 {
				short := append([]byte{}, good[:n]...)
				binary.LittleEndian.PutUint64(short, uint64(n-8))
				try(short)
			}
			for i := range good {
				for _, bit := range []byte{0x01, 0x80} {
					bad := append([]byte{}, good...)
					bad[i] ^= bit
					try(bad)
				}
			}
		})
	}
}

func TestImportTree_LoaderFails(t *testing.T) {
	sorry := errors.New("no good")
	for _, c := range []struct {
		name string
		load func(p runtime.Payload) (runtime.ModuleImpl, error)
		kind error
		says string
	}{
		{"error", func(runtime.Payload) (runtime.ModuleImpl, error) { return nil, sorry }, runtime.ErrFailed,
			"no good"},
		{"wrapped kind", func(runtime.Payload) (runtime.ModuleImpl, error) {
			return nil, fmt.Errorf("%w: two headers", runtime.ErrCorruptModule)
		}, runtime.ErrCorruptModule, "two headers"},
		{"panic", func(runtime.Payload) (runtime.ModuleImpl, error) { panic("boom") }, runtime.ErrFailed,
			"panic: boom"},
		{"nothing", func(runtime.Payload) (runtime.ModuleImpl, error) { return nil, nil }, runtime.ErrFailed,
			"gave no module"},
	} {
		t.Run(c.name, func(t *testing.T) {
			noLeaks(t)
			var closed []string
			namedKind(t, &closed)
			moduleKind(t, runtime.ModuleKind{Name: "tvmgo_test_bad", Load: c.load})
			_, err := runtime.LoadBytes(ctx, withBlob(t, probeSource, modernTree(
				[]entry{lib(), of("a"), {"tvmgo_test_bad", nil}}, [][]int{{1, 2}, nil, nil})), runtime.Name("m.so"))
			requireError(t, err, c.kind, "load m.so", `module kind "tvmgo_test_bad"`, c.says)
			require.Equal(t, []string{"a"}, closed, "modules that were already loaded are closed")
			if c.name == "error" {
				require.ErrorIs(t, err, sorry)
			}
		})
	}
}

// A loader that is registered as a C function can make mistakes that a kind registered in Go cannot make.
func TestImportTree_LoaderReturnsSomethingElse(t *testing.T) {
	compiler(t)
	noLeaks(t)
	const name = "ffi.Module.load_from_bytes.tvmgo_test_else"
	mine := must.Open(runtime.NewModule("mine", 0, &goModule{}))(t)
	for _, c := range []struct {
		result any
		count  int
		says   string
	}{
		{int64(1), 1, "returned no module"},
		{"text of some length", 1, "returned no module"},
		{nil, 1, "returned no module"},
		{mine, 2, "in the tree already"},
	} {
		require.NoError(t, runtime.RegisterGlobal(name,
			goFunction(t, func(args ...any) (any, error) { return c.result, nil }), true))
		entries, children := []entry{lib()}, [][]int{nil}
		for i := range c.count {
			entries = append(entries, entry{"tvmgo_test_else", nil})
			children = append(children, nil)
			children[i] = []int{i + 1}
		}
		_, err := runtime.LoadBytes(ctx, withBlob(t, probeSource, modernTree(entries, children)))
		requireError(t, err, runtime.ErrFailed, c.says)
	}
	require.True(t, runtime.RemoveGlobal(name))
	require.Empty(t, must.Get(mine.Imports())(t))
}

func TestModuleKind_Registration(t *testing.T) {
	noLeaks(t)
	load := func(runtime.Payload) (runtime.ModuleImpl, error) { return &goModule{}, nil }
	requireError(t, runtime.RegisterModuleKind(runtime.ModuleKind{Load: load}), runtime.ErrInvalidArgument)
	requireError(t, runtime.RegisterModuleKind(runtime.ModuleKind{Name: "x"}), runtime.ErrInvalidArgument)
	requireError(t, runtime.RegisterModuleKind(runtime.ModuleKind{Name: "a\x00b", Load: load}),
		runtime.ErrInvalidArgument)

	kind := moduleKind(t, runtime.ModuleKind{Name: "tvmgo_test_kind", Load: load})
	require.ErrorContains(t, runtime.RegisterModuleKind(runtime.ModuleKind{Name: kind, Load: load}), "taken")
	_, err := runtime.Global("ffi.Module.load_from_bytes." + kind)
	require.NoError(t, err, "the failed registration did not change the first one")

	// If the name of one of a kind's two loaders is taken, the other is not registered either.
	const half = "tvmgo_test_half"
	f := goFunction(t, func(...any) (any, error) { return nil, nil })
	require.NoError(t, runtime.RegisterGlobal("runtime.module.loadbinary_"+half, f, false))
	require.ErrorContains(t, runtime.RegisterModuleKind(runtime.ModuleKind{Name: half, Load: load}), "taken")
	requireError(t, must.Fail(runtime.Global("ffi.Module.load_from_bytes."+half)), runtime.ErrNotFound)
	require.True(t, runtime.RemoveGlobal("runtime.module.loadbinary_"+half))
}

// C calls the loader of a kind with bytes of every representation.
func TestModuleKind_LoaderAsGlobalFunction(t *testing.T) {
	noLeaks(t)
	namedKind(t, nil)
	f := global(t, "ffi.Module.load_from_bytes."+named)
	for _, arg := range []any{[]byte("ab"), []byte("longer than seven bytes"), "ab", "text longer than seven bytes"} {
		m := call(t, f, arg).(*runtime.Module)
		require.Equal(t, named, m.Kind())
		require.EqualValues(t, arg, must.Get(m.SaveToBinary())(t))
		require.NoError(t, m.Close())
	}
	requireError(t, must.Fail(f.Call(1)), runtime.ErrInvalidArgument, "expected bytes, got int64")
	requireError(t, must.Fail(f.Call()), runtime.ErrInvalidArgument, "0 arguments")
}

// A walk visits each module once: a tree of diamonds has 2^60 paths.
func TestImportTree_Diamonds(t *testing.T) {
	noLeaks(t)
	namedKind(t, nil)
	entries, children := []entry{lib()}, [][]int{{1, 2}}
	for i := range 60 {
		entries = append(entries, of(fmt.Sprint("l", i)), of(fmt.Sprint("r", i)))
		next := []int{2*i + 3, 2*i + 4}
		if i == 59 {
			next = nil
		}
		children = append(children, next, next)
	}
	m := loadBytes(t, withBlob(t, probeSource, modernTree(entries, children)))
	requireError(t, must.Fail(m.Function("nothing")), runtime.ErrNotFound)
	require.Equal(t, "r59", call(t, function(t, m, "env"), "r59"))
	require.ErrorContains(t, must.Fail(function(t, m, "env").Call("nothing")), "nothing")
}
