package blob

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
)

func TestEncode_Golden(t *testing.T) {
	info := FunctionInfo{Name: "k", ArgTypes: []dlpack.DataType{dlpack.Handle, dlpack.Int32},
		LaunchParamTags: []string{"blockIdx.x", "threadIdx.x"}}
	module := DeviceModule{Format: "ptx", Functions: []Function{{Key: "k", FunctionInfo: info}}, Data: []byte("//PTX")}
	for layout, want := range map[Layout][]byte{Legacy: legacyGolden, Modern: modernGolden} {
		payload := must.Get(module.Encode(layout))(t)
		b := &Blob{Layout: layout, Entries: []Entry{{Kind: LibraryKey}, {Kind: "cuda", Payload: payload}},
			RowPtr: []int{0, 1, 1}, Children: []int{1}}
		require.Equal(t, want, must.Get(b.Encode())(t), layout)
	}
}

// requireSame checks that two blobs contain the same modules in the same tree.
func requireSame(t *testing.T, want, got *Blob) {
	t.Helper()
	require.Equal(t, want.Layout, got.Layout)
	require.Equal(t, want.ImplicitRoot, got.ImplicitRoot)
	require.Len(t, got.Entries, len(want.Entries))
	for i := range want.Entries {
		require.Equal(t, want.Entries[i].Kind, got.Entries[i].Kind)
		require.True(t, bytes.Equal(want.Entries[i].Payload, got.Entries[i].Payload), "payload %d", i)
		require.Equal(t, append([]int{}, want.Imports(i)...), append([]int{}, got.Imports(i)...))
	}
}

func TestEncode_RandomTrees(t *testing.T) {
	rng := testseed.Rand(t)
	for range 300 {
		want := randomBlob(rng)
		data := must.Get(want.Encode())(t)
		got := must.Get(Parse(append(data, "behind the blob"...), want.Layout, nil))(t)
		require.EqualValues(t, len(data), got.Size)
		requireSame(t, want, got)
		again := must.Get(got.Encode())(t)
		require.True(t, bytes.Equal(data, again))
	}
}

// randomBlob returns a blob with shared children, and with a library at any position or without one.
func randomBlob(rng *rand.Rand) *Blob {
	n := 1 + rng.IntN(20)
	b := &Blob{Layout: Layout(rng.IntN(3)), RowPtr: []int{0}}
	library := rng.IntN(n + 1)
	for i := range n {
		if i == library {
			b.Entries = append(b.Entries, Entry{Kind: LibraryKey})
		} else {
			b.Entries = append(b.Entries, randomEntry(rng, b.Layout))
		}
		for child := i + 1; child < n; child++ {
			if rng.IntN(4) == 0 {
				b.Children = append(b.Children, child)
			}
		}
		b.RowPtr = append(b.RowPtr, len(b.Children))
	}
	return b
}

func randomEntry(rng *rand.Rand, layout Layout) Entry {
	data := make([]byte, rng.IntN(1000))
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	switch rng.IntN(4) {
	case 0:
		return Entry{Kind: "static_library",
			Payload: (&StaticLibrary{Object: data, Functions: []string{"f", ""}}).Encode()}
	case 1:
		return Entry{Kind: "c", Payload: (&CSource{Code: string(data), Format: "c", Functions: []string{},
			Constants: []string{""}}).Encode()}
	case 2:
		if layout == Modern {
			return Entry{Kind: fmt.Sprintf("of a stranger %d", rng.IntN(3)), Payload: data}
		}
	}
	payload, err := (&DeviceModule{Format: "cl",
		Functions: []Function{{Key: "", FunctionInfo: FunctionInfo{Name: "n"}}}, Data: data}).Encode(layout)
	if err != nil {
		panic(err)
	}
	return Entry{Kind: "opencl", Payload: payload}
}

func TestEncode_WithoutTree(t *testing.T) {
	for _, entries := range [][]Entry{nil, {{Kind: "c", Payload: (&CSource{}).Encode()}}} {
		b := &Blob{Layout: Legacy, ImplicitRoot: true, Entries: entries}
		data := must.Get(b.Encode())(t)
		got := must.Get(Parse(data, Legacy, nil))(t)
		requireSame(t, b, got)
	}
	require.ErrorContains(t, must.Fail((&Blob{Layout: Modern, ImplicitRoot: true}).Encode()), "without an import tree")
}

func TestEncode_Refuses(t *testing.T) {
	source := (&CSource{}).Encode()
	one := func(kind string, payload []byte) []Entry { return []Entry{{Kind: kind, Payload: payload}} }
	for name, c := range map[string]struct {
		blob Blob
		want string
	}{
		"layout":    {Blob{Layout: 7}, "unknown layout 7"},
		"no module": {Blob{Layout: Modern, RowPtr: []int{0}}, "the tree has no module"},
		"no tree":   {Blob{Layout: Modern, Entries: one("c", source)}, "0 row pointers for 1 modules"},
		"empty kind": {Blob{Layout: Modern, Entries: one("", source), RowPtr: []int{0, 0}},
			"module 0: the kind is empty"},
		"tree as kind": {Blob{Layout: Modern, Entries: one(ImportTreeKey, source), RowPtr: []int{0, 0}},
			"name of the import tree"},
		"library payload": {Blob{Layout: Modern, Entries: one(LibraryKey, source), RowPtr: []int{0, 0}},
			"has no payload"},
		"two libraries": {Blob{Layout: Modern, Entries: []Entry{{Kind: LibraryKey}, {Kind: LibraryKey}},
			RowPtr: []int{0, 0, 0}}, "a second"},
		"backward": {Blob{Layout: Modern, Entries: []Entry{{Kind: LibraryKey}, {Kind: "c"}},
			RowPtr: []int{0, 0, 1}, Children: []int{0}}, "comes before it"},
		"negative": {Blob{Layout: Modern, Entries: []Entry{{Kind: LibraryKey}}, RowPtr: []int{0, 1},
			Children: []int{-1}}, "imports module"},
		"legacy kind": {Blob{Layout: Legacy, Entries: one("mine", nil), RowPtr: []int{0, 0}},
			`module kind "mine" cannot be skipped`},
		"legacy payload": {Blob{Layout: Legacy, Entries: one("c", append(source, 1)), RowPtr: []int{0, 0}},
			"1 bytes are left over"},
		"legacy too few": {Blob{Layout: Legacy, Entries: one("c", source[1:]), RowPtr: []int{0, 0}}, "needs"},
	} {
		var out bytes.Buffer
		require.ErrorContains(t, must.Fail(c.blob.WriteTo(&out)), c.want, name)
		require.Zero(t, out.Len(), name)
	}
}

type failAfter struct{ left int }

var errFull = errors.New("disk full")

func (f *failAfter) Write(p []byte) (int, error) {
	n := min(f.left, len(p))
	f.left -= n
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

func TestWriteTo_TellsFailures(t *testing.T) {
	b := must.Get(Parse(modernGolden, Modern, nil))(t)
	for n := range len(modernGolden) {
		written, err := b.WriteTo(&failAfter{n})
		require.ErrorIs(t, err, errFull)
		require.EqualValues(t, n, written)
	}
	written := must.Get(b.WriteTo(&failAfter{len(modernGolden)}))(t)
	require.EqualValues(t, len(modernGolden), written)
}

func TestWriteTo_CopiesNoPayload(t *testing.T) {
	b := &Blob{Layout: Modern, Entries: []Entry{{Kind: "x", Payload: make([]byte, 64<<20)}}, RowPtr: []int{0, 0}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n, err := b.WriteTo(io.Discard)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Greater(t, n, int64(64<<20))
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
}

func TestPayloads_RoundTrip(t *testing.T) {
	info := FunctionInfo{Name: "own", ArgTypes: []dlpack.DataType{dlpack.Float32, dlpack.Handle},
		LaunchParamTags: []string{"", "blockIdx.x"}, ArgExtraTags: []int32{0, 1}}
	functions := []Function{{Key: "b", FunctionInfo: info},
		{Key: "a", FunctionInfo: FunctionInfo{Name: "a", ArgTypes: []dlpack.DataType{}, LaunchParamTags: []string{},
			ArgExtraTags: []int32{}}}}
	shaders := []Shader{{Key: "b", Flag: 1, Code: []byte{1, 2, 3, 4}}, {Key: "a", Code: []byte{}}}
	tensor := Tensor{DType: dlpack.Float32, Shape: []int64{2, 1}, Data: []byte{1, 2, 3, 4, 5, 6, 7, 8}}
	for _, layout := range []Layout{LegacyFFI, Modern} {
		m := &DeviceModule{Format: "ptx", Functions: functions, Data: []byte("image")}
		payload := must.Get(m.Encode(layout))(t)
		require.Equal(t, m, must.Get(ParseDeviceModule(payload, layout))(t))

		v := &VulkanModule{Format: "vulkan", Functions: functions, Shaders: shaders}
		payload = must.Get(v.Encode(layout))(t)
		require.Equal(t, v, must.Get(ParseVulkanModule(payload, layout))(t))
	}
	file := must.Get(EncodeVulkanFile(shaders))(t)
	require.Equal(t, shaders, must.Get(ParseVulkanFile(file))(t))

	c := &CSource{Code: "int f;\n", Format: "c", Functions: []string{"f", ""}, Constants: []string{"w"}}
	require.Equal(t, c, must.Get(ParseCSource(c.Encode()))(t))

	s := &StaticLibrary{Object: []byte("\x7fELF"), Functions: []string{"f"}}
	require.Equal(t, s, must.Get(ParseStaticLibrary(s.Encode()))(t))

	k := &Constants{Names: []string{"w", "b"}, Tensors: []Tensor{tensor, tensor},
		Symbols: []SymbolConstants{{"f", []string{"b", "w"}}, {"g", []string{}}}}
	payload := must.Get(k.Encode())(t)
	require.Equal(t, k, must.Get(ParseConstants(payload))(t))
	for n := range payload {
		require.ErrorIs(t, must.Fail(ParseConstants(payload[:n])), ErrCorrupt)
	}

	meta := must.Get(EncodeMetaJSON(functions))(t)
	gotMeta := must.Get(ParseMetaJSON(meta))(t)
	require.Equal(t, "0.1.0", gotMeta.TVMVersion)
	functions[1].ArgExtraTags = nil // absent where there is none
	require.Equal(t, functions, gotMeta.Functions)
}

func TestPayloads_Refuse(t *testing.T) {
	tagged := FunctionInfo{Name: "k", ArgTypes: []dlpack.DataType{dlpack.Handle},
		ArgExtraTags: []int32{ExtraTagTensorMap}}
	twice := []Function{{Key: "k"}, {Key: "k"}}
	_, err := (&DeviceModule{Functions: []Function{{Key: "k", FunctionInfo: tagged}}}).Encode(Legacy)
	require.ErrorContains(t, err, "legacy layout does not support")
	require.ErrorContains(t, must.Fail((&DeviceModule{Functions: twice}).Encode(Modern)), `"k" occurs twice`)
	tagged.ArgTypes = nil
	_, err = (&DeviceModule{Functions: []Function{{Key: "k", FunctionInfo: tagged}}}).Encode(Modern)
	require.ErrorContains(t, err, "1 extra tags for 0 arguments")
	_, err = (&VulkanModule{Shaders: []Shader{{Key: "s", Code: []byte{1, 2, 3}}}}).Encode(Modern)
	require.ErrorContains(t, err, "not a multiple of 4")
	_, err = (&VulkanModule{Shaders: []Shader{{Key: "s"}, {Key: "s"}}}).Encode(Modern)
	require.ErrorContains(t, err, `"s" occurs twice`)
	require.ErrorContains(t, must.Fail(EncodeMetaJSON(twice)), `"k" occurs twice`)
	require.ErrorContains(t, must.Fail(EncodeMetaJSON([]Function{{Key: "\xff"}})), "UTF-8")
	_, err = EncodeMetaJSON([]Function{{Key: "k",
		FunctionInfo: FunctionInfo{ArgTypes: []dlpack.DataType{{Code: 77, Bits: 3, Lanes: 1}}}}})
	require.ErrorContains(t, err, "type without a name")
	_, err = (&Constants{Names: []string{"a"},
		Tensors: []Tensor{{DType: dlpack.Float32, Shape: []int64{2}, Data: []byte{1}}}}).Encode()
	require.ErrorContains(t, err, "takes 8 bytes, not 1")
	_, err = (&Constants{Symbols: []SymbolConstants{{"f", []string{"w"}}}}).Encode()
	require.ErrorContains(t, err, `needs constant "w", which the payload does not contain`)
	require.ErrorContains(t, must.Fail((&Constants{Names: []string{"w"}}).Encode()), "0 tensors for 1 names")
}

func BenchmarkBlob10000(b *testing.B) {
	const modules = 10_000
	x := &Blob{Layout: Modern, RowPtr: []int{0}}
	for i := range modules {
		x.Entries = append(x.Entries, Entry{Kind: "opencl", Payload: make([]byte, 1000)})
		if i == 0 {
			for child := 1; child < modules; child++ {
				x.Children = append(x.Children, child)
			}
		}
		x.RowPtr = append(x.RowPtr, len(x.Children))
	}
	for b.Loop() {
		data, err := x.Encode()
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Parse(data, Modern, nil); err != nil {
			b.Fatal(err)
		}
	}
}
