// Package dnnl is an example of a third-party code generator: it is complete in this file, and no other package refers
// to it. It declares a target kind and the operations that the kind supports, and attaches a generator of C code that
// calls oneDNN's dnnl_sgemm.
//
// After [Register], with the target {"kind": "composite", "devices": ["dnnl", "llvm"]} the library multiplies matrices,
// and llvm does the rest. It also takes part in builds of programs: codegen.Build accepts {"kind": "composite",
// "devices": ["dnnl", "c"]}.
package dnnl

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"tvmgo/codegen"
	"tvmgo/codegen/c"
	"tvmgo/dlpack"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/target/partition"
	"tvmgo/tir"
	"tvmgo/tir/product"
)

// Column is the attribute column with a kind's [Generator]. Any kind may have one, so that one program is linked from
// the groups of several kinds.
const Column = "byoc.generator"

// Generator writes the C source of a function
//
//	void symbol(const float *const *in, float *const *out)
//
// which computes a group of a plan. in and out have the group's inputs and outputs in their order.
type Generator func(symbol string, g *partition.Group) (source string, err error)

// Register declares the kind "dnnl" with its partitioner and its generator. Further calls do nothing.
var Register = sync.OnceValue(func() error {
	_, err := target.RegisterKind("dnnl", dlpack.CPU,
		target.DefaultKeys("dnnl", "cpu"),
		target.WithAttr(target.ColumnPartitioner, target.Predicate(takes)),
		target.WithAttr(codegen.ColumnLower, codegen.Pass(lower)),
		target.WithAttr(codegen.ColumnExternal, codegen.BuildFunc(build)),
		target.WithAttr(Column, Generator(generate)))
	return err
})

// takes is the partitioner: it accepts float32 matrix products of known sizes. Their attributes m, n and k mean that an
// m×k matrix is multiplied by a k×n matrix.
func takes(_ *target.Target, op *target.Op) (bool, string) {
	if op.Kind != "matmul" {
		return false, "it only multiplies matrices"
	}
	if len(op.Inputs) != 2 {
		return false, fmt.Sprintf("a product of 2 matrices, not of %d", len(op.Inputs))
	}
	if op.Attrs["dtype"] != "float32" {
		return false, fmt.Sprintf("the type is %v, and dnnl_sgemm is for float32", op.Attrs["dtype"])
	}
	m, n, k := sizes(op)
	if m <= 0 || n <= 0 || k <= 0 {
		return false, "the sizes are not known: want attributes m, n and k"
	}
	return true, fmt.Sprintf("dnnl_sgemm multiplies %d×%d by %d×%d", m, k, k, n)
}

func sizes(op *target.Op) (m, n, k int) {
	m, _ = op.Attrs["m"].(int)
	n, _ = op.Attrs["n"].(int)
	k, _ = op.Attrs["k"].(int)
	return m, n, k
}

// generate is the generator: a call for each product.
func generate(symbol string, g *partition.Group) (string, error) {
	var b strings.Builder
	b.WriteString(`#include <stdint.h>
int dnnl_sgemm(char transa, char transb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
               const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
`)
	fmt.Fprintf(&b, "void %s(const float *const *in, float *const *out) {\n", symbol)
	where := map[string]string{} // the C expression of each value
	for i, name := range g.Inputs {
		where[name] = fmt.Sprintf("in[%d]", i)
	}
	for i, name := range g.Outputs {
		where[name] = fmt.Sprintf("out[%d]", i)
	}
	for i := range g.Ops {
		op := &g.Ops[i]
		if ok, why := takes(nil, op); !ok {
			return "", fmt.Errorf("generate %s: operation %q: %s", symbol, op.Name, why)
		}
		m, n, k := sizes(op)
		if where[op.Name] == "" { // it is only used inside the group
			where[op.Name] = fmt.Sprintf("t%d", i)
			fmt.Fprintf(&b, "  static float t%d[%d];\n", i, m*n)
		}
		fmt.Fprintf(&b, "  dnnl_sgemm('N', 'N', %d, %d, %d, 1, %s, %d, %s, %d, 0, %s, %d);\n",
			m, n, k, where[op.Inputs[0]], k, where[op.Inputs[1]], n, where[op.Name], n)
	}
	b.WriteString("}\n")
	return b.String(), nil
}

// lower replaces products by library calls.
func lower(m *tir.IRModule, _ *target.Target) (*tir.IRModule, error) {
	out := &tir.IRModule{Attrs: m.Attrs}
	for _, f := range m.Funcs {
		p, ok := product.Of(f)
		if !ok || p.C.Buffer.DType != tir.Float32 {
			return nil, fmt.Errorf("function %s is not a product of float32 matrices, the only operation of dnnl_sgemm", f.Name)
		}
		order := func(o *product.Operand) tir.Expr {
			if o.Transposed {
				return tir.IntConst(tir.Int8, 'T')
			}
			return tir.IntConst(tir.Int8, 'N')
		}
		address := func(o *product.Operand) tir.Expr {
			return tir.NewCall(tir.CallIntrinsic, tir.Handle, "address_of", tir.BufferAt(o.Buffer, o.First...))
		}
		wide := func(e tir.Expr) tir.Expr { return tir.NewCast(tir.Int64, e) }
		status := tir.NewCall(tir.CallExtern, tir.Int32, "dnnl_sgemm", order(&p.A), order(&p.B), wide(p.M), wide(p.N),
			wide(p.K), tir.F32(1),
			address(&p.A), wide(p.A.Lead), address(&p.B), wide(p.B.Lead), tir.F32(0), address(&p.C), wide(p.C.Lead))
		var body tir.Stmt = &tir.Assert{Cond: tir.EQ(status, tir.I32(0)), Kind: "RuntimeError",
			Message: f.Name + ": dnnl_sgemm failed"}
		for _, l := range slices.Backward(p.Batch) {
			loop := *l
			loop.Body = body
			body = &loop
		}
		changed := *f
		changed.Body = body
		out.Funcs = append(out.Funcs, &changed)
	}
	return out, nil
}

// build writes C that calls the library. The library is linked when the C is compiled.
func build(m *tir.IRModule, t *target.Target) (*runtime.Module, error) {
	var e c.Emitter
	code, err := e.Emit(m, t)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(m.Funcs))
	for i, f := range m.Funcs {
		names[i] = f.Name
	}
	return codegen.NewHostModule(code, names, "-ldnnl")
}
