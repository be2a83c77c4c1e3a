package ops

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// Activation is a function of a number of type float32 or float64.
type Activation func(tir.Expr) tir.Expr

// ActivationOf returns the activation with a name, in lower or upper case: affine (alpha·x + beta), elu (alpha),
// hardsigmoid (alpha, beta), leakyrelu (alpha), relu, scaledtanh (alpha·tanh(beta·x)), sigmoid, softplus, softsign,
// tanh, thresholdedrelu (alpha).
func ActivationOf(name string, alpha, beta float64) (Activation, error) {
	constants := func(f func(e tir.Expr, c func(float64) tir.Expr) tir.Expr) Activation {
		return func(e tir.Expr) tir.Expr { return f(e, func(v float64) tir.Expr { return tir.Const(e.DType(), v) }) }
	}
	type expr = tir.Expr
	all := map[string]Activation{
		"sigmoid": func(e expr) expr { return tir.Intrin("sigmoid", e) },
		"tanh":    func(e expr) expr { return tir.Intrin("tanh", e) },
		"relu":    constants(func(e expr, c func(float64) expr) expr { return tir.Max(c(0), e) }),
		"affine":  constants(func(e expr, c func(float64) expr) expr { return tir.Add(tir.Mul(c(alpha), e), c(beta)) }),
		"elu": constants(func(e expr, c func(float64) expr) expr {
			return tir.NewSelect(tir.GE(e, c(0)), e, tir.Mul(c(alpha), tir.Sub(tir.Intrin("exp", e), c(1))))
		}),
		"hardsigmoid": constants(func(e expr, c func(float64) expr) expr { return hardSigmoid(e, c, alpha, beta) }),
		"leakyrelu": constants(func(e expr, c func(float64) expr) expr {
			return tir.NewSelect(tir.GE(e, c(0)), e, tir.Mul(c(alpha), e))
		}),
		"scaledtanh": constants(func(e expr, c func(float64) expr) expr {
			return tir.Mul(c(alpha), tir.Intrin("tanh", tir.Mul(c(beta), e)))
		}),
		"softplus": constants(softplus),
		"softsign": constants(func(e expr, c func(float64) expr) expr {
			return tir.Div(e, tir.Add(c(1), tir.Intrin("fabs", e)))
		}),
		"thresholdedrelu": constants(func(e expr, c func(float64) expr) expr {
			return tir.NewSelect(tir.GE(e, c(alpha)), e, c(0))
		}),
	}
	f := all[strings.ToLower(name)]
	if f == nil {
		return nil, fmt.Errorf("activation %q: want affine, elu, hardsigmoid, leakyrelu, relu, scaledtanh, sigmoid, "+
			"softplus, softsign, tanh or thresholdedrelu", name)
	}
	return f, nil
}

// Direction is the order in which a recurrent layer reads its input.
type Direction uint8

const (
	Forward       Direction = iota // from the first step on
	Backwards                      // from the last step on
	Bidirectional                  // both, as two layers
)

// Recurrent holds the operands and options of a recurrent layer with h hidden elements, for sequences of t steps with i
// elements, in batches of b. d is the number of directions, 1 or 2, and g that of gates: 1 for RNN, 4 for LSTM (input,
// output, forget, cell), 3 for GRU (update, reset, hidden). All tensors but Lengths have one type of floats; 16-bit
// floats are computed in float32.
type Recurrent struct {
	X       *te.Tensor // [t, b, i]; [b, t, i] if BatchFirst is set
	W       *te.Tensor // [d, g·h, i]: weights of the input
	R       *te.Tensor // [d, g·h, h]: weights of the hidden state
	B       *te.Tensor // [d, 2·g·h]: biases for W, then those for R; nil: zeros
	Lengths *te.Tensor // [b], integers: the steps of each sequence; nil: t
	H       *te.Tensor // [d, b, h], or [b, d, h] if BatchFirst is set: the first hidden state; nil: zeros
	C       *te.Tensor // of LSTM: the first cell state, like H
	P       *te.Tensor // [d, 3·h], of LSTM: weights of the cell state for input, output and forget; nil: zeros

	Direction         Direction
	BatchFirst        bool
	Clip              float64      // limits the arguments of activations to -Clip … Clip; 0: no limit
	Activations       []Activation // for each direction: of RNN 1, of GRU 2 and of LSTM 3; nil: the usual ones
	InputForget       bool         // of LSTM: the forget gate is 1 less the input gate
	LinearBeforeReset bool         // of GRU: the reset gate is applied after the weights R and their bias
}

// RNN is a recurrent layer: h' = f(W·x + R·h + biases), f is tanh by default. It returns the hidden states of all
// steps, [t, d, b, h], or [b, t, d, h] if BatchFirst is set, with zeros beyond the lengths; and the last ones, with the
// shape of H.
func RNN(r Recurrent, name string) []*te.Tensor { return recurrent("rnn", r, name, 1, 2, "tanh") }

// GRU is a layer of gated recurrent units: z = f(…), r = f(…), n = g(W·x + R·(r·h) + biases), h' = (1 - z)·n + z·h; f
// is sigmoid and g is tanh by default. The results are those of RNN.
func GRU(r Recurrent, name string) []*te.Tensor {
	return recurrent("gru", r, name, 3, 2, "sigmoid", "tanh")
}

// LSTM is a layer of long short-term memory: c' = forget·c + input·g(…), h' = output·h(c'); the gates are f of the
// weighted input, hidden state and cell state. f is sigmoid, g and h are tanh by default. The results are those of RNN,
// then the last cell states.
func LSTM(r Recurrent, name string) []*te.Tensor {
	return recurrent("lstm", r, name, 4, 3, "sigmoid", "tanh", "tanh")
}

// layer is the state of a recurrent layer.
type layer struct {
	Recurrent
	kind        string
	d           int      // directions
	t, b, h     tir.Expr // steps, batch, hidden elements
	work        tir.Type
	inputs      map[string]*tir.Buffer // by the fields' names, and "xw" for the weighted inputs
	states      []*tir.Buffer          // of the hidden state and the cell, [t+1, d, b, h]: before each step, and the last
	more        []*tir.Buffer          // of GRU: the update gate, and the hidden state after the reset, [d, b, h]
	activations []Activation
}

func recurrent(kind string, r Recurrent, name string, gates, results int, usual ...string) []*te.Tensor {
	l := &layer{Recurrent: r, kind: kind}
	if bad := l.check(name, gates, usual); bad != nil {
		return slices.Repeat([]*te.Tensor{bad}, results)
	}
	s := r.X.ProducerShape()
	x := Reshape(r.X, name+".rows", tir.I32(1), indexSize(s[:2], product(s[:2])), s[2])
	xw := Matmul(x, r.W, name+".weighted", TransposeY(), AccumulateIn(l.work))
	if err := xw.Err(); err != nil {
		return slices.Repeat([]*te.Tensor{failed(name, "%w", err)}, results)
	}
	names, inputs := []string{"xw"}, []*te.Tensor{xw}
	for n, t := range l.tensors() {
		if t != nil && n != "X" && n != "W" {
			names = append(names, n)
		}
	}
	slices.Sort(names[1:])
	for _, n := range names[1:] {
		inputs = append(inputs, l.tensors()[n])
	}
	directions := tir.I32(int32(l.d))
	history := te.ExternResult{Shape: []tir.Expr{plus(l.t, 1), directions, l.b, l.h}, Type: l.work}
	one := te.ExternResult{Shape: history.Shape[1:], Type: l.work}
	outs := map[string][]te.ExternResult{"rnn": {history}, "gru": {history, one, one}, "lstm": {history, history}}[kind]
	all := te.Extern(outs, inputs, name+".steps", func(ins, outs []*tir.Buffer) tir.Stmt {
		m := *l
		m.inputs = map[string]*tir.Buffer{}
		for k, n := range names {
			m.inputs[n] = ins[k]
		}
		m.states, m.more = outs[:results-1], outs[results-1:]
		return m.steps()
	})
	return l.results(all, name, results)
}

// results reads the results from the states of all steps.
func (l *layer) results(all []*te.Tensor, name string, results int) []*te.Tensor {
	result := l.X.ProducerDType()
	full := []tir.Expr{l.t, tir.I32(int32(l.d)), l.b, l.h}
	from := func(i []tir.Expr) (t, d, b, h tir.Expr) { return i[0], i[1], i[2], i[3] }
	if l.BatchFirst {
		full = []tir.Expr{l.b, l.t, full[1], l.h}
		from = func(i []tir.Expr) (t, d, b, h tir.Expr) { return i[1], i[2], i[0], i[3] }
	}
	y := te.Compute(full, name, func(i ...tir.Expr) tir.Expr {
		t, d, b, h := from(i)
		n := l.length(b, l.Lengths)
		step := tir.NewSelect(l.reversed(d), tir.Sub(tir.Sub(n, like(n, 1)), t), t)
		var inside []tir.Expr
		if l.Lengths != nil {
			inside = []tir.Expr{tir.LT(t, n)}
		}
		return tir.NewCast(result, where(inside, all[0].At(plus(step, 1), d, b, h), tir.Const(l.work, 0)))
	})
	by(y, &Operator{Kind: l.kind, Inputs: []*te.Tensor{l.X, l.W, l.R}})
	out := []*te.Tensor{y}
	last := []tir.Expr{full[1], l.b, l.h}
	if l.BatchFirst {
		last = []tir.Expr{l.b, full[2], l.h}
	}
	for k := range results - 1 {
		out = append(out, te.Compute(last, fmt.Sprintf("%s.v%d", name, k+1), func(i ...tir.Expr) tir.Expr {
			d, b := i[0], i[1]
			if l.BatchFirst {
				d, b = b, d
			}
			return tir.NewCast(result, all[k].At(l.t, d, b, i[2]))
		}))
	}
	return out
}

// reversed is the condition that a direction begins with the last step.
func (l *layer) reversed(d tir.Expr) tir.Expr {
	if l.Direction == Bidirectional {
		return tir.EQ(d, like(d, 1))
	}
	return tir.BoolConst(l.Direction != Forward)
}

// length is the number of steps of a sequence, with the type of the size.
func (l *layer) length(b tir.Expr, lengths *te.Tensor) tir.Expr {
	if lengths == nil {
		return l.t
	}
	return l.limited(lengths.At(b))
}

func (l *layer) limited(n tir.Expr) tir.Expr {
	n = tir.Max(tir.I64(0), tir.Min(tir.NewCast(tir.Int64, n), tir.NewCast(tir.Int64, l.t)))
	return tir.NewCast(l.t.DType(), n)
}

func (l *layer) tensors() map[string]*te.Tensor {
	return map[string]*te.Tensor{"X": l.X, "W": l.W, "R": l.R, "B": l.B, "Lengths": l.Lengths, "H": l.H, "C": l.C,
		"P": l.P}
}

// check checks the operands and sets the sizes.
func (l *layer) check(name string, gates int, usual []string) *te.Tensor {
	if bad := check(name, 3, l.X, l.W, l.R); bad != nil {
		return bad
	}
	if bad := floats.of(name, l.X); bad != nil {
		return bad
	}
	if l.Direction > Bidirectional {
		return failed(name, "direction %d: want Forward, Backwards or Bidirectional", l.Direction)
	}
	if l.d = 1; l.Direction == Bidirectional {
		l.d = 2
	}
	if !(l.Clip >= 0) || math.IsInf(l.Clip, 0) {
		return failed(name, "the limit of the arguments of activations is %v: want 0, for none, or a positive number", l.Clip)
	}
	if l.kind != "lstm" && (l.C != nil || l.P != nil) {
		return failed(name, "a cell state, or weights for it, are given: want them for LSTM only")
	}
	x := l.X.ProducerShape()
	l.work, l.t, l.b, l.h = workType(l.X.ProducerDType()), x[0], x[1], l.R.ProducerShape()[2]
	if l.BatchFirst {
		l.t, l.b = x[1], x[0]
	}
	d, g := tir.I32(int32(l.d)), times(l.h, tir.I32(int32(gates)))
	state := []tir.Expr{d, l.b, l.h}
	if l.BatchFirst {
		state = []tir.Expr{l.b, d, l.h}
	}
	wanted := map[string][]tir.Expr{"W": {d, g, x[2]}, "R": {d, g, l.h}, "B": {d, times(g, tir.I32(2))},
		"Lengths": {l.b}, "H": state, "C": state, "P": {d, times(l.h, tir.I32(3))}}
	for _, n := range []string{"W", "R", "B", "Lengths", "H", "C", "P"} {
		t := l.tensors()[n]
		if t == nil {
			continue
		}
		if bad := check(name, -1, t); bad != nil {
			return bad
		}
		got := t.ProducerShape()
		same := len(got) == len(wanted[n])
		for k := 0; same && k < len(got); k++ {
			same = arith.ProveEqual(got[k], wanted[n][k])
		}
		if !same {
			return failed(name, "%s, tensor %s, has shape %s: want %s", n, t.ProducerName(), shapeText(got),
				shapeText(wanted[n]))
		}
		if n == "Lengths" {
			if bad := indexes.of(name, t); bad != nil {
				return bad
			}
		} else if bad := sameType(name, l.X, t); bad != nil {
			return bad
		}
	}
	if l.activations = l.Activations; l.activations == nil {
		for range l.d {
			for _, u := range usual {
				f, err := ActivationOf(u, 0, 0)
				if err != nil {
					return failed(name, "%w", err)
				}
				l.activations = append(l.activations, f)
			}
		}
	}
	if n := l.d * len(usual); len(l.activations) != n || slices.ContainsFunc(l.activations, func(f Activation) bool {
		return f == nil
	}) {
		return failed(name, "%d activations: want %d, none of them nil", len(l.activations), n)
	}
	return nil
}

// steps computes the states, step by step.
func (l *layer) steps() tir.Stmt {
	inner := []tir.Expr{tir.I32(int32(l.d)), l.b, l.h}
	first := parallel(inner, func(i []tir.Expr) tir.Stmt {
		var all []tir.Stmt
		for k, n := range []string{"H", "C"}[:len(l.states)] {
			value := tir.Const(l.work, 0)
			if from := l.inputs[n]; from != nil {
				at := slices.Clone(i)
				if l.BatchFirst {
					at[0], at[1] = i[1], i[0]
				}
				value = tir.NewCast(l.work, tir.BufferAt(from, at...))
			}
			all = append(all, store(l.states[k], value, append([]tir.Expr{like(l.t, 0)}, i...)...))
		}
		return tir.Sequence(all...)
	})
	return tir.Sequence(first, serial(l.t, "step", func(s tir.Expr) tir.Stmt {
		one := func(body func(c *unit) tir.Stmt) tir.Stmt {
			return parallel(inner, func(i []tir.Expr) tir.Stmt {
				return l.unit(s, i[0], i[1], i[2], body)
			})
		}
		switch {
		case l.kind == "rnn":
			return one((*unit).rnn)
		case l.kind == "lstm":
			return one((*unit).lstm)
		case l.LinearBeforeReset:
			return one((*unit).linear)
		}
		return tir.Sequence(one((*unit).reset), one((*unit).gru))
	}))
}

// unit is one hidden element of a direction and a sequence in a step.
type unit struct {
	*layer
	s, d, b, h tir.Expr
	row        tir.Expr // of the weighted inputs
}

// unit executes body for a unit, or keeps its state if its sequence has ended.
func (l *layer) unit(s, d, b, h tir.Expr, body func(u *unit) tir.Stmt) tir.Stmt {
	n := l.t
	lengths := l.inputs["Lengths"]
	if lengths != nil {
		n = l.limited(tir.BufferAt(lengths, b))
	}
	time := tir.NewSelect(l.reversed(d), tir.Sub(tir.Sub(n, like(n, 1)), s), s)
	row := tir.Add(tir.Mul(time, l.b), b)
	if l.BatchFirst {
		row = tir.Add(tir.Mul(b, l.t), time)
	}
	run := let("row", row, func(row tir.Expr) tir.Stmt { return body(&unit{l, s, d, b, h, row}) })
	if lengths == nil {
		return run
	}
	u := &unit{l, s, d, b, h, nil}
	var keep []tir.Stmt
	for k := range l.states {
		keep = append(keep, u.set(k, u.state(k, h)))
	}
	return &tir.If{Cond: tir.LT(s, n), Then: run, Else: tir.Sequence(keep...)}
}

// state returns an element of a state before the step.
func (u *unit) state(k int, h tir.Expr) tir.Expr { return tir.BufferAt(u.states[k], u.s, u.d, u.b, h) }

// set sets the unit's state after the step.
func (u *unit) set(k int, e tir.Expr) tir.Stmt {
	return store(u.states[k], e, plus(u.s, 1), u.d, u.b, u.h)
}

// gate returns the place of the unit in gate k.
func (u *unit) gate(k int) tir.Expr { return tir.Add(tir.Mul(u.layer.h, like(u.h, k)), u.h) }

// input is the weighted input of a gate with its bias.
func (u *unit) input(k int) tir.Expr {
	e := tir.BufferAt(u.inputs["xw"], u.d, u.row, u.gate(k))
	if b := u.inputs["B"]; b != nil {
		e = tir.Add(e, tir.NewCast(u.work, tir.BufferAt(b, u.d, u.gate(k))))
	}
	return e
}

// bias is the bias of the hidden state for gate k of n; 0 if there is none.
func (u *unit) bias(k, n int) tir.Expr {
	if b := u.inputs["B"]; b != nil {
		return tir.NewCast(u.work, tir.BufferAt(b, u.d, u.gate(n+k)))
	}
	return tir.Const(u.work, 0)
}

// dots adds the weighted hidden states, as read gives them, for gates from first on to cells.
func (u *unit) dots(c []cell, first int, read func(k tir.Expr) tir.Expr) tir.Stmt {
	var zero []tir.Stmt
	for _, one := range c {
		zero = append(zero, one.set(tir.Const(u.work, 0)))
	}
	return tir.Sequence(append(zero, serial(u.layer.h, "k", func(k tir.Expr) tir.Stmt {
		var all []tir.Stmt
		for g, one := range c {
			w := tir.NewCast(u.work, tir.BufferAt(u.inputs["R"], u.d, u.gate(first+g), k))
			all = append(all, one.set(tir.Add(one.get(), tir.Mul(read(k), w))))
		}
		return tir.Sequence(all...)
	}))...)
}

// activate applies activation k of n of the unit's direction.
func (u *unit) activate(k, n int, e tir.Expr) tir.Expr {
	if limit := u.Clip; limit != 0 {
		e = tir.Min(tir.Const(u.work, limit), tir.Max(tir.Const(u.work, -limit), e))
	}
	out := u.activations[k](e)
	if u.layer.d == 2 {
		out = tir.Intrin("if_then_else", tir.EQ(u.d, like(u.d, 0)), out, u.activations[n+k](e))
	}
	return out
}

// sums computes sums of the weighted hidden states for n gates from first on.
func (u *unit) sums(n, first int, read func(k tir.Expr) tir.Expr, body func(sum []tir.Expr) tir.Stmt) tir.Stmt {
	return cells(slices.Repeat([]tir.Type{u.work}, n), "sum", func(c []cell) tir.Stmt {
		sum := make([]tir.Expr, n)
		for k := range c {
			sum[k] = c[k].get()
		}
		return tir.Sequence(u.dots(c, first, read), body(sum))
	})
}

func (u *unit) hidden(k tir.Expr) tir.Expr { return u.state(0, k) }

func (u *unit) rnn() tir.Stmt {
	return u.sums(1, 0, u.hidden, func(sum []tir.Expr) tir.Stmt {
		return u.set(0, u.activate(0, 1, tir.Add(tir.Add(u.input(0), u.bias(0, 1)), sum[0])))
	})
}

func (u *unit) lstm() tir.Stmt {
	peephole := func(e tir.Expr, k int, c tir.Expr) tir.Expr {
		p := u.inputs["P"]
		if p == nil {
			return e
		}
		return tir.Add(e, tir.Mul(tir.NewCast(u.work, tir.BufferAt(p, u.d, u.gate(k))), c))
	}
	return u.sums(4, 0, u.hidden, func(sum []tir.Expr) tir.Stmt {
		in := func(k int) tir.Expr { return tir.Add(tir.Add(u.input(k), u.bias(k, 4)), sum[k]) }
		old, one := u.state(1, u.h), tir.Const(u.work, 1)
		return let("input", u.activate(0, 3, peephole(in(0), 0, old)), func(input tir.Expr) tir.Stmt {
			forget := u.activate(0, 3, peephole(in(2), 2, old))
			if u.InputForget {
				forget = tir.Sub(one, input)
			}
			c := tir.Add(tir.Mul(forget, old), tir.Mul(input, u.activate(1, 3, in(3))))
			return let("c", c, func(c tir.Expr) tir.Stmt {
				output := u.activate(0, 3, peephole(in(1), 1, c))
				return tir.Sequence(u.set(1, c), u.set(0, tir.Mul(output, u.activate(2, 3, c))))
			})
		})
	})
}

// renewed sets the hidden state of a GRU.
func (u *unit) renewed(z, n tir.Expr) tir.Stmt {
	return u.set(0, tir.Add(tir.Mul(tir.Sub(tir.Const(u.work, 1), z), n), tir.Mul(z, u.hidden(u.h))))
}

func (u *unit) linear() tir.Stmt {
	return u.sums(3, 0, u.hidden, func(sum []tir.Expr) tir.Stmt {
		in := func(k int) tir.Expr { return tir.Add(u.bias(k, 3), sum[k]) }
		z, r := u.activate(0, 2, tir.Add(u.input(0), in(0))), u.activate(0, 2, tir.Add(u.input(1), in(1)))
		return let("z", z, func(z tir.Expr) tir.Stmt {
			return u.renewed(z, u.activate(1, 2, tir.Add(u.input(2), tir.Mul(r, in(2)))))
		})
	})
}

func (u *unit) reset() tir.Stmt {
	return u.sums(2, 0, u.hidden, func(sum []tir.Expr) tir.Stmt {
		in := func(k int) tir.Expr { return tir.Add(tir.Add(u.input(k), u.bias(k, 3)), sum[k]) }
		return tir.Sequence(store(u.more[0], u.activate(0, 2, in(0)), u.d, u.b, u.h),
			store(u.more[1], tir.Mul(u.activate(0, 2, in(1)), u.hidden(u.h)), u.d, u.b, u.h))
	})
}

func (u *unit) gru() tir.Stmt {
	return u.sums(1, 2, func(k tir.Expr) tir.Expr { return tir.BufferAt(u.more[1], u.d, u.b, k) },
		func(sum []tir.Expr) tir.Stmt {
			n := u.activate(1, 2, tir.Add(tir.Add(u.input(2), u.bias(2, 3)), sum[0]))
			return u.renewed(tir.BufferAt(u.more[0], u.d, u.b, u.h), n)
		})
}
