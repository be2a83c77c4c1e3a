package blob

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/modulekind"
	"tvmgo/internal/testing/must"
)

func TestParse_Golden(t *testing.T) {
	for _, c := range []struct {
		layout Layout
		data   []byte
		tags   []int32
	}{
		{Legacy, legacyGolden, nil},
		{Modern, modernGolden, []int32{0, 0}},
	} {
		b := must.Get(Parse(slices.Concat(c.data, []byte("the rest of the section")), c.layout, nil))(t)
		require.EqualValues(t, len(c.data), b.Size)
		require.False(t, b.ImplicitRoot)
		require.Len(t, b.Entries, 2)
		require.Equal(t, []int{1}, b.Imports(0))
		require.Empty(t, b.Imports(1))
		require.Equal(t, 0, b.Library())
		require.True(t, b.Entries[0].IsLibrary())
		require.Nil(t, b.Entries[0].Payload)

		cuda := b.Entries[1]
		require.Equal(t, "cuda", cuda.Kind)
		require.Equal(t, cuda.Payload, c.data[cuda.Offset:][:len(cuda.Payload)])
		require.Equal(t, len(cuda.Payload), cap(cuda.Payload))
		m := must.Get(ParseDeviceModule(cuda.Payload, c.layout))(t)
		require.Equal(t, "ptx", m.Format)
		require.Equal(t, "//PTX", string(m.Data))
		info, ok := m.Function("k")
		require.True(t, ok)
		require.Equal(t, FunctionInfo{"k", []dlpack.DataType{dlpack.Handle, dlpack.Int32},
			[]string{"blockIdx.x", "threadIdx.x"}, c.tags}, info)
		_, ok = m.Function("j")
		require.False(t, ok)
	}
}

func TestParse_PayloadIsAView(t *testing.T) {
	data := slices.Clone(modernGolden)
	b := must.Get(Parse(data, Modern, nil))(t)
	e := b.Entries[1]
	require.Same(t, &data[e.Offset], &e.Payload[0])
}

// goldens are complete blobs, small enough to test every change of every byte.
func goldens() map[string]struct {
	layout Layout
	data   []byte
} {
	type g = struct {
		layout Layout
		data   []byte
	}
	tree := func(x *bld) []byte { return x.str(ImportTreeKey).vec(0, 1, 1).vec(1).done() }
	kind := func(n string) *bld { return build().u64(3).str("_lib").str(n) }
	return map[string]g{
		"legacy":  {Legacy, legacyGolden},
		"modern":  {Modern, modernGolden},
		"empty":   {Legacy, build().u64(0).done()},
		"no tree": {Legacy, build().u64(2).str("opencl").str("cl").u64(0).str("").str("_lib").done()},
		"v0.21":   {LegacyFFI, tree(kind("opencl").str("cl").u64(1).fn("f", LegacyFFI).str("kernel"))},
		"vulkan": {Legacy,
			tree(kind("vulkan").str("vulkan").u64(1).fn("f",
				Legacy).u64(1).str("f").u32(1).u64(2).u32(0x07230203).u32(7))},
		"metal": {Legacy,
			tree(kind("metal").str("0.1.0").u64(1).str("f").str("src").u64(1).fn("f", Legacy).str("metal"))},
		"old metal":      {Legacy, tree(kind("metal").str("metal").u64(1).fn("f", Legacy).str("src"))},
		"c":              {Legacy, tree(kind("c").str("int x;").str("c").strs("f").strs("p0"))},
		"static_library": {Legacy, tree(kind("static_library").str("ELF").strs("f", "g"))},
		"const_loader": {Legacy,
			tree(kind("const_loader").strs("a", "b").u64(2).tensor(1).tensor(0).strs("f").u64(1).strs("a"))},
		"graph": {Legacy,
			tree(kind("GraphRuntimeFactory").str("{}").u64(1).strs("p").tensor(2).str("default"))},
		"executable": {Legacy, tree(kind("relax.VMExecutable").str("bytes"))},
		"dnnl_json":  {Legacy, tree(kind("dnnl_json").str("f").str("{}").strs("c"))},
		"tensorrt":   {Legacy, tree(kind("tensorrt").str("f").str("{}").strs())},
		"hip":        {Legacy, tree(kind("hip").str("hsaco").u64(0).str("ELF"))},
		"modern, any kinds": {Modern,
			build().vec(0, 2, 2, 3, 3).vec(1, 2,
				3).str("root.kind").str("R").str("_lib").str("x").str("").str("y").str("Y").done()},
	}
}

func TestParse_EveryKind(t *testing.T) {
	covered := map[modulekind.Form]bool{}
	for name, g := range goldens() {
		b, err := Parse(g.data, g.layout, nil)
		require.NoError(t, err, name)
		require.EqualValues(t, len(g.data), b.Size, name)
		for _, e := range b.Entries {
			if g.layout != Modern && !e.IsLibrary() {
				covered[modulekind.FormOf(e.Kind)] = true
			}
		}
	}
	for _, k := range modulekind.All() {
		require.Equal(t, k.Form != modulekind.Opaque, covered[k.Form], "a golden blob with the form of kind %s", k.Name)
	}
}

// All kinds that TVM up to v0.21 wrote have scanners.
func TestKinds_OfDescriptors(t *testing.T) {
	names := DefaultKinds().Names()
	for _, k := range modulekind.All() {
		require.Equal(t, k.Form != modulekind.Opaque && !k.Family, slices.Contains(names, k.Name), k.Name)
		require.Equal(t, k.Import, LoaderImport(k.Name))
		require.Equal(t, k.Unsupported, Unsupported(k.Name))
	}
	require.Contains(t, names, "metadata", "an old name")
}

// TestParse_GraphParameters checks that the number of names must equal the factory's number of parameters.
func TestParse_GraphParameters(t *testing.T) {
	for _, n := range []uint64{0, 2} {
		data := build().u64(3).str("_lib").str("GraphExecutorFactory").str("{}").u64(n).strs("p").
			tensor(2).str("default").str(ImportTreeKey).vec(0, 1, 1).vec(1).done()
		_, err := Parse(data, Legacy, nil)
		require.ErrorIs(t, err, ErrCorrupt)
		require.ErrorContains(t, err, fmt.Sprintf("%d parameters and 1 names", n))
	}
}

func TestParse_EveryTruncation(t *testing.T) {
	for name, g := range goldens() {
		for n := range g.data {
			require.ErrorIs(t, must.Fail(Parse(g.data[:n], g.layout, nil)), ErrCorrupt, "%s cut to %d", name, n)
			if n < 8 {
				continue
			}
			cut := slices.Clone(g.data[:n]) // and once more with a length that agrees
			binary.LittleEndian.PutUint64(cut, uint64(n-8))
			_, err := Parse(cut, g.layout, nil)
			require.ErrorIs(t, err, ErrCorrupt, "%s cut to %d, length corrected", name, n)
		}
		longer := append(slices.Clone(g.data), 0)
		binary.LittleEndian.PutUint64(longer, uint64(len(longer)-8))
		require.ErrorIs(t, must.Fail(Parse(longer, g.layout, nil)), ErrCorrupt, "%s with a byte left over", name)
	}
}

// requireSound checks the properties of every parsed blob, whatever the bytes were.
func requireSound(t *testing.T, data []byte, b *Blob) {
	t.Helper()
	size, libraries := 0, 0
	for i := range b.Entries {
		e := &b.Entries[i]
		size += len(e.Kind) + len(e.Payload)
		if e.IsLibrary() {
			libraries++
		}
		if len(e.Payload) > 0 && &data[e.Offset] != &e.Payload[0] {
			t.Fatal("a payload is not where its offset says")
		}
		for _, child := range b.Imports(i) {
			if child <= i || child >= len(b.Entries) {
				t.Fatalf("module %d imports %d", i, child)
			}
		}
	}
	if size > len(data) || libraries > 1 || b.Size > int64(len(data)) || !b.ImplicitRoot && len(b.Entries) == 0 {
		t.Fatalf("unsound blob %+v", b)
	}
}

func TestParse_EveryByteChanged(t *testing.T) {
	for name, g := range goldens() {
		data := slices.Clone(g.data)
		for i := range data {
			old := data[i]
			for v := range 256 {
				data[i] = byte(v)
				b, err := Parse(data, g.layout, nil)
				if err == nil {
					requireSound(t, data, b)
					requireWritable(t, data, b)
					readPayloads(b)
				} else if kind := (*UnknownKindError)(nil); !errors.Is(err, ErrCorrupt) && !errors.As(err, &kind) {
					t.Fatalf("%s: byte %d = %#x: an untyped error: %v", name, i, v, err)
				}
			}
			data[i] = old
		}
	}
}

func readPayloads(b *Blob) {
	for _, e := range b.Entries {
		_, _ = ParseDeviceModule(e.Payload, b.Layout)
		_, _ = ParseVulkanModule(e.Payload, b.Layout)
	}
}

func TestParse_WildCountsAllocateLittle(t *testing.T) {
	for name, g := range goldens() {
		for i := 0; i+8 <= len(g.data); i++ {
			for _, wild := range []uint64{1<<64 - 1, 1 << 63, 1<<61 + 1, 1 << 40, 1 << 28} {
				data := slices.Clone(g.data)
				binary.LittleEndian.PutUint64(data[i:], wild)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				b, err := Parse(data, g.layout, nil)
				if err == nil {
					readPayloads(b)
				}
				runtime.ReadMemStats(&after)
				require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<10), "%s: %#x at %d", name, wild, i)
			}
		}
	}
}

func TestParse_ImportTree(t *testing.T) {
	modern := func(rowPtr, children []uint64, kinds ...string) []byte {
		x := build().vec(rowPtr...).vec(children...)
		for _, k := range kinds {
			x.str(k)
			if k != LibraryKey {
				x.str("payload")
			}
		}
		return x.done()
	}
	legacy := func(rowPtr, children []uint64, kinds ...string) []byte {
		x := build().u64(uint64(len(kinds) + 1))
		for _, k := range kinds {
			x.str(k)
			if k != LibraryKey {
				x.str("executable")
			}
		}
		return x.str(ImportTreeKey).vec(rowPtr...).vec(children...).done()
	}
	const exe = "relax.VMExecutable"
	for _, c := range []struct {
		name             string
		rowPtr, children []uint64
		kinds            []string
		want             string // in both layouts
	}{
		{"one module", []uint64{0, 0}, nil, []string{"_lib"}, ""},
		{"diamond", []uint64{0, 2, 3, 4, 4}, []uint64{1, 2, 3, 3}, []string{"_lib", exe, exe, exe}, ""},
		{"unsorted", []uint64{0, 2, 2, 2}, []uint64{2, 1}, []string{"_lib", exe, exe}, ""},
		{"does not start at 0", []uint64{1, 1, 1}, []uint64{1}, []string{"_lib", exe}, "row pointers from 1"},
		{"falls", []uint64{0, 2, 1, 2}, []uint64{1, 2}, []string{"_lib", exe, exe}, "row 1 goes from 2 to 1"},
		{"beyond", []uint64{0, 9, 1}, []uint64{1}, []string{"_lib", exe}, "row 0 goes from 0 to 9"},
		{"child unknown", []uint64{0, 1, 1}, []uint64{2}, []string{"_lib", exe}, "module 0 imports module 2 of 2"},
		{"child huge", []uint64{0, 1, 1}, []uint64{1 << 63}, []string{"_lib", exe},
			"imports module 9223372036854775808"},
		{"self", []uint64{0, 1, 1}, []uint64{0}, []string{"_lib", exe}, "module 0 imports itself"},
		{"cycle", []uint64{0, 1, 2}, []uint64{1, 0}, []string{"_lib", exe}, "module 1 imports module 0"},
		{"children left over", []uint64{0, 1, 1}, []uint64{1, 1}, []string{"_lib", exe},
			"row pointers from 0 to 1 over 2 children"},
		{"two libraries", []uint64{0, 1, 1}, []uint64{1}, []string{"_lib", "_lib"}, `a second "_lib" entry`},
	} {
		for layout, data := range map[Layout][]byte{
			Legacy: legacy(c.rowPtr, c.children, c.kinds...), Modern: modern(c.rowPtr, c.children, c.kinds...),
		} {
			b, err := Parse(data, layout, nil)
			if c.want == "" {
				require.NoError(t, err, c.name)
				requireSound(t, data, b)
				continue
			}
			require.ErrorIs(t, err, ErrCorrupt, c.name)
			require.ErrorContains(t, err, c.want, c.name)
		}
	}
	for want, data := range map[string][]byte{
		"2 row pointers for 2 modules": legacy([]uint64{0, 0}, nil, "_lib", exe),
		"4 row pointers for 2 modules": legacy([]uint64{0, 0, 0, 0}, nil, "_lib", exe),
		"0 row pointers for 1 modules": legacy(nil, nil, "_lib"),
		"the tree has no module":       legacy([]uint64{0}, nil),
		"a second import tree": build().u64(3).str("_lib").str(ImportTreeKey).vec(0,
			0).vec().str(ImportTreeKey).vec(0, 0).vec().done(),
		"the kind is empty": build().u64(1).str("").u64(0).done(),
	} {
		_, err := Parse(data, Legacy, nil)
		require.ErrorIs(t, err, ErrCorrupt, want)
		require.ErrorContains(t, err, want)
	}
	for want, data := range map[string][]byte{
		"0 row pointers: a blob has at least one module": modern(nil, nil),
		"1 row pointers: a blob has at least one module": modern([]uint64{0}, nil),
		"modules in 0 bytes":                             modern(make([]uint64, 100), nil),
		"bytes are left over":                            modern([]uint64{0, 0}, nil, "_lib", "more"),
	} {
		_, err := Parse(data, Modern, nil)
		require.ErrorIs(t, err, ErrCorrupt, want)
		require.ErrorContains(t, err, want)
	}
	require.Error(t, must.Fail(Parse(modernGolden, 9, nil)))
}

func TestParse_DeepChain(t *testing.T) {
	chain := func(modules int) []byte {
		var rowPtr, children []uint64
		for i := range modules {
			rowPtr = append(rowPtr, uint64(i))
			if i > 0 {
				children = append(children, uint64(i))
			}
		}
		rowPtr = append(rowPtr, uint64(modules-1))
		x := build().vec(rowPtr...).vec(children...)
		for range modules {
			x.str("m").str("")
		}
		return x.done()
	}
	for _, n := range []int{1000, 100_000} {
		data := chain(n)
		b := must.Get(Parse(data, Modern, nil))(t)
		require.Len(t, b.Entries, n)
		for i := range n - 1 {
			require.Equal(t, []int{i + 1}, b.Imports(i))
		}
		again := must.Get(b.Encode())(t)
		require.True(t, bytes.Equal(data, again))
	}
}

func TestParse_ImplicitRoot(t *testing.T) {
	b := must.Get(Parse(unhex("08000000000000000000000000000000"), Legacy, nil))(t)
	require.True(t, b.ImplicitRoot)
	require.Empty(t, b.Entries)
	require.Equal(t, -1, b.Library())

	b = must.Get(Parse(goldens()["no tree"].data, Legacy, nil))(t)
	require.True(t, b.ImplicitRoot)
	require.Equal(t, "opencl", b.Entries[0].Kind)
	require.Equal(t, 1, b.Library())
	require.Empty(t, b.Imports(0))
}

func TestParse_UnknownKind(t *testing.T) {
	data := build().u64(2).str("_lib").str("foo").str("whatever").done()
	_, err := Parse(data, Legacy, nil)
	var unknown *UnknownKindError
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, "foo", unknown.Kind)
	require.Equal(t, "whatever", string(data[unknown.Offset+8:]))
	require.ErrorContains(t, err, `module kind "foo" cannot be skipped in a legacy blob: register a scanner`)
	require.NotErrorIs(t, err, ErrCorrupt)

	_, err = Parse(legacyGolden, Legacy, &Kinds{})
	require.ErrorContains(t, err, `module kind "cuda" cannot be skipped in a legacy blob: import tvmgo/runtime/cuda`)

	kinds := NewKinds()
	require.NoError(t, kinds.Register("foo", func(r *Reader, layout Layout) error { r.Str("foo"); return nil }))
	b := must.Get(Parse(data, Legacy, kinds))(t)
	require.Equal(t, "foo", b.Entries[1].Kind)
	require.ErrorContains(t, kinds.Register("foo", scanExecutable), "has one already")
	require.Error(t, kinds.Register("_lib", scanExecutable))
	require.Error(t, kinds.Register("x", nil))
	require.Contains(t, kinds.Names(), "foo")
	require.NotContains(t, DefaultKinds().Names(), "foo")

	refuse := NewKinds()
	require.NoError(t, refuse.Register("foo", func(*Reader, Layout) error { return errors.New("no such version") }))
	require.ErrorContains(t, must.Fail(Parse(data, Legacy, refuse)), `payload of module kind "foo": no such version`)
}

func TestFormatError_NamesKindAndPlace(t *testing.T) {
	data := slices.Clone(legacyGolden)
	data[0x8a] = 200 // length of the code
	_, err := Parse(data, Legacy, nil)
	var format *FormatError
	require.ErrorAs(t, err, &format)
	require.EqualValues(t, 0x92, format.Offset)
	require.Equal(t, `module of kind "cuda": device code`, format.What)
	require.True(t, strings.HasPrefix(err.Error(), "blob: offset 146: "), err.Error())
}

func TestLayout(t *testing.T) {
	for _, l := range []Layout{Legacy, LegacyFFI, Modern} {
		got, ok := LayoutOf("my_prefix_" + l.Symbol())
		require.True(t, ok)
		require.Equal(t, l, got)
	}
	_, ok := LayoutOf("__tvm_module_ctx")
	require.False(t, ok)
	require.Equal(t, "layout(7)", Layout(7).String())
}

func FuzzParse(f *testing.F) {
	for _, g := range goldens() {
		f.Add(g.data, uint8(g.layout))
	}
	f.Fuzz(func(t *testing.T, data []byte, layout uint8) {
		b, err := Parse(data, Layout(layout), nil)
		if err != nil {
			require.Nil(t, b)
			return
		}
		requireSound(t, data, b)
		readPayloads(b)
		requireWritable(t, data, b)
	})
}

// requireWritable writes a parsed blob: the bytes are the same, except that the legacy layouts do not fix the position
// of the tree.
func requireWritable(t *testing.T, data []byte, b *Blob) {
	t.Helper()
	written := must.Get(b.Encode())(t)
	if b.Layout == Modern {
		require.True(t, bytes.Equal(data[:b.Size], written))
	}
	again := must.Get(Parse(written, b.Layout, nil))(t)
	requireSame(t, b, again)
}
