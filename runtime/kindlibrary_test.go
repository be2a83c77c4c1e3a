package runtime_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

func TestLibrary_SavedAsTheBytesOfItsFile(t *testing.T) {
	noLeaks(t)
	path := filepath.Join(t.TempDir(), "m.so")
	writeFile(t, path, readFile(t, multiC))
	for _, opts := range [][]runtime.LoadOption{nil, {runtime.PrivateCopy()}} {
		m := modules.Load(t, path, opts...)
		got := must.Get(m.SaveToBinary())(t)
		require.True(t, bytes.Equal(readFile(t, multiC), got))
		got = must.Get(m.SaveToBinaryFor(blob.Modern))(t)
		require.True(t, bytes.Equal(readFile(t, multiC), got))
		requireError(t, must.Fail(m.SaveToBinaryFor(blob.Legacy)), runtime.ErrNotSupported, "use the modern layout")
		require.NoError(t, m.Close())
	}
	m := modules.Load(t, path)
	require.NoError(t, os.Rename(path, path+".old"))
	requireError(t, must.Fail(m.SaveToBinary()), runtime.ErrNotFound, "m.so", "No such file")
	writeFile(t, path, readFile(t, multiC))
	requireError(t, must.Fail(m.SaveToBinary()), runtime.ErrFailed, "m.so", "was changed since", "load it again")

	inMemory := loadBytes(t, readFile(t, multiC))
	_, err := inMemory.SaveToBinary()
	requireError(t, err, runtime.ErrNotSupported, "loaded from memory", "load it from a file")
}

// A library inside another library keeps its own functions. Its imports are those in the outer tree, not those in its
// own blob.
func TestLibrary_InsideOfALibrary(t *testing.T) {
	machine.Need(t, multiC)
	noLeaks(t)
	namedKind(t, nil)
	inner := withBlob(t, probeSource, modernTree([]entry{of("root of its own"), lib()}, [][]int{{1}, nil}))
	f := global(t, "ffi.Module.load_from_bytes.library")
	m := call(t, f, inner).(*runtime.Module)
	defer m.Close()
	require.Equal(t, "library", m.Kind())
	require.Empty(t, imports(t, m))
	require.Equal(t, int64(3), call(t, function(t, m, "echo"), 3))

	require.NoError(t, m.Import(must.Open(runtime.NewModule("given", runtime.Runnable,
		&goModule{functions: map[string]runtime.PackedFunc{
			"who": func(args ...any) (any, error) { return "given", nil }}}))(t)))
	require.Equal(t, "given", call(t, function(t, m, "env"), "who"), "the library's code finds its imports")

	plain := readFile(t, multiC)
	outer := loadBytes(t, withBlob(t, probeSource, modernTree([]entry{lib(), {"library", plain}, of("a")},
		[][]int{{1}, {2}, nil})))
	dep := imports(t, outer)[0]
	require.Equal(t, "library", dep.Kind())
	require.Equal(t, []string{"a"}, names(t, dep))
	requireAddone(t, outer)
}

func TestLibrary_FromBytesRefused(t *testing.T) {
	machine.Need(t, multiC)
	noLeaks(t)
	f := global(t, "ffi.Module.load_from_bytes.library")
	for _, bad := range [][]byte{nil, []byte("text"), readFile(t, multiC)[:1000]} {
		requireError(t, must.Fail(f.Call(bad)), runtime.ErrCorruptModule, "a library inside of a file")
	}
	requireError(t, must.Fail(f.Call(1)), runtime.ErrInvalidArgument, "must be str")
}
