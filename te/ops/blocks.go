package ops

import (
	"slices"

	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
)

// DepthToSpace moves channels of images, [batch, channel, height, width], into blocks of block·block pixels, which
// replace each pixel. Of the channels, the position in the block is the outermost part; with columnsFirst (ONNX's mode
// CRD) it is the innermost one.
func DepthToSpace(x *te.Tensor, name string, block int, columnsFirst bool) *te.Tensor {
	s, bad := checkBlocks(name, x, block, 1)
	if bad != nil {
		return bad
	}
	b := func(i tir.Expr) tir.Expr { return like(i, block) }
	channels := simplified(tir.FloorDiv(s[1], like(s[1], block*block)))
	shape := []tir.Expr{s[0], channels, simplified(tir.Mul(s[2], b(s[2]))), simplified(tir.Mul(s[3], b(s[3])))}
	out := te.Compute(shape, name, func(i ...tir.Expr) tir.Expr {
		pixel := tir.Add(tir.Mul(castIndex(i[1], tir.FloorMod(i[2], b(i[2]))), b(i[1])),
			castIndex(i[1], tir.FloorMod(i[3], b(i[3]))))
		c := tir.Add(tir.Mul(pixel, channels), i[1])
		if columnsFirst {
			c = tir.Add(tir.Mul(i[1], like(i[1], block*block)), pixel)
		}
		return x.At(i[0], simplified(c), tir.FloorDiv(i[2], b(i[2])), tir.FloorDiv(i[3], b(i[3])))
	})
	return by(out, &Operator{Kind: "depthtospace", Inputs: []*te.Tensor{x}, Attrs: block})
}

// SpaceToDepth moves the pixels of blocks of block·block pixels into channels: the inverse of DepthToSpace, with the
// position in the block as the outermost part.
func SpaceToDepth(x *te.Tensor, name string, block int) *te.Tensor {
	s, bad := checkBlocks(name, x, block, 2, 3)
	if bad != nil {
		return bad
	}
	b := func(i tir.Expr) tir.Expr { return like(i, block) }
	shape := []tir.Expr{s[0], simplified(tir.Mul(s[1], like(s[1], block*block))), simplified(tir.FloorDiv(s[2], b(s[2]))),
		simplified(tir.FloorDiv(s[3], b(s[3])))}
	out := te.Compute(shape, name, func(i ...tir.Expr) tir.Expr {
		pixel := tir.FloorDiv(i[1], s[1])
		inner := func(d int, of tir.Expr) tir.Expr {
			return simplified(tir.Add(tir.Mul(i[d], b(i[d])), castIndex(i[d], of)))
		}
		return x.At(i[0], tir.FloorMod(i[1], s[1]), inner(2, tir.FloorDiv(pixel, b(pixel))),
			inner(3, tir.FloorMod(pixel, b(pixel))))
	})
	return by(out, &Operator{Kind: "spacetodepth", Inputs: []*te.Tensor{x}, Attrs: block})
}

// checkBlocks returns the shape of images whose dimensions can be divided: by the block, the channels by its square.
func checkBlocks(name string, x *te.Tensor, block int, dims ...int) ([]tir.Expr, *te.Tensor) {
	if bad := check(name, 4, x); bad != nil {
		return nil, bad
	}
	if block < 1 || block > 1<<10 {
		return nil, failed(name, "blocks of %d pixels of tensor %s: want 1 to 1024", block, x.ProducerName())
	}
	s := x.ProducerShape()
	for _, d := range dims {
		divisor := block
		if d == 1 {
			divisor *= block
		}
		if rest := simplified(tir.FloorMod(s[d], like(s[d], divisor))); !arith.ProveEqual(rest, like(s[d], 0)) {
			return nil, failed(name, "dimension %d of tensor %s is %s, which %d may not divide: want a size that it does",
				d, x.ProducerName(), text.Print(s[d]), divisor)
		}
	}
	return s, nil
}

// Col2Im adds up the overlapping blocks of images. x is [batch, channel·elements of a block, blocks]; w.Kernel is the
// size of a block, whose elements and whose positions in the image are row-major. The result is [batch, channel,
// size…], with any number of dimensions. Strides are those of blocks, 1 if nil; pads are cut off from the result.
func Col2Im(x *te.Tensor, name string, size []int, w Windows) *te.Tensor {
	if bad := check(name, 3, x); bad != nil {
		return bad
	}
	if bad := numbers.of(name, x); bad != nil {
		return bad
	}
	n, s := len(size), x.ProducerShape()
	for _, f := range []struct {
		numbers       *[]int
		want, missing int
		least         int
	}{{&w.Kernel, n, -1, 1}, {&w.Strides, n, 1, 1}, {&w.Dilations, n, 1, 1}, {&w.Pads, 2 * n, 0, 0}} {
		if *f.numbers == nil && f.missing >= 0 {
			*f.numbers = repeated(f.want, f.missing)
		}
		if len(*f.numbers) != f.want || n == 0 || slices.Min(*f.numbers) < f.least || slices.Max(*f.numbers) > 1<<20 {
			return failed(name, "blocks of %v at strides %v, with dilations %v and pads %v, of an image of size %v: want one "+
				"number of each for a dimension, two pads, of at least 1, and of 0 for pads", w.Kernel, w.Strides, w.Dilations,
				w.Pads, size)
		}
	}
	elements, blocks := 1, 1
	counts := make([]int, n)
	for d := range size {
		reach := (w.Kernel[d]-1)*w.Dilations[d] + 1
		if size[d] < 0 || size[d]+w.Pads[d]+w.Pads[n+d] < reach {
			return failed(name, "dimension %d of the image has %d elements with its padding, and a block spans %d: want no more",
				d, size[d]+w.Pads[d]+w.Pads[n+d], reach)
		}
		counts[d] = (size[d]+w.Pads[d]+w.Pads[n+d]-reach)/w.Strides[d] + 1
		if elements, blocks = elements*w.Kernel[d], blocks*counts[d]; max(elements, blocks, size[d]) > 1<<30 {
			return failed(name, "an image of size %v has too many elements", size)
		}
	}
	if rest := simplified(tir.FloorMod(s[1], like(s[1], elements))); !arith.ProveEqual(rest, like(rest, 0)) ||
		!isConst(s[2], int64(blocks)) {
		return failed(name, "tensor %s has shape %s: want a multiple of %d elements of a block, and %d blocks",
			x.ProducerName(), shapeText(s), elements, blocks)
	}
	t := x.ProducerDType()
	work := workType(t)
	shape := []tir.Expr{s[0], simplified(tir.FloorDiv(s[1], like(s[1], elements)))}
	var over []*tir.IterVar
	for d := range size {
		shape = append(shape, tir.I32(int32(size[d])))
		over = append(over, reduceAxis(tir.I32(int32(w.Kernel[d])), "k"))
	}
	last := name
	if work != t {
		last = name + ".wide"
	}
	sum := te.Compute(shape, last, func(i ...tir.Expr) tir.Expr {
		element, block := tir.Expr(tir.I32(0)), tir.Expr(tir.I32(0))
		var within []tir.Expr
		for d, k := range over {
			from := plus(tir.Sub(i[2+d], tir.Mul(k.Var, tir.I32(int32(w.Dilations[d])))), w.Pads[d])
			stride := tir.I32(int32(w.Strides[d]))
			at := simplified(tir.FloorDiv(from, stride))
			if within = append(within, tir.GE(at, tir.I32(0)), tir.LT(at, tir.I32(int32(counts[d])))); w.Strides[d] > 1 {
				within = append(within, tir.EQ(tir.FloorMod(from, stride), tir.I32(0)))
			}
			element = tir.Add(tir.Mul(element, tir.I32(int32(w.Kernel[d]))), k.Var)
			block = tir.Add(tir.Mul(block, tir.I32(int32(counts[d]))), at)
		}
		channel := tir.Add(tir.Mul(i[1], like(i[1], elements)), castIndex(i[1], element))
		value := castTo(work, x.At(i[0], simplified(channel), castIndex(s[2], simplified(block))))
		return te.Sum(where(within, value, tir.Const(work, 0)), over...)
	})
	sum = by(sum, &Operator{Kind: "col2im", Inputs: []*te.Tensor{x}, Attrs: &w})
	if work == t {
		return sum
	}
	return Map(sum, name, func(e tir.Expr) tir.Expr { return castTo(t, e) })
}

// AffineGrid is a grid for GridSample: [batch, size…, coordinates] for images of two or three dimensions. theta is
// [batch, coordinates, coordinates+1], the matrix that is multiplied by the position in the image, with the innermost
// coordinate first, and 1. The ends of the image are -1 and 1: the centers of its outermost elements if corners is
// set, else their outer edges.
func AffineGrid(theta *te.Tensor, name string, size []int, corners bool) *te.Tensor {
	n := len(size)
	if bad := check(name, 3, theta); bad != nil {
		return bad
	}
	if bad := floats.of(name, theta); bad != nil {
		return bad
	}
	s := theta.ProducerShape()
	if n < 2 || n > 3 || !isConst(s[1], int64(n)) || !isConst(s[2], int64(n+1)) {
		return failed(name, "tensor %s has shape %s for images of %d dimensions: want 2 or 3, and matrices of as many rows, "+
			"with one more column", theta.ProducerName(), shapeText(s), n)
	}
	t := theta.ProducerDType()
	work := workType(t)
	shape := []tir.Expr{s[0]}
	for d, size := range size {
		if size < 0 || size > 1<<30 {
			return failed(name, "dimension %d of the image has size %d: want 0 or more", d, size)
		}
		shape = append(shape, tir.I32(int32(size)))
	}
	return te.Compute(append(shape, s[1]), name, func(i ...tir.Expr) tir.Expr {
		number := func(v float64) tir.Expr { return tir.Const(work, v) }
		row := i[n+1]
		sum := castTo(work, theta.At(i[0], row, like(s[2], n)))
		for d := range n {
			// the position is (2·i + 1)/size - 1, or 2·i/(size-1) - 1; 0 if there is only one element
			first, length := 1-size[d], size[d]
			if corners {
				length = size[d] - 1
			}
			at := plus(tir.Mul(i[1+d], tir.I32(2)), first)
			p := tir.Mul(tir.NewCast(work, simplified(at)), number(1/float64(max(1, length))))
			sum = tir.Add(sum, tir.Mul(castTo(work, theta.At(i[0], row, like(s[2], n-1-d))), p))
		}
		return castTo(t, sum)
	})
}
