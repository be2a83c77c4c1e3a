package runtime_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/runtime"
)

// ---- blobs, written by hand ----

type entry struct {
	kind    string
	payload []byte
}

type bytesOut []byte

func (b *bytesOut) u64(v ...uint64) {
	for _, v := range v {
		*b = binary.LittleEndian.AppendUint64(*b, v)
	}
}

func (b *bytesOut) bytes(s []byte) {
	b.u64(uint64(len(s)))
	*b = append(*b, s...)
}

// csr writes an import tree: children of each module.
func (b *bytesOut) csr(children [][]int) {
	b.u64(uint64(len(children) + 1))
	n := uint64(0)
	b.u64(0)
	for _, c := range children {
		n += uint64(len(c))
		b.u64(n)
	}
	b.u64(n)
	for _, c := range children {
		for _, i := range c {
			b.u64(uint64(i))
		}
	}
}

func sized(b bytesOut) []byte {
	var out bytesOut
	out.bytes(b)
	return out
}

// modernTree is a blob of v0.22 and newer (ABI: tree first, payloads with their length).
func modernTree(entries []entry, children [][]int) []byte {
	var b bytesOut
	b.csr(children)
	for _, e := range entries {
		b.bytes([]byte(e.kind))
		if e.kind != "_lib" {
			b.bytes(e.payload)
		}
	}
	return sized(b)
}

// legacyTree is a blob of v0.20 and older: keyed entries, the tree last; nil children: no tree.
func legacyTree(entries []entry, children [][]int) []byte {
	var b bytesOut
	n := uint64(len(entries))
	if children != nil {
		n++
	}
	b.u64(n)
	for _, e := range entries {
		b.bytes([]byte(e.kind))
		b = append(b, e.payload...)
	}
	if children != nil {
		b.bytes([]byte("_import_tree"))
		b.csr(children)
	}
	return sized(b)
}

// ---- a module kind written in Go ----

// goModule has the functions of its table.
type goModule struct {
	runtime.ModuleBase
	payload   []byte
	legacy    bool
	functions map[string]runtime.PackedFunc
	closed    func()
}

func (m *goModule) Function(name string) (*runtime.Function, error) {
	if f := m.functions[name]; f != nil {
		return runtime.NewFunction(f)
	}
	return nil, runtime.ErrNotFound
}

func (m *goModule) Functions() []string {
	var names []string
	for name := range m.functions {
		names = append(names, name)
	}
	return names
}

func (m *goModule) SaveToBinary() ([]byte, error)           { return m.payload, nil }
func (m *goModule) GetSource(format string) (string, error) { return "source in " + format, nil }
func (m *goModule) Close() error {
	if m.closed != nil {
		m.closed()
	}
	return nil
}

// moduleKind registers a kind for one test.
func moduleKind(t testing.TB, k runtime.ModuleKind) string {
	t.Helper()
	require.NoError(t, runtime.RegisterModuleKind(k))
	t.Cleanup(func() {
		require.True(t, runtime.RemoveGlobal("ffi.Module.load_from_bytes."+k.Name))
		require.True(t, runtime.RemoveGlobal("runtime.module.loadbinary_"+k.Name))
	})
	return k.Name
}

const named = "tvmgo_test_named"

// namedKind makes modules whose payload is a name: each has a function of that name that returns
// it, and "who", which several have. closed gets the names in the order of Close.
func namedKind(t testing.TB, closed *[]string) {
	moduleKind(t, runtime.ModuleKind{Name: named, Properties: runtime.Serializable | runtime.Runnable,
		Load: func(p runtime.Payload) (runtime.ModuleImpl, error) {
			if p.Legacy {
				p.Data = p.Data[8:] // the length
			}
			name := string(p.Data)
			who := func(args ...any) (any, error) { return name, nil }
			return &goModule{payload: p.Data, functions: map[string]runtime.PackedFunc{name: who, "who": who},
				closed: func() {
					if closed != nil {
						*closed = append(*closed, name)
					}
				}}, nil
		}})
}

// The legacy layout has no lengths before payloads: a kind says itself where its own ends.
func init() {
	err := blob.Register(named, func(r *blob.Reader, layout blob.Layout) error {
		r.Bytes("name")
		return r.Err()
	})
	if err != nil {
		panic(err)
	}
}

func lib() entry              { return entry{kind: "_lib"} }
func of(name string) entry    { return entry{named, []byte(name)} }
func oldOf(name string) entry { return entry{named, sized(bytesOut(name))} }

// layouts are both generations of files that carry a blob.
var layouts = []struct {
	name, source string
	tree         func(entries []entry, children [][]int) []byte
	of           func(name string) entry
}{
	{"modern", probeSource, modernTree, of},
	{"legacy", classicSource, legacyTree, oldOf},
}

func names(t testing.TB, m *runtime.Module) (list []string) {
	t.Helper()
	deps, err := m.Imports()
	require.NoError(t, err)
	for _, d := range deps {
		f, err := d.Function("who")
		if err != nil {
			list = append(list, d.Kind())
		} else {
			list = append(list, call(t, f).(string))
			f.Close()
		}
		require.NoError(t, d.Close())
	}
	return list
}

func TestImportTree_OfGoModules(t *testing.T) {
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			noLeaks(t)
			namedKind(t, nil)
			m := loadBytes(t, withBlob(t, l.source, l.tree(
				[]entry{lib(), l.of("a"), l.of("b"), l.of("c")}, [][]int{{1, 3}, {2, 3}, nil, nil})))
			require.Equal(t, "library", m.Kind())
			require.Equal(t, []string{"a", "c"}, names(t, m))
			deps, err := m.Imports()
			require.NoError(t, err)
			defer deps[0].Close()
			defer deps[1].Close()
			require.Equal(t, named, deps[0].Kind())
			require.Equal(t, runtime.Serializable|runtime.Runnable, deps[0].Properties())
			require.Equal(t, []string{"b", "c"}, names(t, deps[0]))
			// Depth first: b stands before c.
			require.Equal(t, "a", call(t, function(t, m, "who")))
			require.Equal(t, "b", call(t, function(t, m, "b")))
			require.Equal(t, "c", call(t, function(t, m, "c")))
			_, err = deps[1].Function("b")
			requireError(t, err, runtime.ErrNotFound)
		})
	}
}

func TestImportTree_PayloadIsAViewThatLives(t *testing.T) {
	noLeaks(t)
	var data []byte
	moduleKind(t, runtime.ModuleKind{Name: "tvmgo_test_view", Load: func(p runtime.Payload) (runtime.ModuleImpl, error) {
		require.Equal(t, "tvmgo_test_view", p.Kind)
		require.False(t, p.Legacy)
		data = p.Data
		return &goModule{payload: p.Data}, nil
	}})
	payload := []byte("what the module is made of")
	m, err := runtime.LoadBytes(ctx, withBlob(t, probeSource, modernTree([]entry{lib(), {"tvmgo_test_view", payload}}, [][]int{{1}, nil})))
	require.NoError(t, err)
	address := call(t, function(t, m, "blob_address")).(int64)
	at := int64(uintptr(unsafe.Pointer(unsafe.SliceData(data))))
	require.True(t, at > address && at < address+blobRoom, "the payload was copied")

	deps, err := m.Imports()
	require.NoError(t, err)
	require.NoError(t, m.Close())
	// The module alone keeps the file mapped.
	require.Equal(t, payload, data)
	saved, err := deps[0].SaveToBinary()
	require.NoError(t, err)
	require.Equal(t, payload, saved)
	text, err := deps[0].GetSource("words")
	require.NoError(t, err)
	require.Equal(t, "source in words", text)
	requireError(t, deps[0].SaveToFile("x", ""), runtime.ErrNotSupported)
	require.NoError(t, deps[0].Close())
}

func TestImportTree_ClosesFromTheRootDown(t *testing.T) {
	noLeaks(t)
	var closed []string
	namedKind(t, &closed)
	m, err := runtime.LoadBytes(ctx, withBlob(t, probeSource, modernTree(
		[]entry{of("root"), lib(), of("leaf")}, [][]int{{1, 2}, {2}, nil})))
	require.NoError(t, err)
	leaf, err := m.Function("leaf")
	require.NoError(t, err)
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
	env, err := m.Function("env")
	require.NoError(t, err)
	require.NoError(t, m.Close())
	require.Empty(t, closed)
	require.Equal(t, "a", call(t, env, "who"))
	require.NoError(t, env.Close())
	require.Equal(t, []string{"a"}, closed)
}

func TestImportTree_Bad(t *testing.T) {
	deep := func(n int) (e []entry, children [][]int) {
		for i := range n {
			e = append(e, of(fmt.Sprint(i)))
			children = append(children, []int{i + 1})
		}
		children[n-1] = nil
		return e, children
	}
	wild := func(at int, v uint64) []byte {
		b := modernTree([]entry{lib(), of("a")}, [][]int{{1}, nil})
		binary.LittleEndian.PutUint64(b[at:], v)
		return b
	}
	deepEntries, deepTree := deep(600)
	for _, c := range []struct {
		name string
		blob []byte
		kind error
		says string
	}{
		{"cycle of two", modernTree([]entry{lib(), of("a")}, [][]int{{1}, {0}}), runtime.ErrCorruptModule, "module"},
		{"module that imports itself", modernTree([]entry{lib()}, [][]int{{0}}), runtime.ErrCorruptModule, "module"},
		{"child before parent", modernTree([]entry{lib(), of("a"), of("b")}, [][]int{{2}, nil, {1}}), runtime.ErrCorruptModule, "module"},
		{"child that does not exist", modernTree([]entry{lib()}, [][]int{{1}}), runtime.ErrCorruptModule, "module"},
		{"two libraries", modernTree([]entry{lib(), lib()}, [][]int{{1}, nil}), runtime.ErrCorruptModule, "_lib"},
		{"no module", modernTree(nil, nil), runtime.ErrCorruptModule, "module"},
		{"chain too long", modernTree(deepEntries, deepTree), runtime.ErrCorruptModule, "longer than 512"},
		{"unknown kind", modernTree([]entry{lib(), {"npu", nil}}, [][]int{{1}, nil}), runtime.ErrNotFound, `"npu" has no loader: register one`},
		{"kind without name", modernTree([]entry{lib(), {"", nil}}, [][]int{{1}, nil}), runtime.ErrCorruptModule, "kind"},
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
		_, err := runtime.LoadBytes(ctx, withBlob(t, classicSource, legacyTree([]entry{lib(), lib()}, [][]int{{1}, nil})))
		requireError(t, err, runtime.ErrCorruptModule, "_lib")
	})
	t.Run("unknown kind, legacy", func(t *testing.T) {
		noLeaks(t)
		_, err := runtime.LoadBytes(ctx, withBlob(t, classicSource, legacyTree([]entry{lib(), {"npu", nil}}, [][]int{{1}, nil})))
		requireError(t, err, runtime.ErrNotFound, `"npu"`)
	})
}

// A blob cut short, and one with any byte changed, loads or is refused, and nothing stays behind.
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
		{"error", func(runtime.Payload) (runtime.ModuleImpl, error) { return nil, sorry }, runtime.ErrFailed, "no good"},
		{"wrapped kind", func(runtime.Payload) (runtime.ModuleImpl, error) {
			return nil, fmt.Errorf("%w: two headers", runtime.ErrCorruptModule)
		}, runtime.ErrCorruptModule, "two headers"},
		{"panic", func(runtime.Payload) (runtime.ModuleImpl, error) { panic("boom") }, runtime.ErrFailed, "panic: boom"},
		{"nothing", func(runtime.Payload) (runtime.ModuleImpl, error) { return nil, nil }, runtime.ErrFailed, "gave no module"},
	} {
		t.Run(c.name, func(t *testing.T) {
			noLeaks(t)
			var closed []string
			namedKind(t, &closed)
			moduleKind(t, runtime.ModuleKind{Name: "tvmgo_test_bad", Load: c.load})
			_, err := runtime.LoadBytes(ctx, withBlob(t, probeSource, modernTree(
				[]entry{lib(), of("a"), {"tvmgo_test_bad", nil}}, [][]int{{1, 2}, nil, nil})), runtime.Name("m.so"))
			requireError(t, err, c.kind, "load m.so", `module kind "tvmgo_test_bad"`, c.says)
			require.Equal(t, []string{"a"}, closed, "what was loaded already is closed")
			if c.name == "error" {
				require.ErrorIs(t, err, sorry)
			}
		})
	}
}

// A loader in C's table may do what a kind registered in Go cannot.
func TestImportTree_LoaderReturnsSomethingElse(t *testing.T) {
	noLeaks(t)
	const name = "ffi.Module.load_from_bytes.tvmgo_test_else"
	mine, err := runtime.NewModule("mine", 0, &goModule{})
	require.NoError(t, err)
	defer mine.Close()
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
		require.NoError(t, runtime.RegisterGlobal(name, goFunction(t, func(args ...any) (any, error) { return c.result, nil }), true))
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
	deps, err := mine.Imports()
	require.NoError(t, err)
	require.Empty(t, deps)
}

func TestModuleKind_Registration(t *testing.T) {
	noLeaks(t)
	load := func(runtime.Payload) (runtime.ModuleImpl, error) { return &goModule{}, nil }
	requireError(t, runtime.RegisterModuleKind(runtime.ModuleKind{Load: load}), runtime.ErrInvalidArgument)
	requireError(t, runtime.RegisterModuleKind(runtime.ModuleKind{Name: "x"}), runtime.ErrInvalidArgument)
	requireError(t, runtime.RegisterModuleKind(runtime.ModuleKind{Name: "a\x00b", Load: load}), runtime.ErrInvalidArgument)

	kind := moduleKind(t, runtime.ModuleKind{Name: "tvmgo_test_kind", Load: load})
	require.ErrorContains(t, runtime.RegisterModuleKind(runtime.ModuleKind{Name: kind, Load: load}), "taken")
	_, err := runtime.Global("ffi.Module.load_from_bytes." + kind)
	require.NoError(t, err, "the failed registration left the first one alone")

	// Half of a kind is taken: the other half is not registered either.
	const half = "tvmgo_test_half"
	f := goFunction(t, func(...any) (any, error) { return nil, nil })
	require.NoError(t, runtime.RegisterGlobal("runtime.module.loadbinary_"+half, f, false))
	require.ErrorContains(t, runtime.RegisterModuleKind(runtime.ModuleKind{Name: half, Load: load}), "taken")
	_, err = runtime.Global("ffi.Module.load_from_bytes." + half)
	requireError(t, err, runtime.ErrNotFound)
	require.True(t, runtime.RemoveGlobal("runtime.module.loadbinary_"+half))
}

// C calls the loader of a kind with any kind of bytes.
func TestModuleKind_LoaderAsGlobalFunction(t *testing.T) {
	noLeaks(t)
	namedKind(t, nil)
	f := global(t, "ffi.Module.load_from_bytes."+named)
	for _, arg := range []any{[]byte("ab"), []byte("longer than seven bytes"), "ab", "text longer than seven bytes"} {
		m := call(t, f, arg).(*runtime.Module)
		require.Equal(t, named, m.Kind())
		saved, err := m.SaveToBinary()
		require.NoError(t, err)
		require.EqualValues(t, arg, saved)
		require.NoError(t, m.Close())
	}
	_, err := f.Call(1)
	requireError(t, err, runtime.ErrInvalidArgument, "expected bytes, got int64")
	_, err = f.Call()
	requireError(t, err, runtime.ErrInvalidArgument, "0 arguments")
}

// ---- modules made in the program ----

func TestModule_OfGo(t *testing.T) {
	noLeaks(t)
	var closed atomic.Int64
	m, err := runtime.NewModule("mine", runtime.Runnable, &goModule{
		functions: map[string]runtime.PackedFunc{"twice": func(args ...any) (any, error) { return 2 * args[0].(int64), nil }},
		closed:    func() { closed.Add(1) }})
	require.NoError(t, err)
	require.Equal(t, "mine", m.Kind())
	require.Equal(t, runtime.Runnable, m.Properties())
	require.Equal(t, []string{"twice"}, m.Functions())
	require.Equal(t, int64(6), call(t, function(t, m, "twice"), 3))
	_, err = m.Function("thrice")
	requireError(t, err, runtime.ErrNotFound, "twice")
	require.NoError(t, m.Close())
	require.Equal(t, int64(1), closed.Load())

	_, err = runtime.NewModule("", 0, &goModule{})
	requireError(t, err, runtime.ErrInvalidArgument)
	_, err = runtime.NewModule("mine", 0, nil)
	requireError(t, err, runtime.ErrInvalidArgument)
	_, err = runtime.NewModule("mi\x00ne", 0, &goModule{})
	requireError(t, err, runtime.ErrInvalidArgument)
}

// misbehaving is a module whose every method panics.
type misbehaving struct{ runtime.ModuleImpl }

func TestModule_OfGoThatPanics(t *testing.T) {
	noLeaks(t)
	m, err := runtime.NewModule("bad", 0, misbehaving{})
	require.NoError(t, err)
	_, err = m.Function("x")
	requireError(t, err, runtime.ErrFailed, "panic")
	require.Empty(t, m.Functions())
	_, err = m.GetSource("")
	requireError(t, err, runtime.ErrFailed, "panic")
	_, err = m.SaveToBinary()
	requireError(t, err, runtime.ErrFailed, "panic")
	requireError(t, m.SaveToFile("x", ""), runtime.ErrFailed, "panic")
	require.NoError(t, m.Close(), "a destructor has nobody to tell")
}

func TestModule_ImportsMustNotCycle(t *testing.T) {
	noLeaks(t)
	var mods [3]*runtime.Module
	for i := range mods {
		m, err := runtime.NewModule(fmt.Sprint("m", i), 0, &goModule{})
		require.NoError(t, err)
		defer m.Close()
		mods[i] = m
	}
	require.ErrorContains(t, mods[0].Import(mods[0]), "imports itself")
	require.NoError(t, mods[0].Import(mods[1]))
	require.NoError(t, mods[1].Import(mods[2]))
	require.ErrorContains(t, mods[2].Import(mods[0]), "Cyclic")
	require.ErrorContains(t, mods[1].Import(mods[0]), "Cyclic")
	require.NoError(t, mods[0].Import(mods[2]), "a diamond is none")
	deps, err := mods[0].Imports()
	require.NoError(t, err)
	require.Len(t, deps, 2)
	for _, d := range deps {
		d.Close()
	}
}

// ---- what generated code finds ----

func TestEnv_ImportsThenGlobals(t *testing.T) {
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			noLeaks(t)
			namedKind(t, nil)
			const name = "tvmgo_test.env"
			says := func(s string) *runtime.Function {
				return goFunction(t, func(...any) (any, error) { return int64(len(s)), nil })
			}
			require.NoError(t, runtime.RegisterGlobal(name, says("1"), false))
			defer runtime.RemoveGlobal(name)
			require.NoError(t, runtime.RegisterGlobal("who", says("global"), false))
			defer runtime.RemoveGlobal("who")

			m := loadBytes(t, withBlob(t, l.source, l.tree([]entry{lib(), l.of("a")}, [][]int{{1}, nil})))
			env := function(t, m, "env")
			require.Equal(t, "a", call(t, env, "who"), "an import comes before a global of its name")
			require.Equal(t, int64(1), call(t, env, name))
			_, err := env.Call("context")
			require.ErrorContains(t, err, "Cannot find function context", "not the library's own functions")
			_, err = env.Call("tvmgo_test.nothing")
			require.ErrorContains(t, err, "tvmgo_test.nothing")

			// What was found stays as long as the module, whatever becomes of the name.
			require.NoError(t, runtime.RegisterGlobal(name, says("22"), true))
			require.Equal(t, int64(1), call(t, env, name))
			require.True(t, runtime.RemoveGlobal(name))
			require.Equal(t, int64(1), call(t, env, name))
		})
	}
}

func TestEnv_WithoutImports(t *testing.T) {
	noLeaks(t)
	for _, source := range []string{probeSource, classicSource} {
		env := function(t, load(t, buildC(t, source)), "env")
		_, err := env.Call("tvmgo_test.nothing")
		require.ErrorContains(t, err, "tvmgo_test.nothing")
		require.EqualValues(t, runtime.NumThreads(), call(t, env, "runtime.NumThreads"))
	}
}

// A global function of the module's own does not keep the module alive through its cache.
func TestEnv_GlobalOfTheModuleItself(t *testing.T) {
	noLeaks(t)
	m := load(t, buildC(t, probeSource))
	const name = "tvmgo_test.own"
	require.NoError(t, runtime.RegisterGlobal(name, function(t, m, "count"), false))
	defer runtime.RemoveGlobal(name)
	require.NotZero(t, call(t, function(t, m, "env"), name))
}

func TestEnv_ManyGoroutinesLookUp(t *testing.T) {
	noLeaks(t)
	namedKind(t, nil)
	m := loadBytes(t, withBlob(t, probeSource, modernTree([]entry{lib(), of("a"), of("b")}, [][]int{{1, 2}, nil, nil})))
	env := function(t, m, "env")
	errs := make(chan error, 16)
	for g := range cap(errs) {
		go func() {
			want := string("ab"[g%2])
			got, err := env.Call(want)
			if err == nil && got != want {
				err = fmt.Errorf("got %v", got)
			}
			errs <- err
		}()
	}
	for range cap(errs) {
		require.NoError(t, <-errs)
	}
}

// The context slot holds the library's own module, wherever that stands in the tree (ABI.md C.4).
func TestContextSlot(t *testing.T) {
	for _, l := range layouts {
		for _, c := range []struct {
			name     string
			entries  []entry
			children [][]int
			sees     string // what "who" finds from the library; "" nothing
		}{
			{"library is the root", []entry{lib(), l.of("a")}, [][]int{{1}, nil}, "a"},
			{"library below the root", []entry{l.of("r"), lib(), l.of("a")}, [][]int{{1, 2}, {2}, nil}, "a"},
			{"library is the last", []entry{l.of("r"), l.of("a"), lib()}, [][]int{{1, 2}, nil, nil}, ""},
			{"no library in the tree", []entry{l.of("r"), l.of("a")}, [][]int{{1}, nil}, "none"},
			{"no tree", []entry{l.of("a"), l.of("b")}, nil, "a"},
		} {
			if c.children == nil && l.name == "modern" {
				continue // a modern blob always has its tree
			}
			t.Run(l.name+"/"+c.name, func(t *testing.T) {
				noLeaks(t)
				namedKind(t, nil)
				// The library's functions are reached through a second module kind: the registry.
				m := loadBytes(t, withBlob(t, l.source, l.tree(c.entries, c.children)))
				if c.sees == "none" {
					_, err := m.Function("context")
					requireError(t, err, runtime.ErrNotFound)
					require.Equal(t, "r", call(t, function(t, m, "who")))
					return
				}
				require.NotZero(t, call(t, function(t, m, "context")))
				who, err := function(t, m, "env").Call("who")
				if c.sees == "" {
					require.ErrorContains(t, err, "Cannot find function who")
					return
				}
				require.NoError(t, err)
				require.Equal(t, c.sees, who)
			})
		}
	}
}

// Two loads of one file are two modules: each finds its own imports.
func TestContextSlot_TwoLoadsOfOneFile(t *testing.T) {
	noLeaks(t)
	path := buildC(t, probeSource)
	const name = "tvmgo_test.import"
	var mods [2]*runtime.Module
	for i := range mods {
		mods[i] = load(t, path)
		dep, err := runtime.NewModule("dep", 0, &goModule{functions: map[string]runtime.PackedFunc{
			name: func(...any) (any, error) { return int64(i), nil }}})
		require.NoError(t, err)
		require.NoError(t, mods[i].Import(dep))
		require.NoError(t, dep.Close())
	}
	require.NotEqual(t, call(t, function(t, mods[0], "context")), call(t, function(t, mods[1], "context")))
	for i, m := range mods {
		require.Equal(t, int64(i), call(t, function(t, m, "env"), name))
	}
	require.NoError(t, mods[0].Close())
	require.Equal(t, int64(1), call(t, function(t, mods[1], "env"), name))
}
