package transform

import (
	"fmt"

	"tvmgo/dlpack"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
)

// Access is an access with an index that package arith cannot prove to be within its buffer. It may be correct for
// all arguments that callers pass.
type Access struct {
	Func        string // the function's name
	Path        string // from the function to the index, as in errors of tir.Check: body.for(i).body.indices[0]
	Buffer      *tir.Buffer
	Dim         int      // the dimension of the index
	Index, Size tir.Expr // the index, and the size of the dimension
	Write       bool     // the access is a store
}

// String returns a warning with the function, the path in it, the buffer, the index and the size.
func (a Access) String() string {
	what := "read"
	if a.Write {
		what = "write"
	}
	return fmt.Sprintf("%s.%s: this %s of buffer %s may be out of bounds: index %s is not proved to be within "+
		"dimension %d, which has %s", a.Func, a.Path, what,
		a.Buffer.Name, text.Print(a.Index), a.Dim, text.Print(a.Size))
}

// Unproven lists the accesses of a program's functions whose indices are not proved to be within their buffers, in
// program order, each index once. It takes into account the ranges of loops, conditions, assertions and values of
// variables, and that sizes of tensors are not negative. Both branches of a tir.Select count as computed. The
// program must be one that tir.Check accepts.
func Unproven(m *tir.IRModule) []Access {
	var all []Access
	if m == nil {
		return nil
	}
	for _, f := range m.Funcs {
		if f == nil || f.Body == nil {
			continue
		}
		c := newBoundsChecker(f)
		seen := map[place]int{}
		var found []Access
		c.found = func(node any, b *tir.Buffer, d int, index tir.Expr, write bool) {
			if _, known := seen[place{node, d}]; !known {
				seen[place{node, d}] = len(found)
				found = append(found, Access{Func: f.Name, Buffer: b, Dim: d, Index: index, Size: b.Shape[d],
					Write: write})
			}
		}
		c.function()
		tir.WalkPaths(f, func(node any, path func() string) bool {
			var dims int
			switch n := node.(type) {
			case *tir.BufferLoad:
				dims = len(n.Indices)
			case *tir.BufferStore:
				dims = len(n.Indices)
			}
			for d := range dims {
				if i, ok := seen[place{node, d}]; ok && found[i].Path == "" {
					found[i].Path = fmt.Sprintf("%s.indices[%d]", path(), d)
				}
			}
			return true
		})
		all = append(all, found...)
	}
	return all
}

// place is one index of a node.
type place struct {
	node any
	dim  int
}

// CheckIndex is the intrinsic that [CheckBounds] puts around indices on the CPU. It returns its first argument if
// that is not negative and less than the second; otherwise the function returns an IndexError that names the buffer
// and the dimension, the third and the fourth argument.
const CheckIndex = "check_index"

// CheckBounds adds checks of the indices that are not proved to be within their buffers to functions for targets
// with the option bounds-check. On the CPU a function returns an error. On a device, an access that is out of bounds
// is skipped, and a read gives 0; a function that launches kernels waits for them, and returns the error of the
// first such access: see [ReportIndex]. Functions that are kernels themselves report nothing.
func CheckBounds(m *tir.IRModule, t *target.Target) (*tir.IRModule, error) {
	on, err := target.Get[bool](t, "bounds-check")
	device := t.DeviceType() != dlpack.CPU
	return mapBodies("check bounds", m, func(f *tir.PrimFunc) (tir.Stmt, error) {
		if err != nil || !on {
			return f.Body, nil
		}
		c := newBoundsChecker(f)
		c.change, c.skip = true, device
		if device && !IsKernel(f) {
			body := c.reporting()
			return body, c.err
		}
		body := c.function()
		return body, c.err
	})
}

// boundsChecker walks through a function, and finds the indices that are not proved to be within their buffers.
type boundsChecker struct {
	f      *tir.PrimFunc
	a      *arith.Analyzer
	found  func(node any, b *tir.Buffer, d int, index tir.Expr, write bool) // may be nil
	change bool                                                             // insert checks into the program
	skip   bool                                                             // put conditions around accesses
	count  int                                                              // number of indices found
	kernel bool                                                             // within a loop over threads
	// for a function that launches kernels; nil: nothing is reported
	report *boundsReport
	err    error
}

func newBoundsChecker(f *tir.PrimFunc) *boundsChecker {
	return &boundsChecker{f: f, a: arith.NewAnalyzer()}
}

// function returns the body with checks.
func (c *boundsChecker) function() (body tir.Stmt) {
	var sizes []tir.Expr
	for _, p := range c.f.Params {
		if b := c.f.Buffers[p]; b != nil {
			for _, e := range b.Shape {
				if v, ok := e.(*tir.Var); ok {
					sizes = append(sizes, tir.GE(v, tir.IntConst(v.Type, 0)))
				}
			}
		}
	}
	var with func(i int)
	with = func(i int) {
		if i == len(sizes) {
			body = c.stmt(c.f.Body)
			return
		}
		c.a.With(sizes[i], func() { with(i + 1) })
	}
	with(0)
	return body
}

// isWithin reports whether an index is proved to be within a dimension.
func (c *boundsChecker) isWithin(x, size tir.Expr) bool {
	switch v := x.(type) {
	case *tir.Broadcast:
		return c.isWithin(v.Value, size)
	case *tir.Ramp:
		last := tir.Add(v.Base, tir.Mul(v.Stride, tir.IntConst(v.Stride.DType(), int64(v.Lanes-1))))
		return c.isWithin(v.Base, size) && c.isWithin(last, size)
	}
	if lo, hi, ok := c.a.Bounds(x); ok {
		if least, _, fine := c.a.Bounds(size); fine && lo >= 0 && hi < least {
			return true
		}
	}
	t := x.DType()
	if t != tir.Int32 && t != tir.Int64 {
		return false
	}
	if s := size.DType(); s != t {
		if s != tir.Int32 && s != tir.Int64 {
			return false
		}
		x, size = tir.NewCast(tir.Int64, x), tir.NewCast(tir.Int64, size)
	}
	return c.a.Prove(tir.GE(x, tir.IntConst(x.DType(), 0))) && c.a.Prove(tir.LT(x, size))
}

// inBounds returns the condition that all lanes of an index are within the dimension, as a scalar. seen may replace the
// condition of each scalar that is compared.
func inBounds(x, size tir.Expr, seen func(within, index, size tir.Expr) tir.Expr) tir.Expr {
	size = tir.NewCast(tir.Int64, size)
	one := func(e tir.Expr) tir.Expr {
		e = tir.NewCast(tir.Int64, e)
		return seen(tir.And(tir.GE(e, tir.I64(0)), tir.LT(e, size)), e, size)
	}
	switch v := x.(type) {
	case *tir.Broadcast:
		return one(v.Value)
	case *tir.Ramp:
		return tir.And(one(v.Base),
			one(tir.Add(v.Base, tir.Mul(v.Stride, tir.IntConst(v.Stride.DType(), int64(v.Lanes-1))))))
	}
	lanes := int(x.DType().Lanes)
	if lanes == 1 {
		return one(x)
	}
	var all tir.Expr
	for k := range lanes {
		if e := one(&tir.Shuffle{Vectors: []tir.Expr{x}, Indices: []int{k}}); all == nil {
			all = e
		} else {
			all = tir.And(all, e)
		}
	}
	return all
}

// checked returns the indices of an access with checks and, if accesses are skipped, the condition that the indices are
// in bounds; nil: always.
func (c *boundsChecker) checked(node any, b *tir.Buffer, indices []tir.Expr, write bool) (out []tir.Expr,
	within tir.Expr) {
	out = make([]tir.Expr, len(indices))
	for d, x := range indices {
		out[d] = c.expr(x)
		if d >= len(b.Shape) || c.isWithin(x, b.Shape[d]) {
			continue
		}
		c.count++
		if c.found != nil {
			c.found(node, b, d, x, write)
		}
		switch {
		case !c.change:
		case c.skip:
			if cond := inBounds(out[d], b.Shape[d], c.reports(b, d)); within == nil {
				within = cond
			} else {
				within = tir.And(within, cond)
			}
		default:
			out[d] = tir.NewCall(tir.CallIntrinsic, x.DType(), CheckIndex, out[d], tir.NewCast(tir.Int64, b.Shape[d]),
				tir.Text(b.Name), tir.I32(int32(d)))
		}
	}
	return out, within
}
