package main_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// graphs returns a folder with a model, and one that is wrong.
func graphs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, op := range map[string]string{"model.graph": "relu", "wrong.graph": "relo"} {
		text := "func main(x: float32[n]) {\n  y = " + op + "(x)\n  return y\n}\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// C programs compile whole models by a function that runs the program tvmgo, which it finds by an environment variable,
// beside the library, or in PATH. A front end can stop it.
func TestCompile(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	program := l.compile(t, "compile_test", "compile_test.c", l.linked()...)
	models := graphs(t)
	tvmgo := filepath.Join(l.dist, "bin", "tvmgo")
	env := []string{"TMPDIR=" + t.TempDir(), "TVMGO_CACHE_DIR=off"}
	l.runOK(t, append(env, "TVMGO_COMPILER="+tvmgo), program, models)
	l.runOK(t, append(env, "PATH="+filepath.Dir(tvmgo)+":"+os.Getenv("PATH")), program, models)
	r := l.run(t, env, program, models)
	require.False(t, r.ok)
	require.Contains(t, r.out, "neither beside the library nor in PATH: install it, or name it by TVMGO_COMPILER")
	r = l.run(t, append(env, "TVMGO_COMPILER=/absent/tvmgo"), program, models)
	require.Contains(t, r.out, "the program of the environment variable TVMGO_COMPILER")

	slow := filepath.Join(models, "slow")
	require.NoError(t, os.WriteFile(slow, []byte("#!/bin/sh\nexec sleep 600\n"), 0o777))
	l.runOK(t, append(env, "TVMGO_COMPILER="+slow), program, models, "stop")
	must.Get(os.Stat(filepath.Join(models, "a.so")))(t)
}

// The installed library finds the installed program.
func TestCompile_Installed(t *testing.T) {
	tree := install(t)
	l := newLab(t)
	program := l.compile(t, "compile_installed_test", "compile_test.c", "-L"+filepath.Join(tree, "lib"), "-ltvmgo",
		"-Wl,-rpath,"+filepath.Join(tree, "lib"))
	models := graphs(t)
	l.runOK(t, []string{"TMPDIR=" + t.TempDir(), "TVMGO_CACHE_DIR=off"}, program, models)
}
