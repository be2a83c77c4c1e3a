//go:build opencl

package opencl_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// textured makes a kernel that reads x and writes twice its elements, with whole pixels or single channels read.
func textured(t *testing.T, shape []int32, elements tir.Type, scope string, backwards bool) *tir.IRModule {
	t.Helper()
	x := te.Placeholder(te.Dims(shape...), elements, "x")
	y := te.Compute(te.Dims(shape...), "y", func(i ...tir.Expr) tir.Expr {
		at := append([]tir.Expr{}, i...)
		if backwards {
			at[len(at)-1] = tir.Sub(tir.I32(3), at[len(at)-1])
		}
		return tir.Add(x.At(at...), x.At(at...))
	})
	s := must.Get(te.NewSchedule(y))(t)
	st := s.Stage(y)
	axes := y.Axes()
	all := axes[0]
	for _, a := range axes[1 : len(axes)-1] {
		all = st.Fuse(all, a)
	}
	st.Vectorize(axes[len(axes)-1])
	block, thread := st.Split(all, 8)
	st.Bind(block, "blockIdx.x")
	st.Bind(thread, "threadIdx.x")
	return must.Get(te.Lower(s, []any{te.InScope(x, scope), te.InScope(y, scope)}, "twice"))(t)
}

// TestTextures runs kernels over images of each scope and type.
func TestTextures(t *testing.T) {
	need(t)
	for _, c := range []struct {
		scope     string
		shape     []int32
		elements  tir.Type
		backwards bool
		code      string
	}{
		{"global.texture", []int32{3, 5, 4}, tir.Float32, false, "read_imagef(x, tvmgo_pixels, (int2)("},
		{"global.texture", []int32{2, 3, 5, 4}, tir.Float32, false, "write_imagef(y, (int2)("},
		{"global.texture-weight", []int32{2, 3, 5, 4}, tir.Int32, false, "read_imagei(x"},
		{"global.texture-nhwc", []int32{2, 3, 5, 4}, tir.UInt8, false, "read_imageui(x"},
		{"global.texture", []int32{3, 5, 4}, tir.Float16, false, "__read_only image2d_t x, __write_only image2d_t y"},
		{"global.texture", []int32{3, 5, 4}, tir.Float32, true, "read_imagef(x"},
		{"global.texture", []int32{3, 5, 4}, tir.Int16, true, "read_imagei(x"},
	} {
		m := textured(t, c.shape, c.elements, c.scope, c.backwards)
		built := must.Open(codegen.Build(m, clTarget(t)))(t)
		imports := must.Get(built.Imports())(t)
		require.Contains(t, must.Get(imports[0].GetSource("cl"))(t), c.code)
		lib := harness.LibraryFor(t, m, clTarget(t))
		shape := make([]int64, len(c.shape))
		n := 1
		for d, k := range c.shape {
			shape[d], n = int64(k), n*int(k)
		}
		dt := dlpack.DataType(c.elements)
		bytes := make([]byte, int(dt.Bits)/8*n)
		for i := range n {
			v := uint32(i % 50)
			switch c.elements {
			case tir.Float32:
				v = 0x3f800000 + uint32(i)<<10
			case tir.Float16:
				v = 0x3c00 + uint32(i)
			}
			for k := range int(dt.Bits) / 8 {
				bytes[i*int(dt.Bits)/8+k] = byte(v >> (8 * k))
			}
		}
		x := must.Open(runtime.NewTensorInScope(dt, shape, devices[0], c.scope))(t)
		y := must.Open(runtime.NewTensorInScope(dt, shape, devices[0], c.scope))(t)
		require.NoError(t, x.CopyFromBytes(bytes))
		must.Get(must.Get(lib.Function("twice"))(t).Call(x, y))(t)
		got := make([]byte, len(bytes))
		require.NoError(t, y.CopyToBytes(got))
		size := int(dt.Bits) / 8
		for i := range n {
			from := i
			if c.backwards {
				from = i/4*4 + 3 - i%4
			}
			value := func(b []byte, i int) (v uint32) {
				for k := range size {
					v |= uint32(b[i*size+k]) << (8 * k)
				}
				return v
			}
			want := value(bytes, from)
			switch c.elements {
			case tir.Float32:
				want += 1 << 23 // twice: the exponent grows
			case tir.Float16:
				want += 1 << 10
			default:
				want *= 2
			}
			require.Equal(t, want, value(got, i), "%v %v element %d", c.scope, c.elements, i)
		}
	}
}

// TestTextures_Errors rejects what images cannot do, with the name of the texture.
func TestTextures_Errors(t *testing.T) {
	program := func(buffers, body string) *tir.IRModule {
		return must.Get(text.Parse(`func f(A: handle, B: handle) {
  ` + strings.ReplaceAll(buffers, ";", "\n  ") + `
  thread i in range(3), thread "threadIdx.x" { ` + body + ` }
}`))(t)
	}
	good := `buffer A: float32[3, 5, 4], scope "global.texture", param A; buffer B: float32[3, 5, 4], param B`
	for want, c := range map[string][3]string{
		"texture A: a store writes a part of a pixel": {"opencl", good, "A[i, 0, 0] = 1"},
		"texture A: the kernel reads and writes it": {"opencl", good,
			"vectorized c in range(4) { A[i, 0, c] = A[i, 1, c] }"},
		"texture A: the target has no images (texture_spatial_limit=0)": {"opencl -texture_spatial_limit=0", good,
			"B[i, 0, 0] = A[i, 0, 0]"},
		"an image of 5 by 3 pixels, and the target has at most 4": {"opencl -texture_spatial_limit=4", good,
			"B[i, 0, 0] = A[i, 0, 0]"},
		"its last dimension is not 4": {"opencl",
			`buffer A: float32[3, 5, 3], scope "global.texture", param A; buffer B: float32[3], param B`, "B[i] = A[i, 0, 0]"},
		"it has 2 dimensions: scope global.texture wants at least 3": {"opencl",
			`buffer A: float32[3, 4], scope "global.texture", param A; buffer B: float32[3], param B`, "B[i] = A[i, 0]"},
		"it has elements of type float64: want float32, float16, or integers": {"opencl",
			`buffer A: float64[3, 5, 4], scope "global.texture", param A; buffer B: float64[3], param B`, "B[i] = A[i, 0, 0]"},
	} {
		to := must.Get(target.New(c[0]))(t)
		_, err := codegen.Build(program(c[1], c[2]), to)
		require.ErrorContains(t, err, want)
	}
}
