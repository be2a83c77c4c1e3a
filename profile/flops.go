package profile

import "strings"

// FLOPs returns the floating-point operations of a call, where its name and the types of its arguments, of which the
// last is the result, tell: products of matrices, convolutions, and sums, differences, products and quotients by
// element. A multiplication and an addition count as two. The names are those that TVM gives its kernels, such as
// "fused_matmul1_add_relu"; of a fused kernel only the product or the convolution counts. ok is false where the shapes
// do not agree with the name, or leave more than one answer.
func FLOPs(name string, tensors []Tensor) (n int64, ok bool) {
	if len(tensors) < 2 {
		return 0, false
	}
	inputs, out := tensors[:len(tensors)-1], tensors[len(tensors)-1]
	if !out.Float {
		return 0, false
	}
	var products, convs, simple, others int
	var before string
	for _, word := range strings.Split(name, "_") {
		switch word = strings.TrimRight(word, "0123456789"); word {
		case "matmul", "dense", "gemm", "linear":
			products++
		case "conv1d", "conv2d", "conv3d":
			convs++
		case "add", "subtract", "multiply", "divide":
			simple++
		case "transpose":
			others++
			if strings.HasPrefix(before, "conv") {
				convs++ // a transposed convolution, whose window the shapes do not tell
			}
		case "fused", "tvmgen", "default", "nn", "": // parts of names that compute nothing
		default:
			others++
		}
		before = word
	}
	switch {
	case products == 1 && convs == 0:
		return productFLOPs(inputs, out)
	case convs == 1 && products == 0:
		return convFLOPs(inputs, out)
	case simple > 0 && products+convs+others == 0 && len(inputs) <= simple+1:
		return int64(simple) * out.Elements(), byElement(inputs, out)
	}
	return 0, false
}

// byElement reports whether no input has more elements than the result.
func byElement(inputs []Tensor, out Tensor) bool {
	for _, t := range inputs {
		if t.Elements() > out.Elements() {
			return false
		}
	}
	return true
}

// only collects answers that must all agree.
type only struct {
	n           int64
	found, more bool
}

func (o *only) add(n int64) {
	o.more = o.more || o.found && o.n != n
	o.n, o.found = n, true
}

func (o *only) answer() (int64, bool) { return o.n, o.found && !o.more }

// productFLOPs finds the two matrices whose product has as many elements as the result.
func productFLOPs(inputs []Tensor, out Tensor) (int64, bool) {
	var answer only
	for i, a := range inputs {
		for _, b := range inputs[i+1:] {
			if len(a.Shape) < 2 || len(b.Shape) < 2 || !a.Float || !b.Float {
				continue
			}
			k := a.Shape[len(a.Shape)-1]
			rows, columns := b.Shape[len(b.Shape)-2], b.Shape[len(b.Shape)-1]
			batch, ok := broadcast(a.Shape[:len(a.Shape)-2], b.Shape[:len(b.Shape)-2])
			m := a.Shape[len(a.Shape)-2]
			if !ok {
				continue
			}
			if rows == k && batch*m*columns == out.Elements() {
				answer.add(2 * batch * m * columns * k)
			}
			if columns == k && batch*m*rows == out.Elements() {
				answer.add(2 * batch * m * rows * k)
			}
		}
	}
	return answer.answer()
}

// broadcast is the number of elements of two shapes that are broadcast to each other.
func broadcast(a, b []int64) (int64, bool) {
	if len(a) < len(b) {
		a, b = b, a
	}
	n := int64(1)
	for i := range a {
		x, y := a[i], int64(1)
		if k := i - (len(a) - len(b)); k >= 0 {
			y = b[k]
		}
		if x != y && x != 1 && y != 1 {
			return 0, false
		}
		n *= max(x, y)
	}
	return n, true
}

// convFLOPs finds the weights of a convolution in the layouts of TVM: channels first or last in data and result, and
// weights that begin with the output channels, or end with them.
func convFLOPs(inputs []Tensor, out Tensor) (int64, bool) {
	var answer only
	rank := len(out.Shape)
	if len(inputs) < 2 || rank < 3 {
		return 0, false
	}
	for i, data := range inputs {
		for _, weight := range inputs[i+1:] {
			if len(data.Shape) != rank || len(weight.Shape) != rank || !data.Float || data.Shape[0] != out.Shape[0] {
				continue
			}
			w, last := weight.Shape, rank-1
			for _, c := range []struct{ channel, output, input int }{{1, 0, 1}, {last, 0, last}, {last, last, last - 1}} {
				channels := data.Shape[c.channel]
				if w[c.output] == out.Shape[c.channel] && w[c.input] > 0 && w[c.output] > 0 && channels%w[c.input] == 0 {
					answer.add(2 * out.Elements() * (weight.Elements() / w[c.output]))
				}
			}
		}
	}
	return answer.answer()
}
