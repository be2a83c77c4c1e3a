package unpack

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/internal/inspect"
	"tvmgo/internal/testing/must"
)

const artifacts = "../../../../testdata/artifacts"

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

// carriers are artifacts with enough space for a blob of each layout.
var carriers = map[blob.Layout]string{blob.Legacy: "classic/graph_mlp.so", blob.Modern: "modern/gpu_cuda.so"}

// carry returns a library with these bytes as its blob.
func carry(t testing.TB, layout blob.Layout, data []byte) []byte {
	t.Helper()
	path := filepath.Join(artifacts, carriers[layout])
	library := must.Get(os.ReadFile(path))(t)
	require.NoError(t, inspect.WithContents(path, func(c *inspect.Contents) error {
		at := bytes.Index(library, c.Raw)
		require.Positive(t, at)
		require.LessOrEqual(t, len(data), len(c.Raw))
		clear(library[at : at+len(c.Raw)])
		copy(library[at:], data)
		return nil
	}))
	return library
}

// star is a blob of a library that imports the entries.
func star(t testing.TB, layout blob.Layout, entries ...blob.Entry) []byte {
	t.Helper()
	b := &blob.Blob{Layout: layout, Entries: append([]blob.Entry{{Kind: blob.LibraryKey}}, entries...),
		RowPtr: []int{0}}
	for i := range b.Entries {
		if i > 0 {
			b.Children = append(b.Children, i)
		}
	}
	for range b.Entries {
		b.RowPtr = append(b.RowPtr, len(b.Children))
	}
	return must.Get(b.Encode())(t)
}

func file(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.so")
	require.NoError(t, os.WriteFile(path, data, 0o644))
	return path
}

func device(t testing.TB, layout blob.Layout, m *blob.DeviceModule) []byte {
	t.Helper()
	return must.Get(m.Encode(layout))(t)
}

func function(key string, args ...dlpack.DataType) blob.Function {
	return blob.Function{Key: key, FunctionInfo: blob.FunctionInfo{Name: key, ArgTypes: args,
		LaunchParamTags: []string{"blockIdx.x"}}}
}

// readTree reads a folder's tree.json and checks that the folder has what it names, and nothing else.
func readTree(t testing.TB, dir string) *Tree {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(dir, TreeFile)))(t)
	tree := &Tree{}
	require.NoError(t, json.Unmarshal(text, tree))
	want := map[string]bool{TreeFile: true}
	if tree.Blob != "" {
		want[tree.Blob] = true
	}
	folded := map[string]bool{}
	for _, m := range tree.Modules {
		for _, f := range m.Files {
			want[f.Name] = true
			require.False(t, folded[strings.ToLower(f.Name)], f.Name)
			folded[strings.ToLower(f.Name)] = true
			require.Regexp(t, `^[0-9]+\.[A-Za-z0-9_+.~-]{1,180}[^.]$`, f.Name)
			info := must.Get(os.Lstat(filepath.Join(dir, f.Name)))(t)
			require.True(t, info.Mode().IsRegular())
			require.Equal(t, f.Size, info.Size())
		}
	}
	require.Len(t, must.Get(os.ReadDir(dir))(t), len(want))
	return tree
}

// requireWhole rebuilds each payload of the folder and compares it with the one in library.bin.
func requireWhole(t testing.TB, dir string) *Tree {
	t.Helper()
	tree := readTree(t, dir)
	if tree.Blob == "" {
		return tree
	}
	raw := must.Get(os.ReadFile(filepath.Join(dir, tree.Blob)))(t)
	layout, ok := blob.LayoutOf(tree.Symbol)
	require.True(t, ok)
	b := must.Get(blob.Parse(raw, layout, nil))(t)
	shift := len(tree.Modules) - len(b.Entries)
	for i := range b.Entries {
		m := &tree.Modules[i+shift]
		require.Equal(t, i+shift, m.Index)
		if b.Entries[i].IsLibrary() {
			require.Empty(t, m.Files)
			continue
		}
		payload, err := join(m, layout,
			func(f *File) ([]byte, error) { return os.ReadFile(filepath.Join(dir, f.Name)) })
		require.NoError(t, err)
		require.True(t, bytes.Equal(b.Entries[i].Payload, payload), "module %d, %s", i, m.Kind)
		b.Entries[i].Payload = payload
	}
	again := must.Get(b.Encode())(t)
	require.True(t, bytes.Equal(raw, again))
	return tree
}

// roles returns the roles of a module's files.
func roles(m *Module) (list []Role) {
	for _, f := range m.Files {
		list = append(list, f.Role)
	}
	return list
}
