package unpack

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/internal/inspect"
	"tvmgo/internal/testing/golden"
	"tvmgo/internal/testing/must"
)

// lines are the differences as people see them, without the lines of text.
func lines(t testing.TB, d *Comparison) []string {
	t.Helper()
	list := []string{}
	for i := range d.Differences {
		var text strings.Builder
		d.Differences[i].write(&text)
		first, _, _ := strings.Cut(text.String(), "\n")
		list = append(list, first)
	}
	return list
}

func TestDiff_Artifacts(t *testing.T) {
	all := libraries(t)
	for _, a := range all {
		for _, b := range all {
			d := must.Get(Diff(filepath.Join(artifacts, a), filepath.Join(artifacts, b)))(t)
			require.Equal(t, a == b, d.Same, "%s %s", a, b)
			require.False(t, d.Damaged())
			back := must.Get(Diff(filepath.Join(artifacts, b), filepath.Join(artifacts, a)))(t)
			require.Len(t, back.Differences, len(d.Differences), "%s %s", a, b)
		}
	}
	for name, pair := range map[string][2]string{
		"generations": {"classic/gpu_opencl.so", "modern/gpu_opencl.so"},
		"formats":     {"modern/gpu_cuda.so", "modern/gpu_cuda_src.so"},
		"graph":       {"classic/graph_mlp.so", "modern/relax_mlp.so"},
	} {
		d := must.Get(Diff(filepath.Join(artifacts, pair[0]), filepath.Join(artifacts, pair[1])))(t)
		d.A, d.B = pair[0], pair[1]
		var text bytes.Buffer
		require.NoError(t, d.WriteText(&text))
		golden.Text(t, filepath.Join("testdata", "diff_"+name+".txt"), string(text.Bytes()))
		encoded := must.Get(encodeJSON(d))(t)
		golden.Text(t, filepath.Join("testdata", "diff_"+name+".json"), string(encoded))
	}
}

// Each change of a blob is reported, and nothing else.
func TestDiff_Blob(t *testing.T) {
	base := func() []blob.Entry { return everyKind(t, blob.Modern) }
	reload := func(e *blob.Entry, change func(*blob.DeviceModule)) {
		m := must.Get(blob.ParseDeviceModule(e.Payload, blob.Modern))(t)
		change(m)
		e.Payload = device(t, blob.Modern, m)
	}
	constants := func(e *blob.Entry, change func(*blob.Constants)) {
		m := tensors()
		change(m)
		var err error
		e.Payload, err = m.Encode()
		require.NoError(t, err)
	}
	shaders := func(e *blob.Entry, change func(*blob.VulkanModule)) {
		m := must.Get(blob.ParseVulkanModule(e.Payload, blob.Modern))(t)
		change(m)
		e.Payload = must.Get(m.Encode(blob.Modern))(t)
	}
	for name, c := range map[string]struct {
		change func(list []blob.Entry) []blob.Entry
		want   []string
	}{
		"nothing": {func(l []blob.Entry) []blob.Entry { return l }, []string{}},
		"source text": {func(l []blob.Entry) []blob.Entry {
			reload(&l[1], func(m *blob.DeviceModule) { m.Data = []byte("intern\n") })
			return l
		}, []string{"~ [2] cuda: code:"}},
		"binary": {func(l []blob.Entry) []blob.Entry {
			reload(&l[2], func(m *blob.DeviceModule) { m.Data = []byte{0, 2, 3} })
			return l
		}, []string{"~ [3] rocm: code: 2 bytes, differs from byte 1 on -> 3 bytes"}},
		"format": {func(l []blob.Entry) []blob.Entry {
			reload(&l[0], func(m *blob.DeviceModule) { m.Format = "cubin" })
			return l
		}, []string{"~ [1] cuda: format: ptx -> cubin"}},
		"arguments, tags, extra tags": {func(l []blob.Entry) []blob.Entry {
			reload(&l[0], func(m *blob.DeviceModule) {
				m.Functions[0].ArgTypes[1] = dlpack.Int32
				m.Functions[0].ArgExtraTags[0] = 0
				m.Functions[1].LaunchParamTags = []string{"threadIdx.x"}
			})
			return l
		}, []string{"~ [1] cuda: function a: a() blockIdx.x -> a() threadIdx.x",
			"~ [1] cuda: function b: b(handle extra 1, float32) blockIdx.x -> b(handle, int32) blockIdx.x"}},
		"function added and removed": {func(l []blob.Entry) []blob.Entry {
			reload(&l[0], func(m *blob.DeviceModule) { m.Functions[1] = function("z", dlpack.Int64) })
			return l
		}, []string{"- [1] cuda: function a: a() blockIdx.x", "+ [1] cuda: function z: z(int64) blockIdx.x"}},
		"order of functions": {func(l []blob.Entry) []blob.Entry {
			reload(&l[0], func(m *blob.DeviceModule) { slices.Reverse(m.Functions) })
			return l
		}, []string{"~ [1] cuda: payload: 169 bytes, differs from byte 27 on -> 169 bytes"}},
		"shaders": {func(l []blob.Entry) []blob.Entry {
			shaders(&l[3], func(m *blob.VulkanModule) {
				m.Shaders[0].Flag = 0
				m.Shaders[1] = blob.Shader{Key: "new", Code: []byte("\x03\x02#\x08")}
			})
			return l
		}, []string{"~ [4] vulkan: shader b: flag 1 -> flag 0", "- [4] vulkan: shader a: 0 bytes",
			"+ [4] vulkan: shader new: 4 bytes"}},
		"C source": {func(l []blob.Entry) []blob.Entry {
			l[4].Payload = (&blob.CSource{Code: "int g;", Format: "c", Functions: []string{"g"}}).Encode()
			return l
		}, []string{"+ [5] c: format: c", "- [5] c: function f", "+ [5] c: function g", "- [5] c: wanted constant w",
			"~ [5] c: code:"}},
		"object": {func(l []blob.Entry) []blob.Entry {
			l[6].Payload = (&blob.StaticLibrary{Object: []byte("\x7fELG"), Functions: []string{"o", "o"}}).Encode()
			return l
		}, []string{"~ [7] static_library: function o:  -> 2 times",
			"~ [7] static_library: code: 4 bytes, differs from byte 3 on -> 4 bytes"}},
		"constants": {func(l []blob.Entry) []blob.Entry {
			constants(&l[7], func(m *blob.Constants) {
				m.Tensors[0].Shape = []int64{1, 2}
				m.Tensors[1].Data = []byte("abcdefg\x01")
				m.Names[4] = "renamed"
				m.Symbols[0].Names = []string{"w"}
			})
			return l
		}, []string{"~ [8] const_loader: constants of function f: W, w -> w",
			"~ [8] const_loader: constant w: float32[2 1] -> float32[1 2]",
			"~ [8] const_loader: constant W: 8 bytes, differs from byte 7 on -> 8 bytes",
			"- [8] const_loader: constant scalar: 4 bytes",
			"+ [8] const_loader: constant renamed: 4 bytes"}},
		"unknown kind": {func(l []blob.Entry) []blob.Entry {
			l[10].Payload = []byte{0xff}
			return l
		}, []string{"~ [11] never.heard: payload: 0 bytes, differs from byte 0 on -> 1 bytes"}},
		"kind": {func(l []blob.Entry) []blob.Entry {
			l[10].Kind = "heard"
			return l
		}, []string{"- [11] never.heard: module: 0 bytes", "+ [11] heard: module: 0 bytes"}},
		"swapped": {func(l []blob.Entry) []blob.Entry {
			l[0], l[1] = l[1], l[0]
			return l
		}, []string{"~ [1 -> 2] cuda: number: 1 -> 2", "~ [2 -> 1] cuda: number: 2 -> 1"}},
	} {
		a := file(t, carry(t, blob.Modern, star(t, blob.Modern, base()...)))
		b := file(t, carry(t, blob.Modern, star(t, blob.Modern, c.change(base())...)))
		d, err := Diff(a, b)
		require.NoError(t, err, name)
		require.Equal(t, c.want, lines(t, d), name)
		require.Equal(t, len(c.want) == 0, d.Same, name)
	}
}

// If the same modules are in two layouts, the differences are the layout and the bytes of the payloads.
func TestDiff_Layouts(t *testing.T) {
	m := &blob.DeviceModule{Format: "ptx", Functions: []blob.Function{function("f", dlpack.Handle)}, Data: []byte("//")}
	write := func(layout blob.Layout) string {
		return file(t, carry(t, layout, star(t, layout, blob.Entry{Kind: "cuda", Payload: device(t, layout, m)})))
	}
	d := must.Get(Diff(write(blob.Legacy), write(blob.Modern)))(t)
	require.Contains(t, lines(t, d), "~ layout: legacy -> modern")
	for _, diff := range d.Differences {
		require.Nil(t, diff.ModuleA, diff.What)
	}
}

func TestDiff_TextIsUnified(t *testing.T) {
	m := &blob.DeviceModule{Format: "cl", Data: []byte("one\ntwo\nthree\n")}
	a := file(t, carry(t, blob.Modern,
		star(t, blob.Modern, blob.Entry{Kind: "opencl", Payload: device(t, blob.Modern, m)})))
	m.Data = []byte("one\n2\nthree")
	b := file(t, carry(t, blob.Modern,
		star(t, blob.Modern, blob.Entry{Kind: "opencl", Payload: device(t, blob.Modern, m)})))
	d := must.Get(Diff(a, b))(t)
	require.Len(t, d.Differences, 1)
	require.Equal(t, "--- a/1\n+++ b/1\n@@ -1,3 +1,3 @@\n one\n-two\n-three\n+2\n+three\n\\ No newline at end of file\n",
		d.Differences[0].Diff)
	require.Equal(t, 1, *d.Differences[0].ModuleA)
}

func TestHasLines(t *testing.T) {
	require.True(t, hasLines(nil))
	require.True(t, hasLines([]byte("ä\r\n\t\n")))
	require.False(t, hasLines([]byte("a\x00")))
	require.False(t, hasLines([]byte("\xff")))
	require.True(t, hasLines(bytes.Repeat([]byte{'\n'}, maxDiffLines)))
	require.False(t, hasLines(bytes.Repeat([]byte{'\n'}, maxDiffLines+1)))
	require.False(t, hasLines(bytes.Repeat([]byte{'a'}, maxDiffText+1)))
}

// A tree of the same modules, in which another module imports one of them.
func TestDiff_ImportTree(t *testing.T) {
	entries := []blob.Entry{{Kind: blob.LibraryKey}, {Kind: "x", Payload: []byte("1")},
		{Kind: "y", Payload: []byte("2")}}
	write := func(rowPtr, children []int) string {
		data, err := (&blob.Blob{Layout: blob.Modern, Entries: entries, RowPtr: rowPtr, Children: children}).Encode()
		require.NoError(t, err)
		return file(t, carry(t, blob.Modern, data))
	}
	d := must.Get(Diff(write([]int{0, 2, 2, 2}, []int{1, 2}), write([]int{0, 1, 2, 2}, []int{1, 2})))(t)
	require.Equal(t, []string{"~ [0] library: imports: [1 2] -> [1]", "~ [1] x: imports: [] -> [2]"}, lines(t, d))
	d = must.Get(Diff(write([]int{0, 2, 2, 2}, []int{1, 2}), write([]int{0, 2, 2, 2}, []int{2, 1})))(t)
	require.Equal(t, []string{"~ [0] library: imports: [1 2] -> [2 1]"}, lines(t, d))
}

// Each part of the report outside the blob is compared.
func TestDiff_Library(t *testing.T) {
	report := func() *inspect.Report {
		return &inspect.Report{Architecture: "x86-64", Bits: 64, ByteOrder: "little", Generation: inspect.Modern,
			Entry:     "main",
			Functions: []inspect.Function{{Name: "f", Convention: inspect.SafeCall, Metadata: true}}}
	}
	type R = inspect.Report
	for want, change := range map[string]func(r *R){
		"~ architecture: x86-64 -> arm":                                 func(r *R) { r.Architecture = "arm" },
		"~ bits: 64 -> 32":                                              func(r *R) { r.Bits = 32 },
		"~ byte order: little -> big":                                   func(r *R) { r.ByteOrder = "big" },
		"~ generation: modern -> plain":                                 func(r *R) { r.Generation = inspect.Plain },
		"- entry: main":                                                 func(r *R) { r.Entry = "" },
		"~ function f: safe_call, metadata -> safe_call":                func(r *R) { r.Functions[0].Metadata = false },
		"~ function f: safe_call, metadata -> safe_call, metadata, doc": func(r *R) { r.Functions[0].Doc = true },
		"- function f: safe_call, metadata":                             func(r *R) { r.Functions = nil },
		"+ context slot s":                                              func(r *R) { r.ContextSlots = []string{"s"} },
		"+ runtime import s":                                            func(r *R) { r.RuntimeImports = []string{"s"} },
		"+ other import s":                                              func(r *R) { r.OtherImports = []string{"s"} },
		`+ needed library "s\n"`:                                        func(r *R) { r.Libraries = []string{"s\n"} },
	} {
		other := report()
		change(other)
		d := &Comparison{}
		d.library(&inspect.Contents{Report: report()}, &inspect.Contents{Report: other})
		require.Equal(t, []string{want}, lines(t, d))
	}
}

// A difference in one mapped byte of code or data is found; one in the section table after it is not.
func TestDiff_MappedBytes(t *testing.T) {
	path := filepath.Join(artifacts, "modern/addone_llvm.so")
	data := must.Get(os.ReadFile(path))(t)
	changed := func(offset int64) string {
		copied := bytes.Clone(data)
		copied[offset] ^= 1
		return file(t, copied)
	}
	require.NoError(t, inspect.WithContents(path, func(c *inspect.Contents) error {
		for _, s := range c.Segments {
			if !s.Executable {
				continue
			}
			d, err := Diff(path, changed(int64(s.Address)+100)) // its file offset equals its address
			require.NoError(t, err)
			require.Len(t, d.Differences, 1)
			require.Contains(t, lines(t, d)[0], "~ machine code: ")
			require.Contains(t, lines(t, d)[0], "differs from 0x1064 on")
		}
		return nil
	}))
	d, err := Diff(path, changed(0x2000)) // read-only data
	require.NoError(t, err)
	require.Len(t, d.Differences, 1)
	require.Contains(t, lines(t, d)[0], "~ data: ")
	d = must.Get(Diff(path, changed(int64(len(data))-8)))(t)
	require.Empty(t, d.Differences)
	require.True(t, d.Same)
}

// Damaged files are compared as far as possible, and are never reported as the same, not even a file and itself.
func TestDiff_Damaged(t *testing.T) {
	entries := everyKind(t, blob.Modern)
	whole := file(t, carry(t, blob.Modern, star(t, blob.Modern, entries...)))
	entries[7].Payload = entries[7].Payload[1:]
	module := file(t, carry(t, blob.Modern, star(t, blob.Modern, entries...)))
	d := must.Get(Diff(whole, module))(t)
	require.Len(t, d.DamageB, 1)
	require.Contains(t, d.DamageB[0], "module const_loader: ")
	require.Contains(t, strings.Join(lines(t, d), "\n"), "+ [8] const_loader: payload: ")

	data := star(t, blob.Modern, entries...)
	data[8] = 99
	broken := file(t, carry(t, blob.Modern, data))
	for _, pair := range [][2]string{{whole, broken}, {broken, whole}, {broken, broken}, {module, module}} {
		d := must.Get(Diff(pair[0], pair[1]))(t)
		require.True(t, d.Damaged())
		require.False(t, d.Same)
		require.NotContains(t, strings.Join(lines(t, d), "\n"), ": module")
		var text bytes.Buffer
		require.NoError(t, d.WriteText(&text))
		require.Contains(t, text.String(), "PROBLEM of ")
		must.Get(json.Marshal(d))(t)
	}
	_, err := Diff(whole, filepath.Join(t.TempDir(), "none.so"))
	require.ErrorContains(t, err, "none.so: no such file: check the path")
}

// Names from a file are escaped before they are printed.
func TestDiff_TextIsSafe(t *testing.T) {
	m := &blob.DeviceModule{Format: "cl", Data: []byte("a\x1b[31m\n")}
	a := file(t, carry(t, blob.Modern, star(t, blob.Modern, blob.Entry{Kind: "x\x1b", Payload: nil},
		blob.Entry{Kind: "opencl", Payload: device(t, blob.Modern, m)})))
	m.Format, m.Data = "c\x1bl", []byte("b\u202e\n")
	b := file(t, carry(t, blob.Modern,
		star(t, blob.Modern, blob.Entry{Kind: "opencl", Payload: device(t, blob.Modern, m)})))
	d := must.Get(Diff(a, b))(t)
	var text bytes.Buffer
	require.NoError(t, d.WriteText(&text))
	require.Contains(t, text.String(), `"x\x1b"`)
	require.NotContains(t, text.String(), "\x1b")
	require.NotContains(t, text.String(), "\u202e")
}
