package opencl

import (
	"maps"

	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

const noFragments = "OpenCL C has none: schedule the product without fragments, or build for another kind"

const noAsync = "OpenCL C has no copies of single threads: copy by a load and a store"

// Language is OpenCL C, as transform.ForDevice lowers kernels for it.
var Language = transform.Language{
	Name:  "OpenCL C",
	Lanes: []int{2, 4, 8, 16},
	Elements: []tir.Type{tir.Int8, tir.Int16, tir.Int32, tir.Int64, tir.UInt8, tir.UInt16, tir.UInt32, tir.UInt64,
		tir.Float32, tir.Float64},
	Scopes: append([]string{"global", "local", "shared", readImage, writeImage}, textureScopes...),
	Lacks: map[string]string{
		"ret":      "a kernel ends where its last thread ends: put what follows in an if statement",
		"ret_none": "a kernel ends where its last thread ends: put what follows in an if statement",
		"prefetch": "OpenCL C has none for an address",

		"fragment_fill":  noFragments,
		"fragment_load":  noFragments,
		"fragment_mma":   noFragments,
		"fragment_store": noFragments,
		"async_copy":     noAsync,
		"async_commit":   noAsync,
		"async_wait":     noAsync,
	},
	Last: []transform.Step{{Name: "verify extensions", Pass: verifyExtensions},
		{Name: "initialize all", Pass: initializeAll}, {Name: "peel loops", Pass: peelLoops},
		{Name: "unroll pairs", Pass: unrollPairs},
		{Name: "lower textures", Pass: lowerTextures,
			After: []string{"vectorize", "split vectors"}}},
}

// unrollPairs asks the compiler to unroll loops of two iterations that contain a barrier. PoCL 3.1, which Debian 12
// has, compiles them incorrectly: it misinterprets LLVM's flag that counts two iterations as a condition that differs
// between threads. It then aborts the process by an assertion, or omits the code after the loop, here the last line:
//
//	for (int k = 0; k < 2; ++k) { barrier(CLK_LOCAL_MEM_FENCE); if (x < 3) sum += a[k]; }
//	if (x < 3) out[x] = sum;
//
// Loops of one or three iterations are compiled correctly, and so is this one if it is unrolled, which costs nothing on
// other drivers.
func unrollPairs(m *tir.IRModule, _ *target.Target) (*tir.IRModule, error) {
	by := &tir.Mutator{Stmt: func(s tir.Stmt) tir.Stmt {
		loop, ok := s.(*tir.For)
		if !ok || loop.Kind != tir.Serial || loop.Annotations[transform.AnnotationUnroll] != nil ||
			!hasBarrier(loop.Body) {
			return s
		}
		if n, constant := loop.Extent.(*tir.IntImm); !constant || n.Value != 2 {
			return s
		}
		c := *loop
		c.Annotations = map[string]any{transform.AnnotationUnroll: int64(2)}
		maps.Copy(c.Annotations, loop.Annotations)
		return &c
	}}
	out := &tir.IRModule{Attrs: m.Attrs}
	for _, f := range m.Funcs {
		changed := *f
		changed.Body = by.MutateStmt(f.Body)
		out.Funcs = append(out.Funcs, &changed)
	}
	return out, nil
}

func hasBarrier(s tir.Stmt) bool {
	return tir.Contains(s, func(node any) bool {
		call, ok := node.(*tir.Call)
		return ok && call.Name == "storage_sync"
	})
}
