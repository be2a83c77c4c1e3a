package te

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// references compute workloads with plain Go loops. They check the results that TestSchedule_Random compares with.
var references = map[string]func(in []any) []float64{
	"elementwise": func(in []any) []float64 {
		var out []float64
		for _, a := range values(in[0]) {
			out = append(out, (a+3)-(a+3)*a)
		}
		return out
	},
	"broadcast": func(in []any) []float64 {
		a, b := values(in[0]), values(in[1])
		n, m := len(a), len(b)
		out := make([]float64, m*n)
		for i := range m {
			for j := range n {
				out[i*n+j] = a[j]*b[i] + 1 + a[n-j-1]*b[i]
			}
		}
		return out
	},
	"matmul": func(in []any) []float64 {
		a, b := values(in[0]), values(in[1])
		out := make([]float64, 7*5)
		for i := range 7 {
			for j := range 5 {
				for k := range 9 {
					out[i*5+j] += a[i*9+k] * b[k*5+j]
				}
				out[i*5+j] = max(out[i*5+j], 0)
			}
		}
		return out
	},
	"matmul of any size": func(in []any) []float64 {
		a, b := values(in[0]), values(in[1])
		out := make([]float64, 5*6)
		for i := range 5 {
			for j := range 6 {
				for k := range 7 {
					out[i*6+j] += a[i*7+k] * (b[k*6+j] + 1)
				}
			}
		}
		return out
	},
	"convolution": func(in []any) []float64 {
		x, w := values(in[0]), values(in[1])
		out := make([]float64, 3*4*6)
		for o := range 3 {
			for i := range 4 {
				for j := range 6 {
					sum := 0.0
					for c := range 2 {
						for p := range 3 {
							for q := range 3 {
								if h, v := i*2+p-1, j+q-1; h >= 0 && h < 7 && v >= 0 && v < 6 {
									sum += x[(c*7+h)*6+v] * w[((o*2+c)*3+p)*3+q]
								}
							}
						}
					}
					out[(o*4+i)*6+j] = max(sum, 1)
				}
			}
		}
		return out
	},
	"windows": func(in []any) []float64 {
		a := values(in[0])
		n := len(a)
		b := func(i int) float64 {
			if i < 0 || i >= n {
				return 0
			}
			return a[i] * 2
		}
		c := func(i int) float64 { return b(i+1) + b(i) + b(i-1) + b(i-2) }
		out := make([]float64, n)
		for i := range n {
			out[i] = c(n-1-i) + b(3*i) + c(i/2)
		}
		return out
	},
	"reshape": func(in []any) []float64 {
		a := values(in[0])
		out := make([]float64, 30)
		for f := range out {
			out[f] = (a[f]-4)*2 + a[min(2*f, 29)] - 4
		}
		return out
	},
	"softmax": func(in []any) []float64 {
		a := values(in[0])
		out := make([]float64, len(a))
		for i := 0; i < len(a); i += 7 {
			sum := 0.0
			for _, v := range a[i : i+7] {
				sum += math.Exp(v)
			}
			for k, v := range a[i : i+7] {
				out[i+k] = math.Exp(v) / sum
			}
		}
		return out
	},
	"argmax": func(in []any) []float64 {
		a := values(in[0])
		var out []float64
		for i := 0; i < len(a); i += 6 {
			at := 0
			for k := range 6 {
				if -a[i+k] > -a[i+at] {
					at = k
				}
			}
			top := -3 * a[i+at]
			out = append(out, float64(at)+top*top)
		}
		return out
	},
	"several results": func(in []any) []float64 {
		a := values(in[0])
		out := make([]float64, 5)
		for i := range out {
			for _, v := range a[i*6 : i*6+6] {
				out[i] += v + 1 + v
			}
		}
		return out
	},
	"extern": func(in []any) []float64 {
		a := values(in[0])
		out := make([]float64, len(a))
		for i := range a {
			out[i] = (a[len(a)-1-i]+2)*3 - (a[i] + 2)
		}
		return out
	},
}

func values(arg any) []float64 {
	m := arg.(*memory)
	out := make([]float64, len(m.vals))
	for i, v := range m.vals {
		out[i] = float64(v.i) + v.f
	}
	return out
}

func TestLower_References(t *testing.T) {
	for _, w := range workloads {
		t.Run(w.name, func(t *testing.T) {
			want := references[w.name]
			require.NotNil(t, want)
			got := unscheduled(t, w)
			require.InDeltaSlice(t, want(got), values(got[w.results[0]]), 1e-6)
		})
	}
}
