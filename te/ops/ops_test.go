package ops

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/tirrun"
	"tvmgo/te"
	"tvmgo/tir"
)

func placeholder(name string, sizes ...int32) *te.Tensor {
	return te.Placeholder(te.Dims(sizes...), tir.Float32, name)
}

// values are numbers that sums keep exact.
func values(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = float64((i*7+3)%11) - 5
	}
	return out
}

// compute runs a tensor of arguments that hold values.
func compute(t *testing.T, out *te.Tensor, ins ...*te.Tensor) []float64 {
	t.Helper()
	require.NoError(t, out.Err())
	s, err := te.NewSchedule(out)
	require.NoError(t, err)
	var args, given []any
	for _, x := range append(ins, out) {
		n, shape := 1, []int64{}
		for _, d := range x.ProducerShape() {
			n *= int(d.(*tir.IntImm).Value)
			shape = append(shape, d.(*tir.IntImm).Value)
		}
		a, err := tirrun.From(tir.Float32, values(n), shape...)
		require.NoError(t, err)
		args, given = append(args, x), append(given, a)
	}
	m, err := te.Lower(s, args, "f")
	require.NoError(t, err)
	require.NoError(t, tir.Check(m))
	require.NoError(t, tirrun.Run(m, "f", given...))
	got, err := tirrun.Values[float64](given[len(given)-1].(*tirrun.Array))
	require.NoError(t, err)
	return got
}

func TestOps(t *testing.T) {
	x, y, row := placeholder("X", 3, 4), placeholder("Y", 4, 5), placeholder("Row", 4)
	a, b, r := values(12), values(20), values(4)
	at := func(n int, f func(i int) float64) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = f(i)
		}
		return out
	}
	require.Equal(t, at(12, func(i int) float64 { return max(a[i], 0) }), compute(t, Relu(x, "R"), x))
	require.Equal(t, at(12, func(i int) float64 { return a[i] + r[i%4] }), compute(t, Add(x, row, "S"), x, row))
	col := placeholder("Col", 3, 1)
	require.Equal(t, at(12, func(i int) float64 { return r[i%4] * a[i/4] }), compute(t, Multiply(row, col, "M"), row, col))
	require.Equal(t, at(12, func(i int) float64 { return a[i%3*4+i/3] }), compute(t, Transpose(x, "T", 1, 0), x))
	cube, c := placeholder("Cube", 2, 3, 4), values(24)
	require.Equal(t, at(24, func(i int) float64 { return c[i/3%2*12+i%3*4+i/6] }),
		compute(t, Transpose(cube, "T", 2, 0, 1), cube))
	require.Equal(t, at(15, func(i int) float64 {
		sum := 0.0
		for k := range 4 {
			sum += a[i/5*4+k] * b[k*5+i%5]
		}
		return sum
	}), compute(t, Matmul(x, y, "P"), x, y))
	require.Equal(t, at(24, func(i int) float64 {
		if p, q := i/6-1, i%6; p >= 0 && q < 4 {
			return a[p*4+q]
		}
		return 0
	}), compute(t, Pad(x, "Pad", []int{1, 0}, []int{0, 2}), x))
	require.InDeltaSlice(t, at(12, func(i int) float64 {
		sum := 0.0
		for k := range 4 {
			sum += math.Exp(a[i/4*4+k])
		}
		return math.Exp(a[i]) / sum
	}), compute(t, Softmax(x, "Soft"), x), 1e-6)
	// exp of 500 is beyond float32: the greatest is taken off before.
	big := Map(x, "Big", func(e tir.Expr) tir.Expr { return tir.Mul(e, tir.F32(100)) })
	require.InDeltaSlice(t, at(12, func(i int) float64 {
		sum := 0.0
		for k := range 4 {
			sum += math.Exp(100 * (a[i/4*4+k] - a[i]))
		}
		return 1 / sum
	}), compute(t, Softmax(big, "Soft"), x), 1e-6)
}

func TestConv2D(t *testing.T) {
	const batch, channels, height, width, filters = 2, 3, 7, 6, 2
	x, w := placeholder("X", batch, channels, height, width), placeholder("W", filters, channels, 3, 2)
	a, f := values(batch*channels*height*width), values(filters*channels*3*2)
	for _, c := range []struct{ stride, padding, h, w int }{{1, 0, 5, 5}, {2, 1, 4, 4}, {3, 2, 3, 3}} {
		got := compute(t, Conv2D(x, w, "Y", c.stride, c.padding), x, w)
		require.Len(t, got, batch*filters*c.h*c.w)
		for i, v := range got {
			n, o, y, z := i/c.w/c.h/filters, i/c.w/c.h%filters, i/c.w%c.h, i%c.w
			sum := 0.0
			for k := range channels {
				for p := range 3 {
					for q := range 2 {
						if h, v := y*c.stride+p-c.padding, z*c.stride+q-c.padding; h >= 0 && h < height && v >= 0 && v < width {
							sum += a[((n*channels+k)*height+h)*width+v] * f[((o*channels+k)*3+p)*2+q]
						}
					}
				}
			}
			require.Equal(t, sum, v, "%v at %d", c, i)
		}
	}
}

func TestOps_AnySize(t *testing.T) {
	n, m := te.Var("n"), te.Var("m")
	x, w := te.Placeholder([]tir.Expr{n, n, m, m}, tir.Float32, "X"), te.Placeholder([]tir.Expr{n, n, m, m},
		tir.Float32, "W")
	y := Relu(Conv2D(x, w, "Y", 2, 1), "Z")
	s, err := te.NewSchedule(y)
	require.NoError(t, err)
	f, err := te.Lower(s, []any{x, w, y}, "f")
	require.NoError(t, err)
	require.NoError(t, tir.Check(f))
	require.NoError(t, Add(x, te.Placeholder([]tir.Expr{m}, tir.Float32, "B"), "C").Err())
}

func TestOps_Errors(t *testing.T) {
	n, m := te.Var("n"), te.Var("m")
	x, y, v := placeholder("X", 3, 4), placeholder("Y", 3, 5), te.Placeholder([]tir.Expr{n, m}, tir.Float32, "V")
	image, filters := placeholder("I", 1, 3, 8, 8), placeholder("F", 1, 4, 3, 3)
	for want, made := range map[string]*te.Tensor{
		"te: compute A: dimension 1 of tensors X and Y is 4 and 5: want equal": Add(x, y, "A"),
		"te: compute A: dimension 1 of tensors V and V.t is m and n: want": Add(v,
			Transpose(v, "V.t", 1, 0), "A"),
		"te: compute M: tensor X has 4 columns, and tensor Y 3 rows":                       Matmul(x, y, "M"),
		"te: compute M: tensor V has m columns, and tensor V n rows":                       Matmul(v, v, "M"),
		"te: compute M: tensor X has 4 columns, and tensor I 8 rows: want":                 Matmul(x, image, "M"),
		"te: compute T: operand 0, tensor X, has 2 dimensions: want 3":                     Transpose(x, "T", 0, 1, 2),
		"te: compute T: axis 1 of tensor X is given twice":                                 Transpose(x, "T", 1, 1),
		"te: compute T: there is no axis 2 of tensor X: it has 2 dimensions: want -2 to 1": Transpose(x, "T", 0, 2),
		"te: compute P: the padding of dimension 1 is -1 and 0": Pad(x, "P", []int{0, -1},
			[]int{0, 0}),
		"te: compute P: 2 paddings before and 1 after": Pad(x, "P",
			[]int{0, 1}, []int{0}),
		"te: compute C: tensor I has 3 channels, and the filters F have 4": Conv2D(image, filters, "C", 1, 1),
		"te: compute C: axis 2 of tensor I: stride 0 and dilation 1: want 1": Conv2D(image,
			placeholder("G", 4, 3, 3, 3), "C", 0, 0),
		"te: compute S: tensor N has 0 dimensions": Softmax(
			te.Placeholder(nil, tir.Float32, "N"), "S"),
		"te: compute R: operand 0: te: the tensor is nil":                        Relu(nil, "R"),
		"te: compute R: operand 0: te: compute M: tensor X has 4 columns, and t": Relu(Matmul(x, y, "M"), "R"),
	} {
		require.ErrorContains(t, made.Err(), want)
	}
}
