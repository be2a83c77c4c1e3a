package alias

import (
	"maps"

	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// Declare sets [transform.AttrNoAlias] on functions with kernels whose tensors do not overlap one that is written, as
// host functions check ([Pairs]). One tensor may still be passed for two parameters if each element is read before it
// is written, and the function writes no other tensor: then every value that it stores depends on the reads, and the
// declaration changes nothing.
func Declare(m *tir.IRModule) *tir.IRModule {
	if m == nil {
		return nil
	}
	out := &tir.IRModule{Attrs: m.Attrs}
	for _, f := range m.Funcs {
		if f != nil && f.Body != nil && declares(m, f) {
			g := *f
			g.Attrs = map[string]any{}
			maps.Copy(g.Attrs, f.Attrs)
			g.Attrs[transform.AttrNoAlias] = true
			f = &g
		}
		out.Funcs = append(out.Funcs, f)
	}
	return out
}

func declares(m *tir.IRModule, f *tir.PrimFunc) bool {
	_, known := f.Attrs[transform.AttrNoAlias]
	if known || transform.IsKernel(f) || !tir.Contains(f.Body, func(node any) bool {
		loop, ok := node.(*tir.For)
		return ok && loop.Kind == tir.ThreadBind
	}) {
		return false
	}
	written := map[int]bool{}
	same := false
	for _, p := range Pairs(m, f) {
		same = same || p.Same
		if p.FirstWritten {
			written[p.First] = true
		}
		if p.SecondWritten {
			written[p.Second] = true
		}
	}
	return !same || len(written) == 1
}
