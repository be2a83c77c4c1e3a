package weights_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/npyfile"
	"tvmgo/internal/testing/must"
	"tvmgo/weights"
)

// dtypes are the types of tensors, except vectors.
func dtypes() []dlpack.DataType {
	list := []dlpack.DataType{dlpack.BFloat16, dlpack.ClassicBool}
	for _, n := range npyfile.Types() {
		list = append(list, n.DType)
	}
	for code := dlpack.CodeFloat8E3M4; code <= dlpack.CodeFloat8E8M0FNU; code++ {
		list = append(list, dlpack.DataType{Code: code, Bits: 8, Lanes: 1})
	}
	return append(list, dlpack.DataType{Code: dlpack.CodeFloat6E2M3FN, Bits: 6, Lanes: 1},
		dlpack.DataType{Code: dlpack.CodeFloat6E3M2FN, Bits: 6, Lanes: 1}, dlpack.Float4E2M1FN,
		dlpack.DataType{Code: dlpack.CodeInt, Bits: 4, Lanes: 1}, dlpack.DataType{Code: dlpack.CodeUInt, Bits: 4, Lanes: 1})
}

func array(t testing.TB, name string, dtype dlpack.DataType, shape ...int64) weights.Array {
	a := weights.Array{Name: name, DType: dtype, Shape: shape,
		Data: make([]byte, must.Get(dlpack.DataSize(shape, dtype))(t))}
	r := rand.New(rand.NewPCG(1, uint64(len(a.Data))))
	for i := range a.Data {
		a.Data[i] = byte(r.Uint32() & 1) // valid elements of bool
		if !dtype.IsBool() {
			a.Data[i] = byte(r.Uint32())
		}
	}
	return a
}

// arrays is a model with every type that a format can hold, and with the shapes that are special cases.
func arrays(t testing.TB, format weights.Format) (list []weights.Array) {
	for _, dtype := range dtypes() {
		for _, shape := range [][]int64{{8}, {3, 0, 2}, {2, 3, 4}, {32, 16}} {
			a := array(t, dtype.String()+"."+string(rune('a'+len(list)%26))+"é/x", dtype, shape...)
			if weights.Encode(&bytes.Buffer{}, format, []weights.Array{a}, nil) == nil {
				list = append(list, a)
			}
		}
	}
	for i := range list {
		list[i].Name += string(rune('0' + i%10))
	}
	list = append(list, array(t, "scalar", dlpack.Float32), array(t, "", dlpack.Int8, 5))
	if format == weights.NPY || format == weights.TensorFile {
		return list[:1]
	}
	return list
}

// bool of the classic generation is the modern one where a format knows only one.
func stored(format weights.Format, t dlpack.DataType) dlpack.DataType {
	if t == dlpack.ClassicBool && format != weights.Params && format != weights.TensorFile {
		return dlpack.Bool
	}
	return t
}

func requireSame(t *testing.T, want []weights.Array, set *weights.Set) {
	t.Helper()
	require.Len(t, set.Tensors(), len(want))
	for _, w := range want {
		got := must.Get(set.Lookup(w.Name))(t)
		require.Equal(t, stored(set.Format(), w.DType), got.DType, w.Name)
		require.Equal(t, append([]int64{}, w.Shape...), append([]int64{}, got.Shape...), w.Name)
		require.EqualValues(t, len(w.Data), got.Size)
		require.True(t, bytes.Equal(w.Data, must.Get(got.Data())(t)), w.Name)
	}
}

// Every type that a format can hold is read as it was written, as views of the file, which are aligned where the format
// permits.
func TestWrite_RoundTrip(t *testing.T) {
	for format, least := range map[weights.Format]int{weights.Params: 90, weights.TensorFile: 1,
		weights.Safetensors: 80, weights.NPZ: 60, weights.NPY: 1} {
		t.Run(string(format), func(t *testing.T) {
			list := arrays(t, format)
			require.GreaterOrEqual(t, len(list), least)
			path := filepath.Join(t.TempDir(), "stem."+string(format))
			require.Equal(t, format, must.Get(weights.FormatOf(path))(t))
			require.NoError(t, weights.Write(path, format, list, nil))
			set := must.Open(weights.Open(path))(t)
			require.Equal(t, format, set.Format())
			if format == weights.NPY || format == weights.TensorFile {
				require.Equal(t, "stem", set.Tensors()[0].Name, "the file's name")
				list[0].Name = "stem"
			}
			requireSame(t, list, set)
			for _, w := range set.Tensors() {
				require.True(t, w.IsView())
				require.Empty(t, w.Encoding)
				if format == weights.NPZ || format == weights.NPY ||
					format == weights.Safetensors && w.Size%64 == 0 {
					require.True(t, w.IsAligned(), w.Name)
				}
			}
			require.NoError(t, set.Align())
			for _, w := range set.Tensors() {
				require.True(t, w.IsAligned())
			}
			requireSame(t, list, set)

			data := must.Get(os.ReadFile(path))(t)
			parsed := must.Open(weights.Parse(data))(t)
			if format == weights.NPY || format == weights.TensorFile {
				list[0].Name = ""
			}
			requireSame(t, list, parsed)
			for _, w := range parsed.Tensors() {
				require.False(t, w.IsAligned(), "Go's collector owns the bytes")
			}
			require.NoError(t, parsed.Align())
			requireSame(t, list, parsed)

			fsys := must.Open(weights.OpenFS(os.DirFS(filepath.Dir(path)), filepath.Base(path)))(t)
			require.Len(t, fsys.Tensors(), len(list))
		})
	}
}

// Metadata of safetensors is kept; other formats have no place for it.
func TestWrite_Metadata(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.safetensors")
	metadata := map[string]string{"format": "pt", "a<b>\n\"": "ü"}
	require.NoError(t, weights.Write(path, weights.Safetensors, nil, metadata))
	set := must.Open(weights.Open(path))(t)
	require.Equal(t, metadata, set.Metadata())
	require.Empty(t, set.Tensors())
	require.ErrorContains(t, weights.Write(path, weights.NPZ, nil, metadata), "write safetensors")
	require.Equal(t, metadata, must.Open(weights.Open(path))(t).Metadata(), "the old file stays")
}

// What a format cannot hold is an error that names the tensor and a way out, and leaves no file.
func TestWrite_Refused(t *testing.T) {
	f32 := weights.Array{Name: "w", DType: dlpack.Float32, Shape: []int64{2}, Data: make([]byte, 8)}
	with := func(change func(a *weights.Array)) []weights.Array {
		a := f32
		change(&a)
		return []weights.Array{a}
	}
	for _, c := range []struct {
		format weights.Format
		arrays []weights.Array
		want   string
	}{
		{weights.Params, []weights.Array{f32, f32}, `"w" is given to two tensors`},
		{weights.Params, with(func(a *weights.Array) { a.Data = a.Data[:7] }), "takes 8 bytes, Data has 7"},
		{weights.Params, with(func(a *weights.Array) { a.Shape = []int64{-2} }), "negative"},
		{weights.NPZ, with(func(a *weights.Array) { a.DType, a.Shape = dlpack.BFloat16, []int64{4} }),
			"NumPy has no type for bfloat16: write safetensors"},
		{weights.Params, with(func(a *weights.Array) { a.DType, a.Shape = dlpack.Float4E2M1FN, []int64{16} }),
			"TVM's files cannot hold"},
		{weights.Params, with(func(a *weights.Array) { a.DType.Lanes, a.Shape = 2, []int64{1} }), "cannot be saved"},
		{weights.Safetensors, with(func(a *weights.Array) { a.Name = "__metadata__" }), "rename it"},
		{weights.Safetensors, with(func(a *weights.Array) { a.Name = "\xff" }), "UTF-8"},
		{weights.NPY, nil, "holds one tensor, not 0"},
		{weights.TensorCache, []weights.Array{f32}, "does not consist of one file"},
	} {
		dir := t.TempDir()
		require.ErrorContains(t, weights.Write(filepath.Join(dir, "f"), c.format, c.arrays, nil), c.want)
		require.Empty(t, must.Get(os.ReadDir(dir))(t))
	}
	require.ErrorContains(t, must.Fail(weights.FormatOf("a.bin")), "use .params, .safetensors")
}
