package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/literate"
	"tvmgo/internal/testing/must"
)

// The steps of docs/python.md work, on a copy of the wheel instead of an installation by pip.
func TestPythonDocs(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	python, env := withPython(t, l)
	document := must.Get(literate.Read(filepath.Join(l.root, "docs", "python.md")))(t)
	shell, programs := document.Code("sh"), document.Code("python")
	require.Len(t, shell, 4)
	require.Len(t, programs, 2)

	// The steps expect a source tree.
	tree := l.path("docs")
	for to, from := range map[string]string{"include": "include", "examples/kernel": "examples/kernel",
		"testdata/artifacts/modern": "testdata/artifacts/modern"} {
		require.NoError(t, copyTree(filepath.Join(tree, to), filepath.Join(l.root, from)))
	}
	require.NoError(t, copyTree(filepath.Join(tree, "dist", "lib"), l.path("lib")))
	site := filepath.Join(tree, "site")
	wheels, err := filepath.Glob(filepath.Join(l.root, "build", ".cache", "venv", "lib", "python*", "site-packages"))
	require.NoError(t, err)
	require.Len(t, wheels, 1)
	seen := wheels[0]
	if l.hide != nil {
		seen = l.path("venv", strings.SplitN(wheels[0], "/venv/", 2)[1])
	}
	metadata := must.Get(filepath.Glob(filepath.Join(wheels[0], "apache_tvm_ffi-*.dist-info")))(t)
	require.Len(t, metadata, 1, "the steps contain the version")
	version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(metadata[0]), "apache_tvm_ffi-"), ".dist-info")
	require.Contains(t, shell[1], "apache-tvm-ffi=="+version+" ")
	for _, name := range []string{"tvm_ffi", filepath.Base(metadata[0])} {
		require.NoError(t, copyTree(filepath.Join(site, name), filepath.Join(wheels[0], name)))
	}
	for _, name := range []string{"numpy", "numpy.libs", "ml_dtypes", "typing_extensions.py"} {
		require.NoError(t, os.Symlink(filepath.Join(seen, name), filepath.Join(site, name)))
	}
	bin := filepath.Join(tree, "bin")
	require.NoError(t, os.Mkdir(bin, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "python3"), []byte("#!/bin/sh\nexec '"+python+"' -S -B \"$@\"\n"),
		0o755))

	for i, name := range []string{"program.py", "model.py"} {
		require.NoError(t, os.WriteFile(filepath.Join(tree, name), []byte(programs[i]), 0o644))
	}
	run := func(script string) result {
		env := append([]string{"PYTHONPATH=" + site}, env...)
		return l.run(t, env, "sh", "-euc", `cd "$1"; PATH=$1/bin:$PATH; `+script, "sh", tree)
	}
	makeKernel := strings.Replace(shell[0], "make\n", "", 1)
	require.NotEqual(t, shell[0], makeKernel)
	r := run(makeKernel + "python3 program.py")
	require.False(t, r.ok, r.out)
	require.Contains(t, r.out, "this is not libtvmgo.so", "the wheel's own library")
	r = run(shell[2] + "python3 program.py\npython3 model.py\n" + `cmp "$lib" dist/lib/libtvmgo.so` + "\n" +
		shell[3] + "python3 program.py")
	require.False(t, r.ok, r.out)
	require.True(t, strings.HasPrefix(r.out, "[3. 3. 3. 3.]\nx float32 ['batch', '16']\n(3, 10)\n"), r.out)
	require.Contains(t, r.out, "this is not libtvmgo.so", "the old library is back")
}
