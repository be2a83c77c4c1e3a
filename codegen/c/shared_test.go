//go:build cgo

package c_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen/c"
	"tvmgo/internal/testing/must"
	"tvmgo/tir"
)

// The files of a long program share the functions that check arguments: one file defines them, the others declare them.
// A library of all files has no undefined shared symbol and exports none. A program in a single file contains its own.
func TestEmitUnits_Common(t *testing.T) {
	var funcs []*tir.PrimFunc
	for i := range 250 {
		funcs = append(funcs, elementwise(fmt.Sprintf("f%d", i), tir.Float32, tir.Float32,
			func(x tir.Expr) tir.Expr { return tir.Mul(x, tir.F32(float32(i))) }))
	}
	program := module(t, funcs...)
	for _, classic := range []bool{false, true} {
		e := c.Emitter{Classic: classic}
		units := must.Get(e.EmitUnits(program, nil))(t)
		require.Greater(t, len(units), 2)
		require.Equal(t, units, must.Get(e.EmitUnits(program, nil))(t), "the same program gives the same files")
		dir := t.TempDir()
		args := []string{"-std=gnu11", "-Wall", "-Wextra", "-Wno-unused-function", "-Wno-unused-parameter", "-Werror", "-O1",
			"-fPIC", "-shared", "-I../../include", "-o", filepath.Join(dir, "all.so")}
		for i, text := range units {
			require.NotContains(t, text, "\x02")
			isLast := i == len(units)-1
			require.Equal(t, isLast, strings.Contains(text, "vsnprintf("), "text %d", i)
			require.Equal(t, !isLast, strings.Contains(text, "_body("), "text %d", i)
			path := filepath.Join(dir, fmt.Sprintf("%d.c", i))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			args = append(args, path)
		}
		out, err := exec.Command("cc", append(args, "-lm")...).CombinedOutput()
		require.NoError(t, err, string(out))
		symbols, err := exec.Command("nm", "-D", filepath.Join(dir, "all.so")).CombinedOutput()
		require.NoError(t, err, string(symbols))
		require.NotContains(t, string(symbols), " tvmgo_")
		require.Contains(t, string(symbols), "f249")

		alone := must.Get(e.Emit(program, nil))(t)
		require.NotContains(t, alone, "hidden")
		require.NotContains(t, alone, "TVMGO_SHARED")
	}
}
