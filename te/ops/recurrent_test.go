//go:build cgo

package ops

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/te"
	"tvmgo/tir"
)

// recurrentOf computes a layer by its definition, of operands by the names of the fields of Recurrent.
func recurrentOf(kind string, in map[string]*nd, r Recurrent, b, t, h int) (y, lastH, lastC *nd) {
	d, gates := 1, map[string]int{"rnn": 1, "gru": 3, "lstm": 4}[kind]
	if r.Direction == Bidirectional {
		d = 2
	}
	dt := in["X"].t
	at := func(n string, i ...int) float64 {
		if in[n] == nil {
			return 0
		}
		return in[n].at(i...)
	}
	swap := func(first, second int) (int, int) {
		if r.BatchFirst {
			return second, first
		}
		return first, second
	}
	shape := func(first, second, more int) []int {
		first, second = swap(first, second)
		if more > 0 {
			return []int{first, second, more, h}
		}
		return []int{first, second, h}
	}
	zeros := func(shape []int) *nd { return &nd{dt, shape, make([]float64, count(shape))} }
	y, lastH, lastC = zeros([]int{t, d, b, h}), zeros(shape(d, b, 0)), zeros(shape(d, b, 0))
	if r.BatchFirst {
		y = zeros([]int{b, t, d, h})
	}
	limited := func(v float64) float64 {
		if r.Clip > 0 {
			v = math.Min(math.Max(v, -r.Clip), r.Clip)
		}
		return v
	}
	sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-limited(v))) }
	for k := range d * b {
		k, n := k/b, k%b
		hs, cs := make([]float64, h), make([]float64, h)
		p, q := swap(k, n)
		for j := range h {
			hs[j], cs[j] = at("H", p, q, j), at("C", p, q, j)
		}
		steps := t
		if in["Lengths"] != nil {
			steps = int(in["Lengths"].v[n])
		}
		for s := range steps {
			time := s
			if r.Direction == Backwards || k == 1 {
				time = steps - 1 - s
			}
			tanh := func(v float64) float64 { return math.Tanh(limited(v)) }
			if len(r.Activations) > 0 { // the first direction's are replaced by softsign
				if k == 0 {
					tanh = func(v float64) float64 { return limited(v) / (1 + math.Abs(limited(v))) }
				}
			}
			of := func(state []float64, gate, j int) (r float64) {
				for x := range h {
					r += state[x] * at("R", k, gate*h+j, x)
				}
				return r + at("B", k, (gates+gate)*h+j)
			}
			input := func(gate, j int) float64 {
				sum := at("B", k, gate*h+j)
				for x := range in["X"].shape[2] {
					p, q := swap(time, n)
					sum += at("X", p, q, x) * at("W", k, gate*h+j, x)
				}
				return sum
			}
			next := make([]float64, h)
			reset := make([]float64, h)
			for j := range h {
				if kind == "gru" {
					reset[j] = sigmoid(input(1, j)+of(hs, 1, j)) * hs[j]
				}
			}
			for j := range h {
				switch kind {
				case "rnn":
					next[j] = tanh(input(0, j) + of(hs, 0, j))
				case "gru":
					z := sigmoid(input(0, j) + of(hs, 0, j))
					m := input(2, j) + of(reset, 2, j)
					if r.LinearBeforeReset {
						m = input(2, j) + sigmoid(input(1, j)+of(hs, 1, j))*of(hs, 2, j)
					}
					next[j] = (1-z)*tanh(m) + z*hs[j]
				case "lstm":
					i := sigmoid(input(0, j) + of(hs, 0, j) + at("P", k, j)*cs[j])
					f := sigmoid(input(2, j) + of(hs, 2, j) + at("P", k, 2*h+j)*cs[j])
					if r.InputForget {
						f = 1 - i
					}
					c := f*cs[j] + i*tanh(input(3, j)+of(hs, 3, j))
					o := sigmoid(input(1, j) + of(hs, 1, j) + at("P", k, h+j)*c)
					cs[j], next[j] = c, o*tanh(c)
				}
			}
			hs = next
			for j := range h {
				place := []int{time, k, n, j}
				if r.BatchFirst {
					place = []int{n, time, k, j}
				}
				y.v[y.position(place)] = rounded16(dt, hs[j])
			}
		}
		for j := range h {
			lastH.v[lastH.position([]int{p, q, j})] = rounded16(dt, hs[j])
			lastC.v[lastC.position([]int{p, q, j})] = rounded16(dt, cs[j])
		}
	}
	return y, lastH, lastC
}

var _ = valueCases("recurrent", recurrentCases)

func recurrentCases() (cases []opCase) {
	const b, t, i, h = 3, 4, 2, 5
	layers := map[string]func(Recurrent, string) []*te.Tensor{"rnn": RNN, "gru": GRU, "lstm": LSTM}
	for n, kind := range []string{"rnn", "gru", "lstm"} {
		for mode := range 12 {
			dt := []tir.Type{tir.Float32, tir.Float64, tir.Float32, tir.Float16}[(mode+n)%4]
			r := Recurrent{Direction: Direction(mode % 3), BatchFirst: mode&1 > 0, InputForget: mode == 5,
				LinearBeforeReset: mode&2 > 0}
			if mode%5 == 4 {
				r.Clip = 0.25
			}
			d, g := 1, map[string]int{"rnn": 1, "gru": 3, "lstm": 4}[kind]
			if r.Direction == Bidirectional {
				d = 2
			}
			swap := func(first, second, third int) []int {
				if r.BatchFirst {
					first, second = second, first
				}
				return []int{first, second, third}
			}
			small := func(k int, shape ...int) *nd {
				return filled(dt, shape, func(i int) float64 { return float64((i*37+k*11)%17-8) / 16 })
			}
			in := map[string]*nd{"X": small(1, swap(t, b, i)...), "W": small(2, d, g*h, i), "R": small(3, d, g*h, h)}
			if mode > 0 {
				in["B"] = small(4, d, 2*g*h)
			}
			if mode > 2 && mode != 7 {
				in["Lengths"] = &nd{tir.Int32, []int{b}, []float64{4, 0, 2}}
			}
			if mode > 4 {
				in["H"] = small(5, swap(d, b, h)...)
			}
			if kind == "lstm" && mode > 5 {
				in["C"], in["P"] = small(6, swap(d, b, h)...), small(7, d, 3*h)
			}
			softsign, _ := ActivationOf("Softsign", 0, 0)
			sigmoid, _ := ActivationOf("sigmoid", 0, 0)
			tanh, _ := ActivationOf("tanh", 0, 0)
			if mode == 8 || mode == 9 {
				r.Activations = map[string][]Activation{"rnn": {softsign}, "gru": {sigmoid, softsign},
					"lstm": {sigmoid, softsign, softsign}}[kind]
				if d == 2 {
					r.Activations = append(r.Activations, map[string][]Activation{"rnn": {tanh}, "gru": {sigmoid, tanh},
						"lstm": {sigmoid, tanh, tanh}}[kind]...)
				}
			}
			var names []string
			var ins []*nd
			for _, n := range []string{"X", "W", "R", "B", "Lengths", "H", "C", "P"} {
				if in[n] != nil {
					names, ins = append(names, n), append(ins, in[n])
				}
			}
			y, lastH, lastC := recurrentOf(kind, in, r, b, t, h)
			for k, want := range []*nd{y, lastH, lastC} {
				if k > 0 && kind != "lstm" && mode%3 != k || k == 2 && kind != "lstm" {
					continue
				}
				cases = append(cases, opCase{name: fmt.Sprintf("%s %d, mode %d of %s", kind, k, mode, dt), ins: ins, want: want,
					tol: 20 * tolerance(dt), make: func(x []*te.Tensor) *te.Tensor {
						l := r
						fields := map[string]**te.Tensor{"X": &l.X, "W": &l.W, "R": &l.R, "B": &l.B, "Lengths": &l.Lengths, "H": &l.H,
							"C": &l.C, "P": &l.P}
						for k, n := range names {
							*fields[n] = x[k]
						}
						return layers[kind](l, "Y")[k]
					}})
			}
		}
	}
	return cases
}

// TestActivationOf compares activations with their definitions.
func TestActivationOf(t *testing.T) {
	v := &nd{tir.Float32, []int{5}, []float64{-2, -0.25, 0, 0.5, 3}}
	var cases []opCase
	for name, f := range map[string]func(v float64) float64{
		"Affine":      func(v float64) float64 { return 0.5*v + 2 },
		"Elu":         func(v float64) float64 { return math.Max(v, 0) + 0.5*math.Expm1(math.Min(v, 0)) },
		"HardSigmoid": func(v float64) float64 { return math.Min(math.Max(0.5*v+2, 0), 1) },
		"LeakyRelu":   func(v float64) float64 { return math.Max(v, 0) + 0.5*math.Min(v, 0) },
		"relu":        func(v float64) float64 { return math.Max(v, 0) },
		"ScaledTanh":  func(v float64) float64 { return 0.5 * math.Tanh(2*v) },
		"Sigmoid":     func(v float64) float64 { return 1 / (1 + math.Exp(-v)) },
		"Softplus":    func(v float64) float64 { return math.Log1p(math.Exp(v)) },
		"Softsign":    func(v float64) float64 { return v / (1 + math.Abs(v)) },
		"tanh":        math.Tanh,
		"ThresholdedRelu": func(v float64) float64 {
			return v * truth(v >= 0.5)
		},
	} {
		a, err := ActivationOf(name, 0.5, 2)
		require.NoError(t, err)
		cases = append(cases, opCase{name: name, ins: []*nd{v}, tol: 1e-6,
			want: filled(tir.Float32, v.shape, func(i int) float64 { return f(v.v[i]) }),
			make: func(x []*te.Tensor) *te.Tensor { return Map(x[0], "Y", a) }})
	}
	runCases(t, cases)
	_, err := ActivationOf("cube", 0, 0)
	require.ErrorContains(t, err, `activation "cube": want affine, elu`)
}
