package codegen

import (
	"slices"

	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/target/partition"
	"tvmgo/tir"
	"tvmgo/tir/product"
)

// OpFunction is the attribute of an operation that stands for a function: a *tir.PrimFunc. [OpThreads] is a bool:
// whether the function has loops over threads of a device.
const (
	OpFunction = "function"
	OpThreads  = "threads"
)

// assign divides functions among the members of a composite target.
func (b *build) assign(found *targets, t *target.Target, funcs []*tir.PrimFunc, m *tir.IRModule) error {
	g := &target.Graph{}
	for _, f := range funcs {
		g.Ops = append(g.Ops, operation(f, funcs))
	}
	plan, err := partition.New(g, t)
	if err != nil {
		return runtime.Errorf(runtime.ErrInvalidArgument, "build for kind %q: %w", t.Kind(), err)
	}
	for _, f := range funcs {
		why, ok := plan.Why(f.Name)
		if !ok {
			return runtime.Errorf(runtime.ErrFailed, "build for kind %q: the plan has no function %s", t.Kind(), f.Name)
		}
		to := plan.Groups[why.Group].Target
		if err := checkConvention(f, to); err != nil {
			return err
		}
		found.set(f.Name, to)
	}
	return nil
}

// Member returns the member of a composite target for which Build builds a function that is a program of its own.
func Member(f *tir.PrimFunc, t *target.Target) (*target.Target, error) {
	plan, err := partition.New(&target.Graph{Ops: []target.Op{operation(f, []*tir.PrimFunc{f})}}, t)
	if err != nil {
		return nil, runtime.Errorf(runtime.ErrInvalidArgument, "build for kind %q: %w", t.Kind(), err)
	}
	return plan.Groups[0].Target, nil
}

// operation is a function as an operation of a graph: it uses the tensors that it reads, and the functions that it
// calls.
func operation(f *tir.PrimFunc, among []*tir.PrimFunc) target.Op {
	op := target.Op{Name: f.Name, Kind: "function", Attrs: map[string]any{}}
	for key, v := range f.Attrs {
		if n, ok := v.(int64); ok {
			v = int(n) // graphs have numbers of type int
		}
		op.Attrs[key] = v
	}
	reads := map[*tir.Buffer]bool{}
	threads := false
	tir.Walk(f.Body, func(node any) bool {
		switch n := node.(type) {
		case *tir.BufferLoad:
			reads[n.Buffer] = true
		case *tir.For:
			threads = threads || n.Kind == tir.ThreadBind
		}
		return true
	})
	if p, ok := product.Of(f); ok {
		op.Kind = "matmul"
		op.Attrs["dtype"] = p.C.Buffer.DType.String()
		for name, size := range map[string]tir.Expr{"m": p.M, "n": p.N, "k": p.K} {
			if c, ok := size.(*tir.IntImm); ok {
				op.Attrs[name] = int(c.Value)
			}
		}
		delete(reads, p.C.Buffer) // a product reads it only to accumulate
	}
	if kind, ok := f.Attrs[AttrOp].(string); ok && kind != "" {
		op.Kind = kind
	}
	op.Attrs[OpFunction], op.Attrs[OpThreads] = f, threads
	for _, p := range f.Params {
		if b := f.Buffers[p]; b != nil && reads[b] {
			name := b.Name
			if name == "" {
				name = p.Name
			}
			op.Inputs = append(op.Inputs, f.Name+"."+name) // no function can have this name
		}
	}
	for _, name := range callees(f) {
		if slices.ContainsFunc(among, func(g *tir.PrimFunc) bool { return g.Name == name }) {
			op.Inputs = append(op.Inputs, name)
		}
	}
	return op
}

// TakesFunctions is the predicate (target.ColumnPartitioner) of kinds that run functions of the host: it rejects
// functions with loops over threads of a device, and takes all others.
func TakesFunctions(_ *target.Target, op *target.Op) (bool, string) {
	if threads, _ := op.Attrs[OpThreads].(bool); threads {
		return false, "it has loops over threads, which only a device has"
	}
	return true, "code for the CPU"
}

// TakesKernels is the predicate (target.ColumnPartitioner) of device kinds: it rejects functions without loops over
// threads, and takes all others.
func TakesKernels(_ *target.Target, op *target.Op) (bool, string) {
	_, function := op.Attrs[OpFunction]
	if threads, _ := op.Attrs[OpThreads].(bool); function && !threads {
		return false, "it has no loop over threads: bind one, as by Schedule.Bind"
	}
	return true, "code for a device"
}
