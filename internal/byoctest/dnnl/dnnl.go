// Package dnnl brings a code generator of its own to package target, and is an example of how to: what it takes is all in this file,
// and nothing elsewhere knows of it. It declares a kind of target, says which operations that kind takes, and attaches a generator
// of C that has them computed by oneDNN's dnnl_sgemm.
//
// After [Register], {"kind": "composite", "devices": ["dnnl", "llvm"]} has matrices multiplied by the library, and llvm do the rest.
package dnnl

import (
	"fmt"
	"strings"
	"sync"

	"tvmgo/dlpack"
	"tvmgo/target"
)

// Column has a kind's [Generator]. Any kind may have one, so that one program is linked from the groups of several kinds.
const Column = "byoc.generator"

// Generator writes the C source of
//
//	void symbol(const float *const *in, float *const *out)
//
// which computes a group of a plan: from the group's inputs, in their order, its outputs in theirs.
type Generator func(symbol string, g *target.Group) (source string, err error)

// Register declares the kind "dnnl", with its partitioner and its generator. Only the first call does anything.
var Register = sync.OnceValue(func() error {
	_, err := target.RegisterKind("dnnl", dlpack.CPU,
		target.DefaultKeys("dnnl", "cpu"),
		target.WithAttr(target.ColumnPartitioner, target.Predicate(takes)),
		target.WithAttr(Column, Generator(generate)))
	return err
})

// takes is the partitioner: matrix products of float32 whose sizes are known, as attributes m, n and k: an m×k matrix times a k×n one.
func takes(_ *target.Target, op *target.Op) (bool, string) {
	if op.Kind != "matmul" {
		return false, "it multiplies matrices alone"
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
func generate(symbol string, g *target.Group) (string, error) {
	var b strings.Builder
	b.WriteString(`#include <stdint.h>
int dnnl_sgemm(char transa, char transb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
               const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
`)
	fmt.Fprintf(&b, "void %s(const float *const *in, float *const *out) {\n", symbol)
	where := map[string]string{} // what a value is in C
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
		if where[op.Name] == "" { // it stays within the group
			where[op.Name] = fmt.Sprintf("t%d", i)
			fmt.Fprintf(&b, "  static float t%d[%d];\n", i, m*n)
		}
		fmt.Fprintf(&b, "  dnnl_sgemm('N', 'N', %d, %d, %d, 1, %s, %d, %s, %d, 0, %s, %d);\n",
			m, n, k, where[op.Inputs[0]], k, where[op.Inputs[1]], n, where[op.Name], n)
	}
	b.WriteString("}\n")
	return b.String(), nil
}
