//go:build opencl

package opencl_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// A module loads programs that another module compiled instead of compiling. A compiled program can also be loaded as a
// module.
func TestPrograms_Precompiled(t *testing.T) {
	needTwo(t)
	noLeaks(t)
	t.Setenv("TVMGO_CACHE_DIR", "off")
	oneArg := []dlpack.DataType{dlpack.Handle}
	body := func(name, value string) string {
		return "__kernel void " + name + "(__global float* x) { x[0] = " + value + "; }\n"
	}
	types := []runtime.KernelType{{Name: "f", Args: oneArg}, {Name: "g", Args: oneArg}}
	split := func(a, b string) string { return "// Function: f\n" + body("f", a) + "// Function: g\n" + body("g", b) }
	whole := func(a, b string) string { return body("f", a) + body("g", b) }
	one := runtime.Dim3{1}
	for i, form := range []func(a, b string) string{split, whole} {
		for _, dev := range present() {
			x := tensor(t, dev, make([]float32, 1))
			run := func(m *runtime.Module, name string) float32 {
				require.NoError(t, kernel(t, m, name).Launch(nil, one, one, x))
				return slice(t, x)[0]
			}
			call := func(m *runtime.Module, name string, args ...any) (any, error) {
				s, err := runtime.NewStream(dev)
				require.NoError(t, err)
				defer s.Close()
				return function(t, m, name).CallOn(s, args...)
			}
			made := handMade(t, form("1", "2"), types...)
			saved, err := call(made, "opencl.GetPreCompiledPrograms")
			require.NoError(t, err)
			require.IsType(t, []byte{}, saved)
			// The second module has another source, so that the results show which program runs.
			other := handMade(t, form("3", "4"), types...)
			_, err = call(other, "opencl.SetPreCompiledPrograms", saved)
			require.NoError(t, err)
			require.Equal(t, []float32{1, 2}, []float32{run(other, "f"), run(other, "g")})
			// A kernel that has already run keeps its program.
			late := handMade(t, form("5", "6"), types...)
			require.Equal(t, float32(5), run(late, "f"))
			_, err = call(late, "opencl.SetPreCompiledPrograms", saved)
			require.NoError(t, err)
			require.Equal(t, float32(5), run(late, "f"))

			// A single program is the code of a module with a binary format.
			r := blob.NewReader(saved.([]byte))
			require.EqualValues(t, 2, r.U64("n"))
			require.Equal(t, "f", r.Str("name"))
			binary := r.Bytes("program")
			m, err := runtime.NewDeviceModule("opencl", "xclbin", binary, types[0])
			require.NoError(t, err)
			defer m.Close()
			require.Equal(t, float32(1), run(m, "f"))

			// Invalid bytes are an error, and no program of them is loaded.
			fresh := handMade(t, form("7", "8"), types...)
			good := saved.([]byte)
			type bad struct {
				data []byte
				want string
			}
			list := []bad{
				{nil, "compiled programs"},
				{good[:len(good)-1], "compiled program"},
				{append(slices.Clone(good), 0), "compiled programs"},
				{programs("h", binary), `no kernel "h"`},
				{programs("f", []byte("none")), "cannot load the program of kernel f"},
				{programs("f", handMadeProgram(t, dev, body("stranger", "9"), "stranger")),
					"kernel f is not in the program, which has: stranger"},
			}
			if i == 0 { // each kernel has its own program
				list = append(list, bad{programs("f", binary, "g", []byte("none")), "program of kernel g"})
			}
			for _, c := range list {
				_, err := call(fresh, "opencl.SetPreCompiledPrograms", c.data)
				requireError(t, err, runtime.ErrCorruptModule, "opencl.SetPreCompiledPrograms", c.want)
			}
			require.Equal(t, []float32{7, 8}, []float32{run(fresh, "f"), run(fresh, "g")})
			_, err = call(fresh, "opencl.GetPreCompiledPrograms", 1)
			requireError(t, err, runtime.ErrInvalidArgument, "takes no arguments, 1 were given")
			_, err = call(fresh, "opencl.SetPreCompiledPrograms")
			requireError(t, err, runtime.ErrInvalidArgument, "takes one argument, the bytes; 0 were given")
			_, err = call(fresh, "opencl.SetPreCompiledPrograms", 1)
			requireError(t, err, runtime.ErrInvalidArgument)
		}
	}
}

// programs encodes names and programs in the format of opencl.GetPreCompiledPrograms.
func programs(parts ...any) []byte {
	var w blob.Writer
	w.Count(len(parts) / 2)
	for i := 0; i < len(parts); i += 2 {
		w.Str(parts[i].(string))
		b, _ := parts[i+1].([]byte)
		w.Bytes(b)
	}
	return w.Data()
}

// handMadeProgram returns the compiled program of a module with one kernel.
func handMadeProgram(t *testing.T, dev dlpack.Device, source, name string) []byte {
	t.Helper()
	m := handMade(t, source, runtime.KernelType{Name: name, Args: []dlpack.DataType{dlpack.Handle}})
	s, err := runtime.NewStream(dev)
	require.NoError(t, err)
	defer s.Close()
	saved, err := function(t, m, "opencl.GetPreCompiledPrograms").CallOn(s)
	require.NoError(t, err)
	r := blob.NewReader(saved.([]byte))
	r.U64("n")
	r.Str("name")
	return r.Bytes("program")
}

func cacheFiles(t *testing.T, dir string) []string {
	files, err := filepath.Glob(filepath.Join(dir, "opencl", "*"))
	require.NoError(t, err)
	return files
}

// A program is compiled at its first use and cached on disk, where the next module finds it.
func TestPrograms_AreLazyAndCached(t *testing.T) {
	needTwo(t)
	noLeaks(t)
	dir := t.TempDir()
	t.Setenv("TVMGO_CACHE_DIR", dir)
	var code strings.Builder
	var list []runtime.KernelType
	for i := range 100 {
		name := "k" + string(rune('a'+i/26)) + string(rune('a'+i%26))
		code.WriteString("// Function: " + name + "\n__kernel void " + name + "(__global float* x) { x[0] = 1; }\n")
		list = append(list, runtime.KernelType{Name: name, Args: []dlpack.DataType{dlpack.Handle}})
	}
	x := tensor(t, first, make([]float32, 8))
	one := runtime.Dim3{1}
	m := handMade(t, code.String(), list...)
	require.Empty(t, cacheFiles(t, dir), "nothing is compiled when a module is made")
	k := kernel(t, m, "kab")
	require.Empty(t, cacheFiles(t, dir), "nor when a kernel is looked up")
	require.NoError(t, k.Launch(nil, one, one, x))
	require.Equal(t, float32(1), slice(t, x)[0])
	files := cacheFiles(t, dir)
	require.Len(t, files, 1)
	kept, err := os.ReadFile(files[0])
	require.NoError(t, err)

	again := func() {
		t.Helper()
		require.NoError(t, runtime.CopyFrom(x, make([]float32, 8)))
		m := handMade(t, code.String(), list...)
		require.NoError(t, kernel(t, m, "kab").Launch(nil, one, one, x))
		require.Equal(t, float32(1), slice(t, x)[0])
	}
	before, err := os.Stat(files[0])
	require.NoError(t, err)
	again()
	after, err := os.Stat(files[0])
	require.NoError(t, err)
	require.True(t, os.SameFile(before, after), "the program came from the disk")
	// A file that is damaged, or that the driver rejects, is replaced.
	for _, damage := range [][]byte{nil, kept[:50], append([]byte{'T'}, kept[1:]...), append(kept[:len(kept):len(kept)],
		0)} {
		require.NoError(t, os.WriteFile(files[0], damage, 0o600))
		again()
		now, err := os.ReadFile(files[0])
		require.NoError(t, err)
		require.NotEqual(t, damage, now)
		require.Greater(t, len(now), 1000)
	}
	// Another device has its own program.
	y := tensor(t, second, make([]float32, 8))
	require.NoError(t, k.Launch(nil, one, one, y))
	require.Equal(t, float32(1), slice(t, y)[0])
	require.Len(t, cacheFiles(t, dir), 2)

	t.Setenv("TVMGO_CACHE_DIR", "off")
	again()
	unwritable := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(unwritable, nil, 0o600))
	t.Setenv("TVMGO_CACHE_DIR", unwritable)
	again()
}

// If many goroutines launch the same kernel at once, it is compiled once for each device and all launches run.
func TestPrograms_ManyAtOnce(t *testing.T) {
	need(t)
	noLeaks(t)
	dir := t.TempDir()
	t.Setenv("TVMGO_CACHE_DIR", dir)
	m := handMade(t, source, kernels...)
	k := kernel(t, m, "scale")
	const n = 8
	errs := make([]error, n)
	xs := make([]*runtime.Tensor, n)
	var wg sync.WaitGroup
	for i := range n {
		xs[i] = tensor(t, []dlpack.Device{first, other()}[i%2], []float32{1, 2, 3, 4})
		wg.Go(func() {
			for range 10 {
				if err := k.Launch(nil, runtime.Dim3{4}, runtime.Dim3{}, xs[i], 2, 4); err != nil {
					errs[i] = err
				}
			}
		})
	}
	wg.Wait()
	for i := range n {
		require.NoError(t, errs[i])
		require.Equal(t, []float32{1024, 2048, 3072, 4096}, slice(t, xs[i]))
	}
	require.Len(t, cacheFiles(t, dir), len(present()), "one for each device")
}
