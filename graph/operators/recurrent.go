package operators

import (
	"strings"

	"tvmgo/graph"
	"tvmgo/te"
	"tvmgo/te/ops"
)

func init() {
	attrs := []graph.Attr{integer("hidden_size", 0), word("direction", "forward"), integer("layout", 0), float("clip", 0),
		{Name: "activations", Default: []string(nil)}, floats("activation_alpha"), floats("activation_beta")}
	layer := func(name string, operands, results int, f func(ops.Recurrent, string) []*te.Tensor, more ...graph.Attr) {
		register(&graph.Op{Name: name, In: [2]int{3, operands}, Out: [2]int{1, results},
			Attrs:   append(append([]graph.Attr{}, attrs...), more...),
			Compute: func(c *graph.Call) []*te.Tensor { return f(recurrent(c), c.Name) }})
	}
	layer("rnn", 6, 2, ops.RNN)
	layer("gru", 6, 2, ops.GRU, integer("linear_before_reset", 0))
	layer("lstm", 8, 3, ops.LSTM, integer("input_forget", 0))
}

// recurrent reads the operands X, W, R, B, the lengths of sequences, the first hidden and cell states, and P.
func recurrent(c *graph.Call) ops.Recurrent {
	r := ops.Recurrent{X: c.In(0), W: c.In(1), R: c.In(2), B: c.In(3), Lengths: c.In(4), H: c.In(5), C: c.In(6),
		P: c.In(7), BatchFirst: c.Flag("layout"), Clip: c.Float("clip")}
	switch d := c.Text("direction"); d {
	case "forward":
	case "reverse":
		r.Direction = ops.Backwards
	case "bidirectional":
		r.Direction = ops.Bidirectional
	default:
		c.Fail("direction is %q: want forward, reverse or bidirectional", d)
	}
	if c.Declares("linear_before_reset") {
		r.LinearBeforeReset = c.Flag("linear_before_reset")
	}
	if c.Declares("input_forget") {
		r.InputForget = c.Flag("input_forget")
	}
	alphas, betas := c.Floats("activation_alpha"), c.Floats("activation_beta")
	for _, name := range c.Texts("activations") {
		var alpha, beta float64
		alpha, alphas = parameter(name, alphas, defaultAlpha)
		beta, betas = parameter(name, betas, defaultBeta)
		f, err := ops.ActivationOf(name, alpha, beta)
		if err != nil {
			c.Fail("activations: %w", err)
		}
		r.Activations = append(r.Activations, f)
	}
	return r
}

// The parameters of activations that have some, in lower case, with their defaults.
var (
	defaultAlpha = map[string]float64{"affine": 1, "leakyrelu": 0.01, "thresholdedrelu": 1, "scaledtanh": 1,
		"hardsigmoid": 0.2, "elu": 1}
	defaultBeta = map[string]float64{"affine": 0, "scaledtanh": 1, "hardsigmoid": 0.5}
)

// parameter returns the parameter of an activation, and the parameters that are left for later ones.
func parameter(name string, given []float64, defaults map[string]float64) (float64, []float64) {
	v, has := defaults[strings.ToLower(name)]
	if !has || len(given) == 0 {
		return v, given
	}
	return given[0], given[1:]
}
