package cudarun

import (
	"embed"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

//go:embed testdata
var kernels embed.FS

// source returns the file of a kernel. Each uses what generated code uses, and is correct.
func source(t *testing.T, kernel string) string {
	t.Helper()
	return string(must.Get(kernels.ReadFile("testdata/" + kernel + ".cu"))(t))
}

// check runs a kernel with arguments and expected results. It returns the error of the launch, or
// false if a result is wrong.
type check func(t *testing.T, l *Library) (right bool, err error)

func numbers(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32((i*7+3)%11)/2 - 2
	}
	return v
}

func same(got, want []float32) bool {
	for i := range want {
		if !(math.Abs(float64(got[i]-want[i])) <= 1e-3) {
			return false
		}
	}
	return true
}

// product is A·B of m × k and k × n numbers.
func product(a, b []float32, m, n, k int) []float32 {
	c := make([]float32, m*n)
	for i := range m {
		for j := range n {
			for l := range k {
				c[i*n+j] += a[i*k+l] * b[l*n+j]
			}
		}
	}
	return c
}

// halves returns float16 of small multiples of 1/2.
func halves(v []float32) []uint16 {
	h := make([]uint16, len(v))
	for i, x := range v {
		bits := math.Float32bits(x)
		if x != 0 {
			h[i] = uint16(bits>>16&0x8000 | (bits>>23&0xFF-112)<<10 | bits>>13&0x3FF)
		}
	}
	return h
}

var checks = map[string]check{
	"gemm": func(t *testing.T, l *Library) (bool, error) {
		const m, n, k = 37, 21, 43
		a, b, c := numbers(m*k), numbers(k*n), make([]float32, m*n)
		err := l.Launch("gemm", Grid{Blocks: Dim{2, 3}, Threads: Dim{16, 16}}, c, a, b, int32(m), int32(n), int32(k))
		return same(c, product(a, b, m, n, k)), err
	},
	"row_sum": func(t *testing.T, l *Library) (bool, error) {
		const rows, columns = 5, 300
		in, out, want := numbers(rows*columns), make([]float32, rows), make([]float32, rows)
		for i, x := range in {
			want[i/columns] += x
		}
		err := l.Launch("row_sum", Grid{Blocks: Dim{rows}, Threads: Dim{128}}, out, in, int32(columns))
		return same(out, want), err
	},
	"pipeline": func(t *testing.T, l *Library) (bool, error) {
		const tiles = 7
		x, y, want := numbers(tiles*256), make([]float32, tiles*64), make([]float32, tiles*64)
		for i := range want {
			for j := range 4 {
				want[i] += x[4*i+j] + x[4*(i/64*64+(i+1)%64)+j]
			}
		}
		err := l.Launch("pipeline", Grid{Blocks: Dim{1}, Threads: Dim{64}, Shared: 3 * 1024}, y, x, int32(tiles))
		return same(y, want), err
	},
	"tensor_f16": func(t *testing.T, l *Library) (bool, error) {
		a, b, c := numbers(16*16), numbers(16*8), make([]float32, 16*8)
		err := l.Launch("tensor_f16", Grid{Threads: Dim{32}}, c, halves(a), halves(b))
		return same(c, product(a, b, 16, 8, 16)), err
	},
	"tensor_tf32": func(t *testing.T, l *Library) (bool, error) {
		a, b, c := numbers(16*8), numbers(8*8), make([]float32, 16*8)
		err := l.Launch("tensor_tf32", Grid{Threads: Dim{32}}, c, a, b)
		return same(c, product(a, b, 16, 8, 8)), err
	},
	"histogram": func(t *testing.T, l *Library) (bool, error) {
		const n = 1000
		values, counts, want := make([]byte, n), make([]int32, 16), make([]int32, 16)
		for i := range values {
			values[i] = byte(i * i % 16)
			want[values[i]]++
		}
		err := l.Launch("histogram", Grid{Blocks: Dim{3}, Threads: Dim{128}}, counts, values, int32(n))
		right := true
		for i := range want {
			right = right && counts[i] == want[i]
		}
		return right, err
	},
}

// The kernels give the right results in every order of threads and blocks.
func TestKernels(t *testing.T) {
	for name, run := range checks {
		l := must.Get(Compile(source(t, name), Options{}))(t)
		for _, seed := range []string{"0", "1", "2", "3"} {
			t.Setenv("CUDARUN_SEED", seed)
			right, err := run(t, l)
			require.NoError(t, err, name)
			require.True(t, right, "%s with seed %s", name, seed)
		}
	}
}
