package inspect

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/golden"
	"tvmgo/internal/testing/must"
)

const artifacts = "../../testdata/artifacts"

// libraries lists the artifacts, as "modern/addone_llvm.so".
func libraries(t testing.TB) []string {
	t.Helper()
	paths := must.Get(filepath.Glob(filepath.Join(artifacts, "*", "*.so")))(t)
	require.NotEmpty(t, paths)
	for i, p := range paths {
		paths[i] = must.Get(filepath.Rel(artifacts, p))(t)
	}
	return paths
}

func load(t testing.TB, name string) []byte {
	t.Helper()
	return must.Get(os.ReadFile(filepath.Join(artifacts, name)))(t)
}

func inspectBytes(name string, data []byte) (*Report, error) {
	return Read(name, bytes.NewReader(data), int64(len(data)))
}

func TestRead_Artifacts(t *testing.T) {
	for _, name := range libraries(t) {
		report, err := inspectBytes(name, load(t, name))
		require.NoError(t, err, name)
		require.Empty(t, report.Problems, name)
		require.Equal(t, filepath.Dir(name), string(report.Generation), name)

		var text bytes.Buffer
		require.NoError(t, report.WriteText(&text))
		golden.Text(t, filepath.Join("testdata", strings.TrimSuffix(name, ".so")+".txt"), string(text.Bytes()))
		encoded := must.Get(json.MarshalIndent(report, "", "  "))(t)
		golden.Text(t, filepath.Join("testdata", strings.TrimSuffix(name, ".so")+".json"),
			string(append(encoded, '\n')))
	}
}

// WithCode adds the instructions of whole models.
func TestRead_WithCode(t *testing.T) {
	for _, name := range []string{"modern/relax_mlp", "classic/graph_mlp"} {
		data := load(t, name+".so")
		report := must.Get(Read(name, bytes.NewReader(data), int64(len(data)), WithCode()))(t)
		var text bytes.Buffer
		require.NoError(t, report.WriteText(&text))
		golden.Text(t, filepath.Join("testdata", name+".code.txt"), text.String())
	}
}

func TestFile_WhatCannotBeInspected(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	whole := load(t, "modern/addone_llvm.so")
	changed := func(offset int, value byte) string {
		data := bytes.Clone(whole)
		data[offset] = value
		return string(data)
	}
	for _, c := range []struct{ path, want string }{
		{filepath.Join(dir, "none.so"), "no such file: check the path"},
		{dir, "a directory: give the library in it"},
		{os.DevNull, "not a regular file"},
		{write("empty.so", ""), "an empty file: copy or export it again"},
		{write("zeros.so", strings.Repeat("\x00", 100)), "only zeros, perhaps an unfinished copy"},
		{write("text.so", "hello\n"), "text: give the shared library (.so)"},
		{write("data.so", "\x01\x02"), "unknown data"},
		{write("lib.a", "!<arch>\nx"), "a static library: link it first, with cc -shared"},
		{write("model.ro", "\x1e\x15\x42\x2f\xde\x25\xd2\x04"), "a Relax executable without its functions: give the"},
		{write("x.npy", "\x93NUMPY\x01\x00"), "an array in NumPy's format"},
		{write("magic.so", "\x7fELF"), "truncated: the file ends after 4 bytes, inside its header"},
		{write("half.so", string(whole[:len(whole)/2])), "truncated: a segment needs "},
		{write("class.so", changed(elf.EI_CLASS, 9)), "damaged file: unknown ELF class"},
		{write("object.o", changed(16, byte(elf.ET_REL))), "an object file: link it first, with cc -shared"},
		{write("program", changed(16, byte(elf.ET_EXEC))), "an executable: give a shared library (.so)"},
		{write("core", changed(16, byte(elf.ET_CORE))), "a core dump"},
	} {
		_, err := File(c.path)
		require.ErrorContains(t, err, c.want)
		require.True(t, strings.HasPrefix(err.Error(), c.path+": "), "%v", err)
	}
}

// A file for another machine is inspected in the same way.
func TestRead_OtherArchitecture(t *testing.T) {
	data := load(t, "modern/gpu_opencl.so")
	binary.LittleEndian.PutUint16(data[18:], uint16(elf.EM_AARCH64))
	report := must.Get(inspectBytes("arm.so", data))(t)
	require.Equal(t, "aarch64", report.Architecture)
	require.Len(t, report.Functions, 3)
	require.Empty(t, report.Problems)
}

// The section table is for tools; a file without it can be loaded and inspected.
func TestRead_WithoutSections(t *testing.T) {
	data := load(t, "classic/gpu_cuda.so")
	want := must.Get(inspectBytes("x.so", data))(t)
	clear(data[40:48])
	clear(data[60:64])
	require.Equal(t, want, must.Get(inspectBytes("x.so", data))(t))
}

func TestRead_DamagedBlobIsAProblem(t *testing.T) {
	data := load(t, "modern/gpu_opencl.so")
	at := bytes.Index(data, []byte("\x06\x00\x00\x00\x00\x00\x00\x00opencl"))
	require.Positive(t, at)
	binary.LittleEndian.PutUint64(data[at:], 1<<60) // the length of the kind
	report := must.Get(inspectBytes("x.so", data))(t)
	require.Len(t, report.Functions, 3)
	require.Empty(t, report.Blob.Modules)
	require.Len(t, report.Problems, 1)
	require.Contains(t, report.Problems[0], "kind of a module")
	require.Contains(t, report.Problems[0], "copy or export it again")
}

func TestRead_UnknownKindOfALegacyBlob(t *testing.T) {
	data := bytes.ReplaceAll(load(t, "classic/gpu_opencl.so"), []byte("opencl"), []byte("opencx"))
	report := must.Get(inspectBytes("x.so", data))(t)
	require.Len(t, report.Problems, 1)
	require.Contains(t, report.Problems[0], "opencx")
}

func TestRead_V21IsRefusedByName(t *testing.T) {
	data := bytes.ReplaceAll(load(t, "modern/multi_c.so"), []byte("__tvm_ffi__library_ctx"),
		[]byte("__tvm_ffi_library_ctx\x00"))
	report := must.Get(inspectBytes("x.so", data))(t)
	require.Equal(t, V21, report.Generation)
	require.Contains(t, report.Problems[0], "TVM v0.21")
	var text bytes.Buffer
	require.NoError(t, report.WriteText(&text))
	require.Contains(t, text.String(), "PROBLEM          exported by TVM v0.21")
}

func TestWriteText_NamesAreSafeOnATerminal(t *testing.T) {
	report := &Report{File: "a\x1b[31m.so", OtherImports: []string{"b\nc"}}
	var text bytes.Buffer
	require.NoError(t, report.WriteText(&text))
	require.NotContains(t, text.String(), "\x1b")
	require.Contains(t, text.String(), `"a\x1b[31m.so"`)
	require.Contains(t, text.String(), `"b\nc"`)
}
