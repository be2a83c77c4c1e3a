// Package winograd computes convolutions of 3×3 by Winograd's algorithm F(4×4, 3×3): a tile of 4×4 results from a tile
// of 6×6 elements of the image x, with filters g of 3×3, as Aᵀ·((G·g·Gᵀ) ∘ (Bᵀ·x·B))·A. The matrices follow from the
// points at which polynomials are evaluated: 0, 1, -1, 1/2, -2 and infinity. With 2 and -1/2, or 2 and -2, errors would
// be up to twice as large.
package winograd

import (
	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

const (
	Results = 4 // of a tile, in each direction
	Tile    = 6 // elements of the image
)

// Image returns Bᵀ, 6×6.
func Image() [][]float64 {
	return [][]float64{{1, -1.5, -2, 1.5, 1, 0}, {0, -1, 0.5, 2.5, 1, 0}, {0, 1, -2.5, 0.5, 1, 0}, {0, -2, -1, 2, 1, 0},
		{0, 0.5, -1, -0.5, 1, 0}, {0, 1, -1.5, -2, 1.5, 1}}
}

// Filters returns G, 6×3.
func Filters() [][]float64 {
	return [][]float64{{1, 0, 0}, {1. / 3, 1. / 3, 1. / 3}, {-1. / 3, 1. / 3, -1. / 3}, {-16. / 15, -8. / 15, -4. / 15},
		{1. / 15, -2. / 15, 4. / 15}, {0, 0, 1}}
}

// Result returns Aᵀ, 4×6.
func Result() [][]float64 {
	return [][]float64{{1, 1, 1, 1, 1, 0}, {0, 1, -1, 0.5, -2, 0}, {0, 1, 1, 0.25, 4, 0}, {0, 1, -1, 0.125, -8, 1}}
}

// Conv returns a convolution of x, [batch, block, height, width, channel], with transformed filters w, [out block, 6,
// 6, block, channel, out]: [batch, out block, height, width, out]. pads are the numbers of zeros above and left of an
// image, and out is the height and width of the result. The parts are the tiles of the image; these transformed along
// the height, and then also along the width; their products with filters; and these transformed along the height.
func Conv(x, w *te.Tensor, name string, pads [2]int, out [2]tir.Expr) (y *te.Tensor, parts []*te.Tensor) {
	s, f, t := x.ProducerShape(), w.ProducerShape(), x.ProducerDType()
	n := f[1]
	rowTiles, columnTiles := tilesOf(out[0], false), tilesOf(out[1], true)
	tile := te.Compute([]tir.Expr{s[0], s[1], rowTiles, columnTiles, n, n, s[4]}, name+".tile",
		func(i ...tir.Expr) tir.Expr {
			at := []tir.Expr{i[0], i[1], nil, nil, i[6]}
			var inside [2]tir.Expr
			for d := range 2 {
				first := tir.Sub(tir.Mul(i[2+d], like(i[2+d], Results)), like(i[2+d], pads[d]))
				at[2+d] = tir.Add(first, indexAs(first, i[4+d]))
				inside[d] = tir.And(tir.LE(like(first, 0), at[2+d]), tir.LT(at[2+d], indexAs(first, s[2+d])))
			}
			return tir.Intrin("if_then_else", tir.And(inside[0], inside[1]), x.At(at...), tir.Const(t, 0))
		})
	image := Image()
	rows := te.Compute([]tir.Expr{n, s[0], s[1], rowTiles, columnTiles, n, s[4]}, name+".rows",
		func(i ...tir.Expr) tir.Expr {
			return combined(t, image, i[0], func(k int) tir.Expr {
				return tile.At(i[1], i[2], i[3], i[4], like(n, k), i[5], i[6])
			})
		})
	both := te.Compute([]tir.Expr{n, n, s[0], s[1], rowTiles, columnTiles, s[4]}, name+".image",
		func(i ...tir.Expr) tir.Expr {
			return combined(t, image, i[1], func(k int) tir.Expr {
				return rows.At(i[0], i[2], i[3], i[4], i[5], like(n, k), i[6])
			})
		})
	result := Result()
	block, channel := te.ReduceAxis(like(s[1], 0), s[1], "c"), te.ReduceAxis(like(s[4], 0), s[4], "e")
	products := te.Compute([]tir.Expr{n, n, s[0], f[0], rowTiles, columnTiles, f[5]}, name+".products",
		func(i ...tir.Expr) tir.Expr {
			return te.Sum(tir.Mul(both.At(i[0], i[1], i[2], block.Var, i[4], i[5], channel.Var),
				w.At(i[3], i[0], i[1], block.Var, channel.Var, i[6])), block, channel)
		})
	results := te.Compute([]tir.Expr{like(n, Results), n, s[0], f[0], rowTiles, columnTiles, f[5]}, name+".results",
		func(i ...tir.Expr) tir.Expr {
			return combined(t, result, i[0], func(k int) tir.Expr {
				return products.At(like(n, k), i[1], i[2], i[3], i[4], i[5], i[6])
			})
		})
	y = te.Compute([]tir.Expr{s[0], f[0], out[0], out[1], f[5]}, name, func(i ...tir.Expr) tir.Expr {
		m := func(i tir.Expr) tir.Expr { return like(i, Results) }
		return combined(t, result, tir.FloorMod(i[3], m(i[3])), func(k int) tir.Expr {
			return results.At(indexAs(n, tir.FloorMod(i[2], m(i[2]))), like(n, k), i[0], i[1], tir.FloorDiv(i[2], m(i[2])),
				tir.FloorDiv(i[3], m(i[3])), i[4])
		})
	})
	return y, []*te.Tensor{tile, rows, both, products, results}
}

// tilesOf returns the number of tiles along a dimension of the results. Along rows there may be a few more, so that a
// number of tiles divides it whose sums fit into registers.
func tilesOf(out tir.Expr, row bool) tir.Expr {
	n := arith.NewAnalyzer().Simplify(tir.FloorDiv(tir.Add(out, like(out, Results-1)), like(out, Results)))
	tiles, known := tir.IntValue(n)
	if !known || !row || tiles <= 14 {
		return n
	}
	for ; ; tiles++ {
		for most := int64(14); most >= 7; most-- {
			if tiles%most == 0 {
				return tir.IntConst(n.DType(), tiles)
			}
		}
	}
}

// combined is a linear combination of values, with the factors of a row of a matrix. Each row has a positive factor.
func combined(t tir.Type, matrix [][]float64, row tir.Expr, value func(k int) tir.Expr) tir.Expr {
	var all tir.Expr
	for r := len(matrix) - 1; r >= 0; r-- {
		var sum tir.Expr
		for _, negative := range []bool{false, true} {
			for k, factor := range matrix[r] {
				if factor == 0 || factor < 0 != negative {
					continue
				}
				v := value(k)
				if factor != 1 && factor != -1 {
					v = tir.Mul(v, tir.Const(t, max(factor, -factor)))
				}
				switch {
				case sum == nil:
					sum = v
				case negative:
					sum = tir.Sub(sum, v)
				default:
					sum = tir.Add(sum, v)
				}
			}
		}
		if all == nil {
			all = sum
		} else {
			all = tir.Intrin("if_then_else", tir.EQ(row, like(row, r)), sum, all)
		}
	}
	return all
}

// like returns a constant with the type of an index.
func like(e tir.Expr, v int) tir.Expr { return tir.IntConst(e.DType(), int64(v)) }

// indexAs returns an index in the type of another one.
func indexAs(as, index tir.Expr) tir.Expr {
	if index.DType() == as.DType() {
		return index
	}
	return tir.NewCast(as.DType(), index)
}
