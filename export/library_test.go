package export_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/export"
	"tvmgo/internal/inspect"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

func TestLibrary_FunctionsOfEverySource(t *testing.T) {
	m := cSource(t, string(readFile(t, "testdata/kernels.c")), "add_one", "vadd", "reverse", "twice")
	path := exported(t, m)
	l := modules.Load(t, path)
	require.EqualValues(t, 42, call(t, l, "add_one", 41))
	a := must.Get(runtime.FromSlice([]float32{1, 2, 3}))(t)
	for name, want := range map[string][]float32{"reverse": {3, 2, 1}, "twice": {2, 4, 6}} {
		out := must.Get(runtime.FromSlice([]float32{0, 0, 0}))(t)
		call(t, l, name, a, out)
		require.Equal(t, want, must.Get(runtime.ToSlice[float32](out))(t), name)
	}
	report := must.Get(inspect.File(path))(t)
	require.Nil(t, report.Blob, "a linked root without imports needs no blob")
	info := must.Get(os.Stat(path))(t)
	require.EqualValues(t, 0o111, info.Mode().Perm()&0o111, "libraries are executable as those of the linker")
}

func TestLibrary_CXX(t *testing.T) {
	needs(t, "c++", "C++ sources are compiled")
	code := "#include <string>\n#include <tvm/ffi/c_api.h>\nextern \"C\" int __tvm_ffi_size(void*, const TVMFFIAny* " +
		"args, int32_t, TVMFFIAny* result) {\n" +
		"  result->type_index = kTVMFFIInt;\n  result->v_int64 = (int64_t)std::string((size_t)args[0].v_int64, " +
		"'x').append(\"ab\").size();\n  return 0;\n}\n"
	m := importing(t, must.Open(runtime.NewCSource(code, "cc", []string{"size"}, nil))(t), constant(t, "five", 5))
	l := modules.Load(t, exported(t, m))
	require.EqualValues(t, 102, call(t, l, "size", 100))
	require.EqualValues(t, 5, call(t, l, "five"))
}

// All functions of the linked modules exist, and the other modules keep their positions in the tree.
func TestLibrary_RandomTrees(t *testing.T) {
	const trees = 14
	var cycles, roots int
	for seed := range int64(trees) {
		r := rand.New(rand.NewSource(seed))
		layout, function := blob.Modern, constant
		if seed%2 == 1 {
			layout, function = blob.Legacy, classicConstant
		}
		root, imports, linked := randomTree(t, r, 8, function)
		path := filepath.Join(t.TempDir(), "deploy.so")
		err := export.Library(ctx, root, path, export.Layout(layout), export.StaticCheck())
		if mergesIntoCycle(imports, linked) {
			cycles++
			require.ErrorIs(t, err, runtime.ErrInvalidArgument, "seed %d", seed)
			require.ErrorContains(t, err, "It would import itself")
			require.Empty(t, names(t, filepath.Dir(path)))
			continue
		}
		require.NoError(t, err, "seed %d", seed)
		if !linked[0] {
			roots++
		}
		got := modules.Load(t, path)
		require.Equal(t, graphOf(t, root), graphOf(t, got), "seed %d", seed)
		for i, l := range linked {
			if name := fmt.Sprintf("f%d", i); l && reached(imports, i) {
				require.EqualValues(t, i, call(t, got, name), "seed %d", seed)
			}
		}
	}
	require.NotZero(t, cycles, "no tree was of the kind that can't be merged")
	require.NotZero(t, roots, "the library was the root of every tree")
}

func reached(imports [][]int, i int) bool {
	if i == 0 {
		return true
	}
	for parent, deps := range imports {
		for _, d := range deps {
			if d == i && reached(imports, parent) {
				return true
			}
		}
	}
	return false
}

func TestLibrary_SharedImport(t *testing.T) {
	shared := newData(t, []byte("shared"))
	left, right := newData(t, []byte("left")), newData(t, nil)
	root := importing(t, constant(t, "f", 1), importing(t, left, shared), importing(t, right, shared))
	got := modules.Load(t, exported(t, root))
	require.Equal(t, graphOf(t, root), graphOf(t, got))
	deps := must.Get(got.Imports())(t)
	require.Len(t, deps, 2)
	var ids []uintptr
	for _, d := range deps {
		below := must.Get(d.Imports())(t)
		require.Len(t, below, 1)
		ids = append(ids, below[0].ID())
	}
	require.Equal(t, ids[0], ids[1], "one module came back as two")
}

func TestLibrary_DeepChain(t *testing.T) {
	chain := func(n int) *runtime.Module {
		m := newData(t, []byte("end"))
		for i := range n {
			m = importing(t, newData(t, []byte{byte(i), byte(i >> 8), byte(i >> 16)}), m)
		}
		return m
	}
	for _, n := range []int{1000, 20_000} {
		deep := chain(n)
		path := exported(t, deep, export.StaticCheck())
		loaded := modules.Load(t, path)
		require.Equal(t, graphOf(t, deep), graphOf(t, loaded))
		report := must.Get(inspect.File(path))(t)
		require.Empty(t, report.Problems)
		require.Len(t, report.Blob.Modules, n+1)
		var text strings.Builder
		require.NoError(t, report.WriteText(&text))
		require.Equal(t, n+1, strings.Count(text.String(), "] "+dataKind))
		require.NoError(t, loaded.Close())
		require.NoError(t, deep.Close())
	}
}

// A library without any code of its own.
func TestLibrary_OnlyData(t *testing.T) {
	root := newData(t, bytes.Repeat([]byte("payload"), 100))
	require.Equal(t, graphOf(t, root), graphOf(t, modules.Load(t, exported(t, root))),
		"a root that is not linked is not lost")
}

func TestLibrary_Legacy(t *testing.T) {
	root := importing(t, classicConstant(t, "seven", 7), importing(t, newData(t, []byte("a")), newData(t, []byte("b"))))
	path := exported(t, root, export.Layout(blob.Legacy))
	report := must.Get(inspect.File(path))(t)
	require.Equal(t, inspect.Classic, report.Generation)
	require.Equal(t, "__tvm_dev_mblob", report.Blob.Symbol)
	got := modules.Load(t, path)
	require.EqualValues(t, 7, call(t, got, "seven"))
	require.Equal(t, graphOf(t, root), graphOf(t, got))

	err := export.Library(ctx, root, path)
	require.ErrorContains(t, err, "choose the other Layout")
	require.EqualValues(t, 7, call(t, modules.Load(t, path), "seven"), "the library that was there is gone")
}

func TestLibrary_SameBytes(t *testing.T) {
	build := func(dir string, options ...export.Option) []byte {
		t.Helper()
		t.Setenv("TMPDIR", t.TempDir())
		t.Chdir(dir)
		root := importing(t, constant(t, "f", 1), constant(t, "g", 2), newData(t, []byte("x")))
		return readFile(t, exported(t, root, append(options, export.StaticCheck())...))
	}
	here := must.Get(os.Getwd())(t)
	for name, options := range map[string][]export.Option{
		"plain": nil, "C array": {export.Pack(export.PackC)}, "debug information": {export.Flags("-g")},
	} {
		first := build(t.TempDir(), options...)
		second := build(here, options...)
		require.True(t, bytes.Equal(first, second), name)
	}
}

func TestLibrary_LargePayload(t *testing.T) {
	const size = 64 << 20
	content := make([]byte, size)
	rand.New(rand.NewSource(1)).Read(content)
	root := importing(t, constant(t, "f", 1), newData(t, content))
	got := modules.Load(t, exported(t, root))
	deps := must.Get(got.Imports())(t)
	payload := must.Get(deps[0].SaveToBinaryFor(blob.Modern))(t)
	require.True(t, bytes.Equal(content, payload[8:]))
}

func TestLibrary_PackedEveryWay(t *testing.T) {
	content := make([]byte, 1000)
	for i := range content {
		content[i] = byte(i)
	}
	root := importing(t, constant(t, "f", 1), newData(t, content))
	var blobs [][]byte
	for name, p := range map[string]export.Packing{"assembler": export.PackAssembler, "C": export.PackC,
		"LLVM": export.PackLLVM} {
		t.Run(name, func(t *testing.T) {
			if p == export.PackLLVM {
				needs(t, "clang", "LLVM IR is compiled")
			}
			path := exported(t, root, export.Pack(p))
			require.Equal(t, graphOf(t, root), graphOf(t, modules.Load(t, path)))
			blobs = append(blobs, readFile(t, path))
		})
	}
	data := must.Get(export.ImportsToBytes(root, blob.Modern))(t)
	for _, b := range blobs {
		require.Equal(t, 1, bytes.Count(b, data))
	}
}

func TestLibrary_OptionsReachTheCompiler(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mine.h"), []byte("#define MINE 30\n"), 0o600))
	object := filepath.Join(dir, "extra.o")
	compileC(t, "int extra(void) { return 4; }", object, "-c", "-fPIC")
	code := strings.ReplaceAll(fmt.Sprintf(constantSource, "f", 0), "= 0;\n  return",
		"= MINE + FLAG + extra() + (int)cbrt(args[0].v_int64);\n  return")
	root := cSource(t, "#include <math.h>\n#include \"mine.h\"\nint extra(void);\n"+code, "f")
	t.Chdir(dir)
	got := modules.Load(t, exported(t, root, export.Includes("."), export.Flags("-DFLAG=500"), export.Objects("extra.o"),
		export.Libraries("m")))
	require.EqualValues(t, 30+500+4+3, call(t, got, "f", 27))
}

func TestLibrary_KeepFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	root := importing(t, constant(t, "f", 1), newData(t, []byte("x")))
	first := readFile(t, exported(t, root, export.KeepFiles(dir)))
	require.Subset(t, names(t, dir), []string{"lib0.c", "lib0.o", "devc.bin", "devc.s", "devc.o"})
	require.Equal(t, first, readFile(t, exported(t, root, export.KeepFiles(dir))), "a second run into the same folder")
}

func TestLibrary_ReplacesThroughLink(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.so"), filepath.Join(dir, "link.so")
	require.NoError(t, os.WriteFile(real, []byte("older"), 0o600))
	require.NoError(t, os.Symlink("real.so", link))
	require.NoError(t, export.Library(ctx, constant(t, "f", 3), link))
	require.EqualValues(t, 3, call(t, modules.Load(t, real), "f"))
	require.Equal(t, "real.so", must.Get(os.Readlink(link))(t))
}

// A file gets the permissions that the umask allows, not those of the file that it replaces.
func TestLibrary_Permissions(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o027))
	for suffix, want := range map[string]fs.FileMode{".so": 0o750, ".o": 0o640} {
		path := filepath.Join(t.TempDir(), "f"+suffix)
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		require.NoError(t, export.Library(ctx, constant(t, "f", 3), path))
		info := must.Get(os.Stat(path))(t)
		require.Equal(t, want, info.Mode())
	}
}

// A symbolic link may point to a file that does not exist yet, by a relative path from the real location of the link's
// folder.
func TestLibrary_LinkToNothingYet(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "deep", "links"), 0o755))
	require.NoError(t, os.Symlink("deep/links", filepath.Join(dir, "short")))
	require.NoError(t, os.Symlink("other.so", filepath.Join(dir, "deep", "links", "link.so")))
	require.NoError(t, os.Symlink("../real.so", filepath.Join(dir, "deep", "links", "other.so")))
	require.NoError(t, export.Library(ctx, constant(t, "f", 3), filepath.Join(dir, "short", "link.so")))
	require.EqualValues(t, 3, call(t, modules.Load(t, filepath.Join(dir, "deep", "real.so")), "f"))
	require.Equal(t, []string{"link.so", "other.so"}, names(t, filepath.Join(dir, "deep", "links")))
}

// The temporary file beside the path needs a valid name, too.
func TestLibrary_LongestNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{strings.Repeat("n", 252) + ".so", strings.Repeat("é", 126) + ".so",
		strings.Repeat("n", 251) + ".tar"} {
		require.NoError(t, export.Library(ctx, constant(t, "f", 3), filepath.Join(dir, name)))
	}
	require.Len(t, names(t, dir), 3)
	require.EqualValues(t, 3, call(t, modules.Load(t, filepath.Join(dir, strings.Repeat("é", 126)+".so")), "f"))
}

// Concurrent exports don't disturb each other, not even to the same path: the file of the last one remains, complete.
func TestLibrary_AtOnce(t *testing.T) {
	root := importing(t, constant(t, "f", 1), newData(t, []byte("x")))
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			path := filepath.Join(dir, fmt.Sprintf("%d.so", i%3))
			if err := export.Library(ctx, root, path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, []string{"0.so", "1.so", "2.so"}, names(t, dir))
	require.Equal(t, readFile(t, filepath.Join(dir, "0.so")), readFile(t, filepath.Join(dir, "2.so")))
	require.EqualValues(t, 1, call(t, modules.Load(t, filepath.Join(dir, "0.so")), "f"))
}
