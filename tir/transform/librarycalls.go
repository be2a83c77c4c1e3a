package transform

import (
	"fmt"
	"slices"
	"strings"

	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/product"
)

// hostLibraries are the libraries that LibraryCalls supports.
var hostLibraries = []string{"cblas"}

// LibraryCalls replaces loops by calls of the libraries in the target's option libs, for the CPU. With "cblas",
// matrix products of float32 and float64 become calls of cblas_sgemm and cblas_dgemm, also batches, transposes and
// strided views. If the strides of arguments decide whether the library can compute the product, the program
// contains both. Loops that are not such products stay.
//
// An unknown library is an error.
func LibraryCalls(m *tir.IRModule, t *target.Target) (*tir.IRModule, error) {
	libs := t.Libs()
	for _, l := range libs {
		if !slices.Contains(hostLibraries, l) {
			return nil, fmt.Errorf("libs: no code for kind %q calls library %q: there is %s", t.Kind(), l,
				strings.Join(hostLibraries, ", "))
		}
	}
	return mapBodies("library calls", m, func(f *tir.PrimFunc) (tir.Stmt, error) {
		if !slices.Contains(libs, "cblas") {
			return f.Body, nil
		}
		return callLibraries(f.Body), nil
	})
}

// callLibraries replaces matrix products that are not inside a loop.
func callLibraries(s tir.Stmt) tir.Stmt {
	if p := product.Find(s); p != nil {
		call := gemm(p)
		if len(p.Conds) == 0 {
			return call
		}
		all := p.Conds[0]
		for _, c := range p.Conds[1:] {
			all = tir.And(all, c)
		}
		return &tir.If{Cond: all, Then: call, Else: s}
	}
	switch s := s.(type) {
	case *tir.Seq:
		all, changed := make([]tir.Stmt, len(s.Stmts)), false
		for i, x := range s.Stmts {
			all[i] = callLibraries(x)
			changed = changed || all[i] != x
		}
		if changed {
			return tir.Sequence(all...)
		}
	case *tir.Alloc:
		if body := callLibraries(s.Body); body != s.Body {
			return &tir.Alloc{Buffer: s.Buffer, Body: body}
		}
	case *tir.LetStmt:
		if body := callLibraries(s.Body); body != s.Body {
			return &tir.LetStmt{Var: s.Var, Value: s.Value, Body: body}
		}
	case *tir.AttrStmt:
		if body := callLibraries(s.Body); body != s.Body {
			return &tir.AttrStmt{Key: s.Key, Node: s.Node, Value: s.Value, Body: body}
		}
	}
	return s
}

// The values of CblasRowMajor, CblasNoTrans and CblasTrans in cblas.h.
const (
	blasRows  = 101
	blasAsIs  = 111
	blasTrans = 112
)

// gemm returns the call for a product: C = 1·A·B + 0·C.
func gemm(p *product.Product) tir.Stmt {
	t := p.C.Buffer.DType
	name := map[tir.Type]string{tir.Float32: "cblas_sgemm", tir.Float64: "cblas_dgemm"}[t]
	number := func(e tir.Expr) tir.Expr {
		if c, ok := e.(*tir.IntImm); ok {
			return tir.IntConst(tir.Int32, c.Value)
		}
		return tir.NewCast(tir.Int32, e)
	}
	order := func(o *product.Operand) tir.Expr {
		if o.Transposed {
			return tir.I32(blasTrans)
		}
		return tir.I32(blasAsIs)
	}
	address := func(o *product.Operand) tir.Expr {
		return tir.NewCall(tir.CallIntrinsic, tir.Handle, "address_of", tir.BufferAt(o.Buffer, o.First...))
	}
	var s tir.Stmt = &tir.Evaluate{Value: tir.NewCall(tir.CallExtern, tir.Void, name, tir.I32(blasRows), order(&p.A),
		order(&p.B),
		number(p.M), number(p.N), number(p.K), tir.Const(t, 1), address(&p.A), number(p.A.Lead), address(&p.B),
		number(p.B.Lead),
		tir.Const(t, 0), address(&p.C), number(p.C.Lead))}
	for _, l := range slices.Backward(p.Batch) {
		loop := *l
		loop.Body = s
		s = &loop
	}
	return s
}
