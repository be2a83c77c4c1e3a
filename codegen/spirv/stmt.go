package spirv

import (
	"strings"

	spv "tvmgo/internal/spirv"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// stmt writes a statement.
func (w *writer) stmt(s tir.Stmt) {
	if w.err != nil {
		return
	}
	switch s := s.(type) {
	case *tir.Seq:
		for _, x := range s.Stmts {
			w.stmt(x)
		}
	case *tir.BufferStore:
		w.store(s)
		w.forget()
	case *tir.For:
		w.loopOver(s)
	case *tir.While:
		w.while(s)
	case *tir.If:
		cond := w.one(s.Cond)
		w.forget()
		branch := func(s tir.Stmt) func() values {
			return func() values {
				w.stmt(s)
				return nil
			}
		}
		w.a.With(s.Cond, func() {
			if s.Else == nil {
				w.selection(cond, nil, branch(s.Then), nil)
			}
		})
		if s.Else != nil {
			w.selection(cond, nil, branch(s.Then), branch(s.Else))
		}
	case *tir.LetStmt:
		w.within(func() {
			w.bind(s.Var, s.Value, -1)
			if b := w.vars[s.Var]; w.err == nil && len(b.lanes) == 1 {
				w.nameValue(b.lanes[0], s.Var.Name)
			}
			w.forget()
			w.stmt(s.Body)
		})
	case *tir.Assert:
		w.fail("an assertion (%s) on a device, which has no errors: assert on the host", s.Message)
	case *tir.Alloc:
		w.allocate(s.Buffer)
		w.stmt(s.Body)
	case *tir.AttrStmt:
		if b := s.ViewBuffer(); b != nil && w.memory[b.Data] == nil {
			w.fail("buffer %s is a view of memory that is neither a parameter's, nor allocated around it", b.Name)
		}
		w.stmt(s.Body)
	case *tir.Evaluate:
		w.evaluate(s.Value)
		w.forget()
	default:
		w.fail("SPIR-V has no statement %s: lower it before", tir.NodeName(s))
	}
}

// nameValue names a value, unless it has a name already.
func (w *writer) nameValue(of id, name string) {
	if _, constant := w.m.numbers[of]; constant || w.named[of] {
		return
	}
	w.named[of] = true
	w.m.name(of, name)
}

// Loop controls.
const (
	loopUnroll     = 1
	loopDontUnroll = 2
)

// maxUnrolled is the largest extent of an unrolled loop whose iterations are written out.
const maxUnrolled = 64

func (w *writer) loopOver(s *tir.For) {
	extent, constant := s.Extent.(*tir.IntImm)
	control := uint32(0)
	switch s.Kind {
	case tir.Parallel:
		w.fail("a parallel loop over %s on a device: bind it to threads", s.Var.Name)
		return
	case tir.ThreadBind:
		w.thread(s)
		return
	case tir.Vectorized, tir.Unrolled:
		if !constant {
			w.fail("the loop over %s is %s, and its extent is not constant", s.Var.Name, s.Kind)
			return
		}
		if s.Kind == tir.Unrolled && extent.Value <= maxUnrolled {
			w.unrolled(s, extent.Value)
			return
		}
		control = loopUnroll
	}
	if n, asked := s.Annotations[transform.AnnotationUnroll].(int64); asked && n > 1 {
		control = loopUnroll
	}
	v := w.scalar(s.Var.Type)
	low := w.one(as(s.Var.Type, s.Min))
	end := w.binary(tir.OpAdd, v, low, w.one(as(s.Var.Type, s.Extent)), false)
	w.forget()
	if w.err != nil {
		return
	}
	t := w.typeOf(v)
	w.a.Scope(func() {
		w.a.Bind(s.Var, s.Min, s.Extent)
		w.loop(control, []id{t}, values{low}, func(now values) id {
			w.vars[s.Var] = binding{now, -1}
			w.nameValue(now[0], s.Var.Name)
			return w.compare(comparison(tir.OpLT, v), now[0], end)
		}, func(now values) values {
			w.stmt(s.Body)
			return values{w.fit(v, w.op(spv.OpIAdd, t, now[0], w.number(v, 1)))}
		})
	})
	w.forget()
}

// as returns an integer expression in another type.
func as(t tir.Type, e tir.Expr) tir.Expr {
	if i, ok := e.(*tir.IntImm); ok {
		return &tir.IntImm{Type: t, Value: i.Value}
	}
	if e.DType() == t {
		return e
	}
	return &tir.Cast{Type: t, Value: e}
}

func (w *writer) unrolled(s *tir.For, extent int64) {
	v := w.scalar(s.Var.Type)
	low := w.one(as(s.Var.Type, s.Min))
	w.forget()
	for i := range extent {
		if w.err != nil {
			return
		}
		x := w.binary(tir.OpAdd, v, low, w.number(v, i), false)
		w.scoped(func() {
			w.vars[s.Var] = binding{values{x}, -1}
			w.a.Scope(func() {
				w.a.Bind(s.Var, tir.Add(as(s.Var.Type, s.Min), tir.IntConst(s.Var.Type, i)), tir.IntConst(s.Var.Type, 1))
				w.stmt(s.Body)
			})
		})
	}
}

// while writes a loop whose condition is computed before each iteration.
func (w *writer) while(s *tir.While) {
	w.forget()
	w.loop(0, nil, nil, func(values) id {
		c := w.one(s.Cond)
		w.forget()
		return c
	}, func(values) values {
		w.stmt(s.Body)
		return nil
	})
	w.forget()
}

// thread binds the variable of a loop over threads to the index of the current thread.
func (w *writer) thread(s *tir.For) {
	dim := strings.IndexByte("xyz", s.Thread[max(len(s.Thread)-1, 0)])
	which := uint32(spv.BuiltInWorkgroupID)
	extent, constant := s.Extent.(*tir.IntImm)
	switch tag := strings.TrimRight(s.Thread, "xyz"); {
	case dim < 0 || tag != "blockIdx." && tag != "threadIdx.":
		w.fail("the loop over %s is bound to %q, which Vulkan lacks", s.Var.Name, s.Thread)
		return
	case tag == "threadIdx." && !constant:
		w.fail("the loop over %s is bound to %s, and its extent is not constant: Vulkan compiles the size of a block into "+
			"the kernel: split the loop by a constant, and bind the inner loop", s.Var.Name, s.Thread)
		return
	case tag == "threadIdx.":
		which = spv.BuiltInLocalInvocationID
		w.block[dim] = max(extent.Value, 1)
	}
	u := w.m.integer(32)
	var x id
	if w.warps && which == spv.BuiltInLocalInvocationID {
		x = w.threadOfSubgroup(dim)
	} else {
		x = w.op(spv.OpCompositeExtract, u, w.builtIn(which, w.m.vector(u, 3)), uint32(dim))
	}
	v := w.scalar(s.Var.Type)
	x = w.castInteger(v, scalar{class: integer, bits: 32, of: tir.UInt32}, x)
	if low, ok := s.Min.(*tir.IntImm); !ok || low.Value != 0 {
		x = w.binary(tir.OpAdd, v, w.one(as(s.Var.Type, s.Min)), x, false)
	}
	w.nameValue(x, s.Var.Name)
	w.vars[s.Var] = binding{values{x}, -1}
	w.a.Scope(func() {
		w.a.Bind(s.Var, s.Min, s.Extent)
		w.stmt(s.Body)
	})
}

// builtInNames are the names of built-in variables in debug information.
var builtInNames = map[uint32]string{spv.BuiltInWorkgroupID: "WorkgroupId",
	spv.BuiltInLocalInvocationID:         "LocalInvocationId",
	spv.BuiltInSubgroupSize:              "SubgroupSize",
	spv.BuiltInSubgroupID:                "SubgroupId",
	spv.BuiltInSubgroupLocalInvocationID: "SubgroupLocalInvocationId"}

// builtIn returns the value of a built-in variable.
func (w *writer) builtIn(which uint32, t id) id {
	v, ok := w.builtins[which]
	if !ok {
		v = w.global(spv.ClassInput, t, builtInNames[which])
		w.m.decorate(v, spv.DecorationBuiltIn, which)
		w.builtins[which] = v
	}
	return w.op(spv.OpLoad, t, v) // its value does not change
}

// evaluate computes an expression for its effect.
func (w *writer) evaluate(e tir.Expr) {
	if c, ok := e.(*tir.Call); ok && c.Kind == tir.CallIntrinsic && c.Name == "storage_sync" {
		w.barrier(c)
		return
	}
	if c, ok := e.(*tir.Call); ok && tir.IsFragmentCall(c) {
		w.callFragment(c)
		return
	}
	if w.reads(e) {
		w.value(e, -1)
	}
}
