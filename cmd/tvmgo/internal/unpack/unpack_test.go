package unpack

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/internal/modulekind"
	"tvmgo/internal/testing/golden"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/payloads"
)

func TestUnpack_Artifacts(t *testing.T) {
	for _, name := range libraries(t) {
		dir := filepath.Join(t.TempDir(), "out")
		summary, err := Unpack(t.Context(), filepath.Join(artifacts, name), dir, false)
		require.NoError(t, err, name)
		require.Empty(t, summary.Problems, name)
		tree := requireWhole(t, dir)
		text := must.Get(os.ReadFile(filepath.Join(dir, TreeFile)))(t)
		golden.Text(t, filepath.Join("testdata", strings.TrimSuffix(name, ".so")+".tree.json"), string(text))
		for i := range tree.Modules {
			if m := &tree.Modules[i]; m.Kind == "cuda" || m.Kind == "opencl" {
				require.Equal(t, []Role{Code, Meta}, roles(m), name)
			}
		}
		var shown bytes.Buffer
		require.NoError(t, summary.WriteText(&shown))
		require.Equal(t, len(summary.Files)+1, strings.Count(shown.String(), "\n"))
	}
}

// The device files of an artifact are those that TVM's own exporter saved beside it.
func TestUnpack_DeviceFilesAsTVMSavesThem(t *testing.T) {
	for _, c := range []struct{ library, code, file, meta string }{
		{"gpu_cuda", "1.cuda.ptx", "gpu_cuda_dev.ptx", "gpu_cuda_dev.tvm_meta.json"},
		{"gpu_opencl", "1.opencl.cl", "gpu_opencl_dev.cl", "gpu_opencl_dev.tvm_meta.json"},
	} {
		dir := t.TempDir()
		must.Get(Unpack(t.Context(), filepath.Join(artifacts, "classic", c.library+".so"), dir, false))(t)
		read := func(path ...string) []byte {
			return must.Get(os.ReadFile(filepath.Join(path...)))(t)
		}
		require.Equal(t, string(read(artifacts, "classic", c.file)), string(read(dir, c.code)))
		want := must.Get(blob.ParseMetaJSON(read(artifacts, "classic", c.meta)))(t)
		got, err := blob.ParseMetaJSON(read(dir, strings.TrimSuffix(c.code, filepath.Ext(c.code))+".tvm_meta.json"))
		require.NoError(t, err)
		require.ElementsMatch(t, want.Functions, got.Functions)
	}
}

func tensors() *blob.Constants {
	complex128 := dlpack.DataType{Code: dlpack.CodeComplex, Bits: 128, Lanes: 1}
	return &blob.Constants{Names: []string{"w", "W", "flag", "b16", "scalar", "empty", "z"}, Tensors: []blob.Tensor{
		{DType: dlpack.Float32, Shape: []int64{2, 1}, Data: []byte("12345678")},
		{DType: dlpack.Int64, Shape: []int64{1}, Data: []byte("abcdefgh")},
		{DType: dlpack.Bool, Shape: []int64{3}, Data: []byte{1, 0, 1}},
		{DType: dlpack.DataType{Code: dlpack.CodeBFloat, Bits: 16, Lanes: 1}, Shape: []int64{2}, Data: []byte("bfbf")},
		{DType: dlpack.Int32, Shape: []int64{}, Data: []byte("four")},
		{DType: dlpack.Float16, Shape: []int64{0, 5}, Data: []byte{}},
		{DType: complex128, Shape: []int64{1}, Data: []byte("0123456789abcdef")},
	}, Symbols: []blob.SymbolConstants{{Symbol: "f", Names: []string{"W", "w"}}, {Symbol: "g", Names: []string{}}}}
}

// everyKind has a module of each kind, and modules for the special cases of a kind.
func everyKind(t testing.TB, layout blob.Layout) []blob.Entry {
	functions := []blob.Function{function("b", dlpack.Handle, dlpack.Float32), function("a")}
	if layout == blob.Modern {
		functions[0].ArgExtraTags = []int32{blob.ExtraTagTensorMap, 0}
	}
	shaders := []blob.Shader{{Key: "b", Flag: 1, Code: []byte("\x03\x02#\x07")}, {Key: "a", Code: []byte{}}}
	vulkan := must.Get((&blob.VulkanModule{Format: "vulkan", Functions: functions, Shaders: shaders}).Encode(layout))(t)
	constants := must.Get(tensors().Encode())(t)
	var graph blob.Writer
	graph.Str("subgraph")
	graph.Str(`{"nodes": []}`)
	graph.Strs(nil)
	list := []blob.Entry{
		{Kind: "cuda", Payload: device(t, layout, &blob.DeviceModule{Format: "ptx", Functions: functions,
			Data: []byte("//PTX\n")})},
		{Kind: "cuda", Payload: device(t, layout, &blob.DeviceModule{Format: "cuda", Functions: functions,
			Data: []byte("extern\n")})},
		{Kind: "rocm", Payload: device(t, layout, &blob.DeviceModule{Format: "", Data: []byte{0, 1}})},
		{Kind: "vulkan", Payload: vulkan},
		{Kind: "c", Payload: (&blob.CSource{Code: "int f;\n", Functions: []string{"f"},
			Constants: []string{"w"}}).Encode()},
		{Kind: "c", Payload: (&blob.CSource{Code: "int g;\n", Format: "cc"}).Encode()},
		{Kind: "static_library", Payload: (&blob.StaticLibrary{Object: []byte("\x7fELF"),
			Functions: []string{"o"}}).Encode()},
		{Kind: "const_loader", Payload: constants},
		{Kind: "dnnl_json", Payload: slices.Clone(graph.Data())},
	}
	if layout == blob.Modern {
		list = append(list, blob.Entry{Kind: "metal", Payload: []byte("as it is")},
			blob.Entry{Kind: "never.heard", Payload: []byte{}})
	}
	return list
}

func TestUnpack_EveryKind(t *testing.T) {
	for _, layout := range []blob.Layout{blob.Legacy, blob.Modern} {
		dir := t.TempDir()
		_, err := Unpack(t.Context(), file(t, carry(t, layout, star(t, layout, everyKind(t, layout)...))), dir, false)
		require.NoError(t, err)
		tree := requireWhole(t, dir)
		text := must.Get(os.ReadFile(filepath.Join(dir, TreeFile)))(t)
		golden.Text(t, filepath.Join("testdata", "kinds_"+layout.String()+".tree.json"), string(text))
		for i := range tree.Modules {
			m := &tree.Modules[i]
			opaque := slices.Contains([]string{"dnnl_json", "metal", "never.heard"}, m.Kind)
			require.Equal(t, opaque, slices.Contains(roles(m), Payload), m.Kind)
		}
		read := func(name string) string {
			return string(must.Get(os.ReadFile(filepath.Join(dir, name)))(t))
		}
		require.Equal(t, "//PTX\n", read("1.cuda.ptx"))
		require.Equal(t, "extern\n", read("2.cuda.cu"))
		require.Equal(t, "\x03\x02#\x07", read("4.vulkan.b.spv"))
		require.Equal(t, "int f;\n", read("5.c.c"))
		require.Equal(t, "int g;\n", read("6.c.cc"))
		require.Equal(t, "\x7fELF", read("7.static_library.o"))
		require.Equal(t, `{"nodes": []}`, read("9.dnnl_json.graph.json"))
		require.Contains(t, read("8.const_loader.w.npy"), "'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }")
		require.True(t, strings.HasSuffix(read("8.const_loader.w.npy"), "\n12345678"))
		require.Contains(t, read("8.const_loader.W~2.npy"), "'shape': (1,), }")
		require.Contains(t, read("8.const_loader.scalar.npy"), "'shape': (), }")
		require.Equal(t, "bfbf", read("8.const_loader.b16.bin"))
	}
}

// The files of every known kind give its payload back. Kinds whose form is known need no file with the payload.
func TestUnpack_KnownKinds(t *testing.T) {
	kept := []modulekind.Form{modulekind.Opaque, modulekind.Metal, modulekind.GraphText, modulekind.SymbolGraph,
		modulekind.Program}
	for _, layout := range []blob.Layout{blob.Legacy, blob.Modern} {
		dir := t.TempDir()
		must.Get(Unpack(t.Context(), file(t, carry(t, layout, star(t, layout, payloads.Every(t, layout)...))), dir,
			false))(t)
		for _, m := range requireWhole(t, dir).Modules[1:] {
			form := modulekind.FormOf(m.Kind)
			require.Equal(t, slices.Contains(kept, form), slices.Contains(roles(&m), Payload), m.Kind)
			require.Equal(t, form == modulekind.GraphText || form == modulekind.SymbolGraph,
				slices.Contains(roles(&m), Graph), m.Kind)
		}
	}
}

// NumPy reads 64 dimensions at most.
func TestUnpack_ConstantOfManyDimensions(t *testing.T) {
	m := &blob.Constants{}
	for _, n := range []int{64, 65, 3000} {
		m.Names = append(m.Names, "w")
		m.Tensors = append(m.Tensors, blob.Tensor{DType: dlpack.Int8, Shape: slices.Repeat([]int64{1}, n),
			Data: []byte{1}})
	}
	payload := must.Get(m.Encode())(t)
	dir := t.TempDir()
	must.Get(Unpack(t.Context(),
		file(t, carry(t, blob.Modern, star(t, blob.Modern, blob.Entry{Kind: "const_loader", Payload: payload}))), dir,
		false))(t)
	files := requireWhole(t, dir).Modules[1].Files
	require.Equal(t, "1.const_loader.w.npy", files[0].Name)
	require.Equal(t, "1.const_loader.w.bin", files[1].Name)
	require.Equal(t, "1.const_loader.w~2.bin", files[2].Name)
	require.EqualValues(t, 1, files[2].Size)
}

// TVM v0.22 and v0.23 wrote shaders without a length.
func TestUnpack_ShadersWithoutLength(t *testing.T) {
	m := &blob.VulkanModule{Format: "vulkan", Functions: []blob.Function{function("a", dlpack.Handle)},
		Shaders: []blob.Shader{{Key: "a", Code: []byte("spirv---")}}}
	payload := must.Get(m.Encode(blob.LegacyFFI))(t)
	dir := t.TempDir()
	_, err := Unpack(t.Context(),
		file(t, carry(t, blob.Modern, star(t, blob.Modern, blob.Entry{Kind: "vulkan", Payload: payload}))), dir, false)
	require.NoError(t, err)
	tree := requireWhole(t, dir)
	require.Equal(t, "legacy-ffi", tree.Modules[1].FunctionLayout)
	require.Equal(t, []Role{Shader, Meta}, roles(&tree.Modules[1]))
}

// If a file form loses something, the payload is kept.
func TestUnpack_WhatHasNoNaturalForm(t *testing.T) {
	odd := dlpack.DataType{Code: 77, Bits: 3, Lanes: 1}
	mixed := []blob.Function{function("a"), function("b")}
	mixed[1].Name = ""
	vulkan := must.Get((&blob.VulkanModule{Format: "vulkan",
		Shaders: []blob.Shader{{Key: "\xff", Code: []byte("four")}}}).Encode(blob.Modern))(t)
	for name, e := range map[string]blob.Entry{
		"key": {Kind: "cuda",
			Payload: device(t, blob.Modern,
				&blob.DeviceModule{Format: "ptx", Functions: []blob.Function{function("\xff")}})},
		"type": {Kind: "cuda",
			Payload: device(t, blob.Modern,
				&blob.DeviceModule{Format: "ptx", Functions: []blob.Function{function("a", odd)}})},
		"format": {Kind: "cuda", Payload: device(t, blob.Modern, &blob.DeviceModule{Format: "\xff"})},
		"some name": {Kind: "cuda",
			Payload: device(t, blob.Modern, &blob.DeviceModule{Format: "ptx", Functions: mixed})},
		"shader":   {Kind: "vulkan", Payload: vulkan},
		"function": {Kind: "c", Payload: (&blob.CSource{Functions: []string{"\xff"}}).Encode()},
	} {
		dir := t.TempDir()
		_, err := Unpack(t.Context(), file(t, carry(t, blob.Modern, star(t, blob.Modern, e))), dir, false)
		require.NoError(t, err, name)
		m := requireWhole(t, dir).Modules[1]
		require.Equal(t, Payload, m.Files[len(m.Files)-1].Role, name)
		require.Greater(t, len(m.Files), 1, name)
	}
}

func TestUnpack_HostileNames(t *testing.T) {
	evil := []string{"../../x", "/etc/passwd", "..", ".", "", "a\x00b", "a", "A", "a/", "con", "a.", "a..", "\xff",
		"é", "a\nb", "a:b", "~",
		strings.Repeat("l", 5000), strings.Repeat("l", 5001), strings.Repeat("l", 5002), "a_", "a~2"}
	constants := &blob.Constants{}
	shaders := &blob.VulkanModule{Format: "../vulkan"}
	entries := []blob.Entry{}
	for _, name := range evil {
		constants.Names = append(constants.Names, name)
		constants.Tensors = append(constants.Tensors, blob.Tensor{DType: dlpack.Int8, Shape: []int64{1},
			Data: []byte{7}})
		shaders.Shaders = append(shaders.Shaders, blob.Shader{Key: name, Code: []byte{}})
		if len(name) > 100 {
			continue
		}
		entries = append(entries, blob.Entry{Kind: "cuda",
			Payload: device(t, blob.Modern, &blob.DeviceModule{Format: name})})
		if name != "" {
			entries = append(entries, blob.Entry{Kind: name, Payload: []byte(name)})
		}
	}
	for _, format := range []string{"tvm_meta.json", "tvm_META.json", "npy"} {
		entries = append(entries, blob.Entry{Kind: "cuda",
			Payload: device(t, blob.Modern, &blob.DeviceModule{Format: format})})
	}
	// file names of tensors and shaders with names of 5000 bytes need space: one at a time
	payload := must.Get(shaders.Encode(blob.Modern))(t)
	entries = append(entries, blob.Entry{Kind: "vulkan", Payload: payload})
	dataOf := [][]byte{star(t, blob.Modern, entries...)}
	payload = must.Get(constants.Encode())(t)
	dataOf = append(dataOf, star(t, blob.Modern, blob.Entry{Kind: "const_loader", Payload: payload}))
	for _, data := range dataOf {
		outer := t.TempDir()
		must.Get(Unpack(t.Context(), file(t, carry(t, blob.Modern, data)), filepath.Join(outer, "out"), false))(t)
		requireWhole(t, filepath.Join(outer, "out"))
		require.Len(t, must.Get(os.ReadDir(outer))(t), 1, "nothing beside the folder")
	}
}

// Older producers wrote no tree: the root is the library, which is not among the entries.
func TestUnpack_ImplicitRoot(t *testing.T) {
	b := &blob.Blob{Layout: blob.Legacy, ImplicitRoot: true, Entries: everyKind(t, blob.Legacy)[:2]}
	data := must.Get(b.Encode())(t)
	dir := t.TempDir()
	must.Get(Unpack(t.Context(), file(t, carry(t, blob.Legacy, data)), dir, false))(t)
	tree := requireWhole(t, dir)
	require.Len(t, tree.Modules, 3)
	require.Equal(t, []int{1, 2}, tree.Modules[0].Imports)
	require.Equal(t, "1.cuda.ptx", tree.Modules[1].Files[0].Name)
}

func TestUnpack_OtherArchitecture(t *testing.T) {
	data := must.Get(os.ReadFile(filepath.Join(artifacts, "modern/gpu_opencl.so")))(t)
	data[18] = 183 // aarch64
	dir := t.TempDir()
	must.Get(Unpack(t.Context(), file(t, data), dir, false))(t)
	require.Equal(t, "aarch64", requireWhole(t, dir).Architecture)
}

// A damaged module is written unchanged, the others as usual.
func TestUnpack_DamagedModule(t *testing.T) {
	entries := everyKind(t, blob.Modern)
	for i := range entries[:8] {
		damaged := slices.Clone(entries)
		damaged[i].Payload = damaged[i].Payload[:len(damaged[i].Payload)-1]
		dir := t.TempDir()
		summary := must.Get(Unpack(t.Context(), file(t, carry(t, blob.Modern, star(t, blob.Modern, damaged...))), dir,
			false))(t)
		require.Len(t, summary.Damage, 1, entries[i].Kind)
		require.Contains(t, summary.Damage[0], "module "+entries[i].Kind+": ")
		require.Contains(t, summary.Damage[0], "copy or export it again")
		tree := requireWhole(t, dir)
		require.Equal(t, summary.Damage, tree.Problems)
		require.Equal(t, []Role{Payload}, roles(&tree.Modules[i+1]))
	}
}

// A blob that cannot be parsed is written in one piece.
func TestUnpack_DamagedBlob(t *testing.T) {
	data := star(t, blob.Modern, everyKind(t, blob.Modern)...)
	data[8] = 99 // the number of row pointers
	dir := t.TempDir()
	summary := must.Get(Unpack(t.Context(), file(t, carry(t, blob.Modern, data)), dir, false))(t)
	require.Len(t, summary.Damage, 1)
	tree := readTree(t, dir)
	require.Empty(t, tree.Modules)
	raw := must.Get(os.ReadFile(filepath.Join(dir, BlobFile)))(t)
	require.True(t, bytes.Equal(data, raw))
}

// requirePlan takes the modules of a blob apart and builds them again.
func requirePlan(t testing.TB, data []byte, layout blob.Layout) {
	t.Helper()
	b, err := blob.Parse(data, layout, nil)
	if err != nil {
		return
	}
	taken := names{}
	for i, e := range b.Entries {
		m := &Module{Index: i, Kind: e.Kind}
		pieces, _ := m.take(e.Payload, layout, taken)
		require.Len(t, pieces, len(m.Files))
		require.True(t, m.rebuilds(e.Payload, layout, pieces), "module %d", i)
	}
}

// If any byte of the blob is changed, the files still give the same payloads.
func TestTake_EveryByteOfABlob(t *testing.T) {
	for _, layout := range []blob.Layout{blob.Legacy, blob.Modern} {
		data := star(t, layout, everyKind(t, layout)...)
		for i, old := range data {
			for _, v := range []byte{old ^ 0x80, 0xff} {
				data[i] = v
				requirePlan(t, data, layout)
			}
			data[i] = old
		}
	}
}

func FuzzTake(f *testing.F) {
	for _, layout := range []blob.Layout{blob.Legacy, blob.Modern} {
		f.Add(star(f, layout, everyKind(f, layout)...), layout == blob.Modern)
	}
	f.Fuzz(func(t *testing.T, data []byte, modern bool) {
		layout := blob.Legacy
		if modern {
			layout = blob.Modern
		}
		requirePlan(t, data, layout)
	})
}
