package weights_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/wheel"
	"tvmgo/weights"
)

func requireEqualSets(t *testing.T, want []weights.Array, path string) *weights.Set {
	t.Helper()
	set := must.Open(weights.Open(path))(t)
	requireSame(t, want, set)
	return set
}

func contents(t *testing.T, path string) (list []weights.Array) {
	set := must.Open(weights.Open(path))(t)
	for _, w := range set.Tensors() {
		list = append(list, must.Get(w.Array())(t))
	}
	return list
}

// TVM and NumPy read what is written here, and what they write is read here: the tensors survive both ways.
func TestWheel(t *testing.T) {
	given, made := t.TempDir(), t.TempDir()
	// TVM cannot load an empty tensor, and its Python package has no NumPy type for the other types.
	all := slices.DeleteFunc(arrays(t, weights.Params), func(a weights.Array) bool {
		return len(a.Data) == 0 || a.DType == dlpack.ClassicBool || a.DType.Code == dlpack.CodeComplex ||
			a.DType.Code >= dlpack.CodeFloat8E3M4 && a.DType != dlpack.Float8E4M3FN && a.DType != dlpack.Float8E5M2
	})
	all = append(all, array(t, "large", dlpack.Float32, 300, 1000), array(t, "larger", dlpack.Float32, 700, 1000))
	require.NoError(t, weights.Write(filepath.Join(given, "all.params"), weights.Params, all, nil))
	numpy := slices.DeleteFunc(arrays(t, weights.NPZ), func(a weights.Array) bool {
		return a.DType == dlpack.ClassicBool || a.Name == ""
	})
	for i := range numpy { // keyword arguments of savez
		numpy[i].Name = "n" + numpy[i].Name
	}
	require.NoError(t, weights.Write(filepath.Join(given, "all.npz"), weights.NPZ, numpy, nil))
	one := array(t, "one", dlpack.Float64, 30, 40)
	require.NoError(t, weights.Write(filepath.Join(given, "one.npy"), weights.NPY, []weights.Array{one}, nil))
	wheel.Run(t, nil, "testdata/files.py", given, made)

	requireEqualSets(t, all, filepath.Join(made, "all.params"))
	requireEqualSets(t, numpy, filepath.Join(made, "all.npz"))
	set := requireEqualSets(t, numpy, filepath.Join(made, "compressed.npz"))
	require.Equal(t, "deflate", set.Tensors()[0].Encoding)
	set = requireEqualSets(t, []weights.Array{one}, filepath.Join(made, "one.npy"))
	require.Equal(t, "column-major", set.Tensors()[0].Encoding)

	set = requireEqualSets(t, all, filepath.Join(made, "raw"))
	require.NotEmpty(t, set.Metadata()["ParamSize"])
	for _, path := range []string{"f32-to-bf16", "f32-to-bf16/tensor-cache.json"} {
		set = requireEqualSets(t, contents(t, filepath.Join(made, "f32-to-bf16.params")), filepath.Join(made, path))
		require.Equal(t, "f32-to-bf16", must.Get(set.Lookup("large"))(t).Encoding)
	}
	halves := must.Open(weights.Open(filepath.Join(made, "f32-to-bf16", "tensor-cache-b16.json")))(t)
	require.Equal(t, dlpack.BFloat16, must.Get(halves.Lookup("large"))(t).DType)
	require.True(t, must.Get(halves.Lookup("large"))(t).IsView())
}
