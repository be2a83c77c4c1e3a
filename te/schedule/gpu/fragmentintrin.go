package gpu

import (
	"tvmgo/te"
	"tvmgo/tir"
)

// Fragment is a product of an M × K and a K × N matrix that a warp computes at once. Operands of float32 are rounded to
// TensorFloat-32.
type Fragment struct {
	Operand, Sum tir.Type
	M, N, K      int
}

// fragmentIntrinsics are the intrinsics of a product.
type fragmentIntrinsics struct {
	load    [2]*te.Intrin // operands whose neighbours along k are adjacent in memory
	swapped [2]*te.Intrin // others
	product *te.Intrin
	store   *te.Intrin // sums to rows in memory
}

func newFragmentIntrinsics(f Fragment) *fragmentIntrinsics {
	left, right := te.Dims(int32(f.M), int32(f.K)), te.Dims(int32(f.K), int32(f.N))
	sums := te.Dims(int32(f.M), int32(f.N))
	in := &fragmentIntrinsics{product: fragmentProduct(f, left, right, sums)}
	copied := func(name string, shape []tir.Expr, t tir.Type, turned bool, layout string, emit func(in, out *te.Tile,
		layout string) tir.Stmt) *te.Intrin {
		from := shape
		if turned {
			from = []tir.Expr{shape[1], shape[0]}
		}
		memory := te.Placeholder(from, t, "memory")
		pattern := te.Compute(shape, name, func(i ...tir.Expr) tir.Expr {
			if turned {
				return memory.At(i[1], i[0])
			}
			return memory.At(i...)
		})
		return te.NewIntrin(name, pattern, func(ins []*te.Tile, out *te.Tile) te.IntrinSteps {
			return te.IntrinSteps{Compute: emit(ins[0], out, layout)}
		})
	}
	load := func(in, out *te.Tile, layout string) tir.Stmt {
		return tir.FragmentLoad(out.Address(), f.M, f.N, f.K, in.Address(), in.Stride(0), layout)
	}
	store := func(in, out *te.Tile, layout string) tir.Stmt {
		return tir.FragmentStore(in.Address(), f.M, f.N, f.K, out.Address(), out.Stride(0), layout)
	}
	in.load[0] = copied("load_rows", left, f.Operand, false, tir.RowMajor, load)
	in.swapped[0] = copied("load_columns", left, f.Operand, true, tir.ColMajor, load)
	in.load[1] = copied("load_columns", right, f.Operand, true, tir.ColMajor, load)
	in.swapped[1] = copied("load_rows", right, f.Operand, false, tir.RowMajor, load)
	in.store = copied("store_rows", sums, f.Sum, false, tir.RowMajor, store)
	return in
}

// fragmentProduct adds the product of two fragments to a third one.
func fragmentProduct(f Fragment, left, right, sums []tir.Expr) *te.Intrin {
	a, b := te.Placeholder(left, f.Operand, "left"), te.Placeholder(right, f.Operand, "right")
	k := te.ReduceAxis(tir.I32(0), tir.I32(int32(f.K)), "k")
	pattern := te.Compute(sums, "product", func(i ...tir.Expr) tir.Expr {
		return te.Sum(tir.Mul(tir.NewCast(f.Sum, a.At(i[0], k.Var)), tir.NewCast(f.Sum, b.At(k.Var, i[1]))), k)
	})
	return te.NewIntrin("product", pattern, func(ins []*te.Tile, out *te.Tile) te.IntrinSteps {
		return te.IntrinSteps{
			Reset: tir.FragmentFill(out.Address(), f.M, f.N, f.K, tir.Const(f.Sum, 0)),
			Update: tir.FragmentMMA(out.Address(), f.M, f.N, f.K, ins[0].Address(),
				ins[1].Address()),
		}
	})
}
