package export_test

import (
	"encoding/hex"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/wheel"
	"tvmgo/runtime"
)

// wheelLines runs testdata/wheel.py and returns the lines that it prints.
func wheelLines(t *testing.T, args ...string) []string {
	t.Helper()
	wheel.NeedSameMachine(t)
	out := wheel.Run(t, nil, append([]string{"testdata/wheel.py"}, args...)...)
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

func kernels(t *testing.T, deps ...*runtime.Module) *runtime.Module {
	t.Helper()
	return importing(t, cSource(t, string(readFile(t, "testdata/kernels.c")), "add_one", "vadd", "reverse", "twice"),
		deps...)
}

func constants(t *testing.T) *runtime.Module {
	t.Helper()
	return must.Open(runtime.NewConstants(&blob.Constants{Names: []string{"one"}, Tensors: []blob.Tensor{
		{DType: dlpack.Float32, Shape: []int64{1}, Data: []byte{0, 0, 128, 63}}}}))(t)
}

func device(t *testing.T, kind, format string) *runtime.Module {
	t.Helper()
	return must.Open(runtime.NewDeviceSource(kind, &blob.DeviceModule{Format: format, Data: []byte("// nothing\n"),
		Functions: []blob.Function{{Key: "k",
			FunctionInfo: blob.FunctionInfo{Name: "k", ArgTypes: []dlpack.DataType{dlpack.Handle},
				LaunchParamTags: []string{"blockIdx.x"}, ArgExtraTags: []int32{0}}}}}))(t)
}

func TestWheel_CallsOurLibraries(t *testing.T) {
	files := []string{
		exported(t, kernels(t)),
		exported(t, kernels(t, constants(t))),
		exported(t, kernels(t, constants(t), constant(t, "f", 1)), export.Pack(export.PackC)),
		exported(t, kernels(t, constants(t)), export.Flags("-Wl,-z,noseparate-code")),
	}
	// changed after it was loaded
	files = append(files, exported(t, importing(t, modules.Load(t, files[3]), constants(t))))
	require.Equal(t, []string{"library", "library const_loader", "library const_loader", "library const_loader",
		"library const_loader const_loader"}, wheelLines(t, append([]string{"call"}, files...)...))
}

// With device code, the wheel reads the tree and reports the loader that it does not have.
func TestWheel_ReadsDeviceImports(t *testing.T) {
	files := []string{exported(t, kernels(t, device(t, "opencl", "cl"))),
		exported(t, kernels(t, constants(t), device(t, "cuda", "ptx")))}
	for i, line := range wheelLines(t, append([]string{"refuse"}, files...)...) {
		kind := []string{"opencl", "cuda"}[i]
		require.Contains(t, line, "Library binary was created using {"+kind+"} but a loader of that name is not registered")
	}
}

func TestWheel_LoadsItsOwnArtifactsAgain(t *testing.T) {
	var files []string
	for _, name := range []string{"multi_c", "multi_llvm", "addone_llvm", "relax_mlp"} {
		files = append(files, exported(t, modules.Load(t, filepath.Join("../testdata/artifacts/modern", name+".so"))))
	}
	require.Equal(t, []string{"library", "library", "library", "relax.VMExecutable library"},
		wheelLines(t, append([]string{"load"}, files...)...))
}

// The block of modules has the same bytes as TVM's block for the same tree.
func TestWheel_PacksTheSame(t *testing.T) {
	empty := func() *runtime.Module {
		m, err := runtime.NewConstants(&blob.Constants{})
		return must.Open(m, err)(t)
	}
	root, one, two := cSource(t, "int a;\n"), cSource(t, "int b;\n"), cSource(t, "int c;\n")
	c, d := empty(), empty()
	importing(t, one, two, d)
	importing(t, root, c, one)
	data := must.Get(export.ImportsToBytes(root, blob.Modern))(t)
	require.Equal(t, wheelLines(t, "pack"), []string{hex.EncodeToString(data)})
}
