package main

import (
	"fmt"
	"math"
	"strings"

	"tvmgo/graph/onnx/file"
)

// Operators are measured as models of one operator: "op-NAME". The goals are those of a run relative to ONNX Runtime's.
const (
	productLimit     = 1.05 // relative to the faster of OpenBLAS and ONNX Runtime
	convolutionLimit = 1.3  // of each; the geometric mean has the limit 1
	rowLimit         = 0.95
	integerLimit     = 1.1
)

// convolution is a 2-D convolution of one image of size × size, without a bias.
type convolution struct {
	channels, size, filters int64
	kernel, stride          int64
	depthwise               bool
}

func (c convolution) String() string {
	s := fmt.Sprintf("%d×%d, %d→%d, %d²", c.kernel, c.kernel, c.channels, c.filters, c.size)
	if c.depthwise {
		s = fmt.Sprintf("%d×%d of each of %d channels, %d²", c.kernel, c.kernel, c.channels, c.size)
	}
	if c.stride > 1 {
		s += fmt.Sprintf(", stride %d", c.stride)
	}
	return s
}

// resnetConvolutions are the twenty different convolutions of ResNet-50, whose first 1×1 convolution of a block has the
// stride.
var resnetConvolutions = []convolution{
	{3, 224, 64, 7, 2, false},
	{64, 56, 64, 1, 1, false}, {64, 56, 64, 3, 1, false}, {64, 56, 256, 1, 1, false}, {256, 56, 64, 1, 1, false},
	{256, 56, 128, 1, 2, false}, {128, 28, 128, 3, 1, false}, {128, 28, 512, 1, 1, false},
	{256, 56, 512, 1, 2, false}, {512, 28, 128, 1, 1, false},
	{512, 28, 256, 1, 2, false}, {256, 14, 256, 3, 1, false}, {256, 14, 1024, 1, 1, false},
	{512, 28, 1024, 1, 2, false}, {1024, 14, 256, 1, 1, false},
	{1024, 14, 512, 1, 2, false}, {512, 7, 512, 3, 1, false}, {512, 7, 2048, 1, 1, false},
	{1024, 14, 2048, 1, 2, false}, {2048, 7, 512, 1, 1, false},
}

// mobileConvolutions are the depthwise convolutions of MobileNetV2.
var mobileConvolutions = []convolution{
	{32, 112, 32, 3, 1, true}, {96, 112, 96, 3, 2, true}, {144, 56, 144, 3, 1, true}, {144, 56, 144, 3, 2, true},
	{192, 28, 192, 3, 1, true}, {192, 28, 192, 3, 2, true}, {384, 14, 384, 3, 1, true}, {576, 14, 576, 3, 1, true},
	{576, 14, 576, 3, 2, true}, {960, 7, 960, 3, 1, true},
}

// model returns a model of the convolution with constant filters.
func (c convolution) model() *file.Model {
	w := newModelWriter("conv")
	x := w.input("x", 1, c.channels, c.size, c.size)
	each, group := c.channels, int64(1)
	if c.depthwise {
		each, group = 1, c.channels
	}
	scale := 1 / math.Sqrt(float64(each*c.kernel*c.kernel))
	filters := w.floats(func() float64 { return scale * w.random.NormFloat64() }, c.filters, each, c.kernel, c.kernel)
	pad := c.kernel / 2
	ints := func(name string, v ...int64) *file.Attribute {
		return &file.Attribute{Name: name, Type: file.AttrInts, Ints: v}
	}
	y := w.with(w.node("Conv", x, filters), ints("strides", c.stride, c.stride), ints("pads", pad, pad, pad, pad),
		ints("kernel_shape", c.kernel, c.kernel), &file.Attribute{Name: "group", Type: file.AttrInt, Int: group})
	out := (c.size+2*pad-c.kernel)/c.stride + 1
	return w.model(y, 1, c.filters, out, out)
}

// matmul returns a model of a product of two matrices, both of which are inputs.
func matmul(m, n, k int64) *file.Model {
	w := newModelWriter("matmul")
	return w.model(w.node("MatMul", w.input("x", m, k), w.input("y", k, n)), m, n)
}

// integerProduct returns a model of a product of unsigned with signed bytes, with sums of int32.
func integerProduct(n int64, constant bool) *file.Model {
	w := newModelWriter("int8")
	x := w.inputOf(file.Uint8, "x", n, n)
	var y string
	if constant {
		data := make([]byte, n*n)
		for i := range data {
			data[i] = byte(w.random.IntN(256))
		}
		y = w.constant(file.Int8, data, []int64{n, n})
	} else {
		y = w.inputOf(file.Int8, "y", n, n)
	}
	z := w.node("MatMulInteger", x, y)
	return w.modelOf(file.Int32, z, n, n)
}

// rowwise returns a model of an operator on a matrix.
func rowwise(rows, columns int64, apply func(w *modelWriter, x string) string) *file.Model {
	w := newModelWriter("rows")
	return w.model(apply(w, w.input("x", rows, columns)), rows, columns)
}

// attention returns a model of softmax(q·kᵀ/√size)·v for each head.
func attention(heads, sequence, size int64) *file.Model {
	w := newModelWriter("attention")
	shape := []int64{1, heads, sequence, size}
	q, k, v := w.input("q", shape...), w.input("k", shape...), w.input("v", shape...)
	scores := w.node("Mul", w.node("MatMul", q, w.transpose(k, 0, 1, 3, 2)), w.scalar(1/math.Sqrt(float64(size))))
	return w.model(w.node("MatMul", w.with(w.node("Softmax", scores), w.onLastAxis()), v), shape...)
}

// operatorModels returns the models of one operator, and rows and groups for them.
func operatorModels() (list []model, rows []row, all []group) {
	add := func(name, what, base string, limit float64, exact bool, write func() *file.Model) {
		list = append(list, model{name: name, what: what, write: write, limit: limit, exact: exact})
		ours, theirs := "model.run-"+name, "ort.run-"+name
		g := group{measures: []string{ours, theirs}, quiet: true}
		if base != "" {
			g.measures = append(g.measures, base)
			theirs = fastest + ours
			derived[theirs] = derivation{g.measures[1:], smallest}
		}
		rows = append(rows, row{name, what, ours, theirs, limit, ratio})
		all = append(all, g)
	}
	const blas = " (base: the faster of OpenBLAS and ONNX Runtime)"
	for _, n := range []int64{256, 512, 1000, 1023, 1024, 2048} {
		base := fmt.Sprintf("numpy.matmul-%dx%[1]dx%[1]d", n)
		add(fmt.Sprintf("op-matmul-%d", n), fmt.Sprintf("product, %d³%s", n, blas), base, productLimit, false,
			func() *file.Model { return matmul(n, n, n) })
	}
	for _, m := range []int64{1, 8} {
		name := fmt.Sprintf("matmul-%dx4096x4096", m)
		add("op-"+name, fmt.Sprintf("product, %d×4096 · 4096×4096%s", m, blas), "numpy."+name, productLimit, false,
			func() *file.Model { return matmul(m, 4096, 4096) })
	}
	const ort = " (base: ONNX Runtime)"
	for _, constant := range []bool{true, false} {
		name, what := "op-int8-1024", "product of uint8 and constant int8, 1024³"
		if !constant {
			name, what = name+"-inputs", "  both inputs"
		}
		add(name, what+ort, "", integerLimit, true, func() *file.Model { return integerProduct(1024, constant) })
	}
	convs := func(kind, what string, list []convolution) {
		var ours, theirs []string
		for i, c := range list {
			name := fmt.Sprintf("op-%s-%d", kind, i+1)
			add(name, "  convolution "+c.String(), "", convolutionLimit, false, c.model)
			ours, theirs = append(ours, "model.run-"+name), append(theirs, "ort.run-"+name)
		}
		mean, base := "model.mean-"+kind, "ort.mean-"+kind
		derived[mean], derived[base] = derivation{ours, geometricMean}, derivation{theirs, geometricMean}
		rows = append(rows, row{"op-" + kind, what + ", geometric mean" + ort, mean, base, 1, ratio})
	}
	convs("resnet", "ResNet-50's convolutions", resnetConvolutions)
	convs("mobile", "MobileNetV2's depthwise convolutions", mobileConvolutions)
	add("op-softmax", "softmax, 4096×1024"+ort, "", rowLimit, false, func() *file.Model {
		return rowwise(4096, 1024, func(w *modelWriter, x string) string {
			return w.with(w.node("Softmax", x), w.onLastAxis())
		})
	})
	add("op-layernorm", "layernorm, 4096×1024"+ort, "", rowLimit, false, func() *file.Model {
		return rowwise(4096, 1024, func(w *modelWriter, x string) string { return w.layerNorm(x, 1024) })
	})
	add("op-gelu", "GELU, 4096×1024"+ort, "", rowLimit, false, func() *file.Model {
		return rowwise(4096, 1024, (*modelWriter).gelu)
	})
	add("op-attention", "attention, 12 heads of 128×64"+ort, "", rowLimit, false, func() *file.Model {
		return attention(12, 128, 64)
	})
	return list, rows, all
}

// A derived measure is computed from others.
type derivation struct {
	of     []string
	reduce func(medians []float64) float64
}

var derived = map[string]derivation{}

const fastest = "fastest."

func smallest(medians []float64) float64 {
	least := math.Inf(1)
	for _, v := range medians {
		least = min(least, v)
	}
	return least
}

func geometricMean(medians []float64) float64 {
	sum := 0.0
	for _, v := range medians {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(medians)))
}

// neededFor returns the measures that a row needs.
func neededFor(r row) map[string]bool {
	needed := map[string]bool{}
	need(needed, r.Ours)
	need(needed, r.Base)
	return needed
}

// need marks a measure, or those from which it is derived.
func need(needed map[string]bool, measure string) {
	if d, is := derived[measure]; is {
		for _, m := range d.of {
			need(needed, m)
		}
		return
	}
	needed[measure] = true
}

// derive adds the derived measures whose parts were measured.
func derive(results map[string]summary) {
	for name, d := range derived {
		var medians []float64
		for _, m := range d.of {
			if s, measured := results[m]; measured {
				medians = append(medians, s.Median)
			}
		}
		if len(medians) == len(d.of) {
			results[name] = summarize([]float64{d.reduce(medians)})
		}
	}
}

func init() {
	list, rows, all := operatorModels()
	models, table, groups = append(models, list...), append(table, rows...), append(groups, all...)
}

// isOfModels reports whether a measure needs the wheels of ONNX and ONNX Runtime.
func isOfModels(measure string) bool { return strings.HasPrefix(measure, "model.") }
