package runtime_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/internal/testing/must"
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

// csr writes an import tree from the children of each module.
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

// modernTree returns a blob of v0.22 and newer: the tree first, payloads with their length.
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

// legacyTree returns a blob of v0.20 and older: entries with keys, the tree last. If children is nil, there is no tree.
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

// goModule is a module with the functions of a map.
type goModule struct {
	runtime.ModuleBase
	payload   []byte
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

func (m *goModule) SaveToBinary() ([]byte, error) { return m.payload, nil }

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

// namedKind registers a kind whose payload is a name. Each module has a function with that name, which returns it, and
// a function "who", as other modules do. closed collects the names in the order of Close.
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

// The legacy layout has no lengths before payloads: each kind determines where its payload ends.
func init() {
	err := blob.Register(named, func(r *blob.Reader, layout blob.Layout) error {
		r.Bytes("name")
		return r.Err()
	})
	if err != nil {
		panic(err)
	}
}

func lib() entry { return entry{kind: "_lib"} }

func of(name string) entry { return entry{named, []byte(name)} }

func oldOf(name string) entry { return entry{named, sized(bytesOut(name))} }

// layouts are the two generations of files with a blob.
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
	deps := must.Get(m.Imports())(t)
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
