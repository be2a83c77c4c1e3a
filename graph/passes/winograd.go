package passes

import (
	"encoding/binary"
	"math"
	"slices"

	"tvmgo/graph"
	"tvmgo/te/ops/winograd"
	"tvmgo/tir"
)

// winograd returns the blocked form of a convolution of 3×3, by ops.ConvWinograd; nil if it has another form, or if a
// direct convolution is faster.
func (b *blocking) winograd(e *edit) *graph.Value {
	x, w := e.in(0), e.in(1)
	in, _ := image(x)
	out, _ := image(e.n.Outputs[0])
	f, _ := w.StaticShape()
	if f[2] != 3 || f[3] != 3 || !e.unit("strides") || !e.unit("dilations") || in[0] < b.width || f[0] < b.width {
		return nil
	}
	batch, known := tir.IntValue(x.Shape[0])
	if !known {
		batch = 1
	}
	// Products, and elements of filters, which are read from memory. Reading one takes as long as 11 products.
	tiles := batch * ((out[1] + 3) / 4) * ((out[2] + 3) / 4)
	if direct := 9*batch*out[1]*out[2] + 11*9; 10*(36*tiles+11*36) > 8*direct {
		return nil
	}
	from := b.divided(e, x, 1)
	if from.v == nil {
		return nil
	}
	attrs := graph.Attrs{}
	for _, name := range []string{"pads", "auto_pad"} {
		if v, ok := e.n.Attrs[name]; ok {
			attrs[name] = v
		}
	}
	return e.add("winograd_conv", attrs, from.v, b.winogradFilters(e, b.widened(e, b.widened(e, w, 0, 1), 1, from.groups)))
}

// unit reports whether all numbers of an attribute of the node are 1, or it is left out.
func (e *edit) unit(attr string) bool {
	list, _ := e.n.Attr(attr).([]int64)
	return allOf(list, 1)
}

// winogradFilters returns filters, [out, channel, 3, 3], as ops.ConvWinograd wants them. They are computed in float64.
func (b *blocking) winogradFilters(e *edit, w *graph.Value) *graph.Value {
	if w == nil {
		return nil
	}
	rows := winograd.Filters()
	var data []byte
	for _, v := range slices.Concat(rows...) {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
	}
	g, err := e.f.Const("winograd", tir.Float64, []int64{int64(len(rows)), int64(len(rows[0]))}, data)
	if err != nil {
		return nil
	}
	u := e.add("matmul", nil, g, e.add("cast", graph.Attrs{"to": tir.Float64}, w))
	u = e.add("matmul", nil, u, e.add("transpose", graph.Attrs{"perm": []int64{1, 0}}, g))
	out, _ := tir.IntValue(w.Shape[0])
	channels, _ := tir.IntValue(w.Shape[1])
	n := int64(len(rows))
	u = e.sized(e.add("cast", graph.Attrs{"to": tir.Float32}, u), out/b.width, b.width, channels/b.width, b.width, n, n)
	return e.add("transpose", graph.Attrs{"perm": []int64{0, 4, 5, 2, 3, 1}}, u)
}
