package codegen_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/runtime"
)

func callGlobal(t testing.TB, name string, args ...any) (any, error) {
	t.Helper()
	f, err := runtime.Global(name)
	require.NoError(t, err)
	defer f.Close()
	return f.Call(args...)
}

// What C finds, a Go program finds as well; a generator that is registered becomes one of them.
func TestGlobal_Builds(t *testing.T) {
	_, err := callGlobal(t, "target.TargetAsJSON", kind(t, "c")) // the object of a kind stays
	require.NoError(t, err)
	before := runtime.Live()
	text := inPlace("f", "", "1.0", "")
	program, err := callGlobal(t, "tir.FromText", text)
	require.NoError(t, err)
	p := program.(*runtime.Module)
	require.Equal(t, "tir", p.Kind())
	require.Equal(t, []string{"f"}, p.Functions())
	for _, in := range []any{text, []byte(text), p} {
		for _, to := range []any{"c", kind(t, "c"), kind(t, "c").Kind()} {
			m, err := callGlobal(t, "codegen.Build", in, to)
			require.NoError(t, err)
			require.Equal(t, "c", m.(*runtime.Module).Kind())
			require.NoError(t, m.(*runtime.Module).Close())
		}
	}
	_, err = p.Function("f")
	require.ErrorIs(t, err, runtime.ErrNotSupported)
	_, err = p.GetSource("c")
	require.ErrorIs(t, err, runtime.ErrNotSupported)
	require.NoError(t, p.Close())
	_, err = callGlobal(t, "codegen.Build", p, "c")
	require.Error(t, err, "it is closed")
	require.Equal(t, before, runtime.Live())

	k := newGoKind(t, 1)
	_, err = runtime.Global("target.build." + k.name)
	require.ErrorIs(t, err, runtime.ErrNotFound, "its generator stands in a column")
	serial++
	other := newGoKind(t, 1)
	require.ErrorContains(t, codegen.Register("nonesuch", other.build), "declare it by target.RegisterKind")
	kinds, err := callGlobal(t, "codegen.Kinds")
	require.NoError(t, err)
	require.Contains(t, kinds, any("c"))
	require.Contains(t, kinds, any(k.name))
}

// A program is saved like every other file: a reader of the old file does not see it change.
func TestGlobal_SavesProgramAtOnce(t *testing.T) {
	program, err := callGlobal(t, "tir.FromText", inPlace("f", "", "1.0", ""))
	require.NoError(t, err)
	p := program.(*runtime.Module)
	defer p.Close()
	path := filepath.Join(t.TempDir(), "f.tir")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o666))
	before, err := os.Open(path)
	require.NoError(t, err)
	defer before.Close()
	require.NoError(t, p.SaveToFile(path, ""))
	old, err := io.ReadAll(before)
	require.NoError(t, err)
	require.Equal(t, "old", string(old))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	text, err := p.GetSource("tir")
	require.NoError(t, err)
	require.Equal(t, text, string(data))
	require.ErrorContains(t, p.SaveToFile(filepath.Join(path, "x.json"), ""), "save the program to "+path)
}
