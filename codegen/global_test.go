package codegen_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

func callGlobal(t testing.TB, name string, args ...any) (any, error) {
	t.Helper()
	f := must.Get(runtime.Global(name))(t)
	defer f.Close()
	return f.Call(args...)
}

// A Go program finds the same global functions as C, and a registered generator becomes one of them.
func TestGlobal_Builds(t *testing.T) {
	_, err := callGlobal(t, "target.TargetAsJSON", kind(t, "c")) // the object of a kind is kept
	require.NoError(t, err)
	before := runtime.Live()
	text := inPlace("f", "", "1.0", "")
	program := must.Get(callGlobal(t, "tir.FromText", text))(t)
	p := program.(*runtime.Module)
	require.Equal(t, "tir", p.Kind())
	require.Equal(t, []string{"f"}, p.Functions())
	for _, in := range []any{text, []byte(text), p} {
		for _, to := range []any{"c", kind(t, "c"), kind(t, "c").Kind()} {
			m := must.Get(callGlobal(t, "codegen.Build", in, to))(t)
			require.Equal(t, "c", m.(*runtime.Module).Kind())
			require.NoError(t, m.(*runtime.Module).Close())
		}
	}
	require.ErrorIs(t, must.Fail(p.Function("f")), runtime.ErrNotSupported)
	require.ErrorIs(t, must.Fail(p.GetSource("c")), runtime.ErrNotSupported)
	require.NoError(t, p.Close())
	require.Error(t, must.Fail(callGlobal(t, "codegen.Build", p, "c")), "it is closed")
	require.Equal(t, before, runtime.Live())

	k := newGoKind(t, 1)
	_, err = runtime.Global("target.build." + k.name)
	require.ErrorIs(t, err, runtime.ErrNotFound, "its generator is set in a column")
	serial++
	other := newGoKind(t, 1)
	require.ErrorContains(t, codegen.Register("nonesuch", other.build), "declare it by target.RegisterKind")
	kinds := must.Get(callGlobal(t, "codegen.Kinds"))(t)
	require.Contains(t, kinds, any("c"))
	require.Contains(t, kinds, any(k.name))
}

// A program is saved like every other file: a reader of the old file does not see the change.
func TestGlobal_SavesProgramAtOnce(t *testing.T) {
	program := must.Get(callGlobal(t, "tir.FromText", inPlace("f", "", "1.0", "")))(t)
	p := program.(*runtime.Module)
	defer p.Close()
	path := filepath.Join(t.TempDir(), "f.tir")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o666))
	before := must.Get(os.Open(path))(t)
	defer before.Close()
	require.NoError(t, p.SaveToFile(path, ""))
	require.Equal(t, "old", string(must.Get(io.ReadAll(before))(t)))
	data := must.Get(os.ReadFile(path))(t)
	require.Equal(t, must.Get(p.GetSource("tir"))(t), string(data))
	require.ErrorContains(t, p.SaveToFile(filepath.Join(path, "x.json"), ""), "save the program to "+path)
}
