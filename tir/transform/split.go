package transform

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/internal/launch"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// Attributes that SplitHostDevice sets on functions.
const (
	AttrTarget     = "target"       // *target.Target: the target of the function
	AttrConvention = "calling_conv" // int64: ConventionKernel, of kernels
	// string: the launch parameters that follow a kernel's arguments, separated by commas
	AttrLaunchTags = "tir.kernel_launch_params"
	// int64: the device of the tensors of a host function (dlpack.DeviceType); if absent, the CPU
	AttrDevice = "tir.device_type"
	// string: the kernels that a host function launches, separated by commas
	AttrKernels = "tir.kernels"
	AttrNoAlias = "tir.noalias" // bool: no two tensors overlap

	// ConventionKernel is the calling convention of kernels.
	ConventionKernel = int64(2)

	// DynamicSharedTag is the launch parameter with the number of bytes of scope "shared.dyn" of a block. It is the
	// last one.
	DynamicSharedTag = launch.SharedMemory
)

// structDeviceID is the field of tvm_struct_get for a tensor's device, by Apache TVM's number.
const structDeviceID = 9

// IsKernel reports whether a function is a kernel, which a device runs once for each thread.
func IsKernel(f *tir.PrimFunc) bool {
	c, _ := f.Attrs[AttrConvention].(int64)
	return c == ConventionKernel
}

// LaunchTags are the launch parameters that follow a kernel's arguments.
func LaunchTags(f *tir.PrimFunc) []string {
	s, _ := f.Attrs[AttrLaunchTags].(string)
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// SplitHostDevice separates host code from kernels. A function with loops over threads becomes one for the host, with
// the same name and parameters, and one for each of its kernels, named NAME_kernel, NAME_kernel_1, …. The parameters of
// a kernel are the tensors that it uses, then numbers that the host computes, such as sizes. The host function makes
// the tensors' device the active one, and calls each kernel by a packed call of its name. Its arguments are followed by
// the extents of grid and block, in the order of the kernel's [LaunchTags]. A launch without threads is omitted. Loops,
// conditions and packed calls around and between kernels run on the host; a load or store of device memory there is an
// error.
//
// A function is built for the target in its attributes, otherwise for t; functions for CPUs stay as they are. The
// host's target is "c" if the target names none.
func SplitHostDevice(m *tir.IRModule, t *target.Target) (*tir.IRModule, error) {
	const op = "split host and device"
	if err := checkFuncs(op, m); err != nil {
		return nil, err
	}
	out := &tir.IRModule{Attrs: m.Attrs}
	taken := map[string]bool{}
	for _, f := range m.Funcs {
		taken[f.Name] = true
	}
	for _, f := range m.Funcs {
		own, _ := f.Attrs[AttrTarget].(*target.Target)
		if own == nil {
			own = t
		}
		if IsKernel(f) || own == nil || own.DeviceType() == dlpack.CPU {
			out.Funcs = append(out.Funcs, f)
			continue
		}
		s := &splitter{f: f, target: own, taken: taken, an: arith.NewAnalyzer()}
		host, err := changed(f, func(*tir.PrimFunc) (*tir.PrimFunc, error) { return s.host() })
		if err != nil {
			return nil, fmt.Errorf("%s: function %s for %s: %w", op, f.Name, own.Kind().Name(), err)
		}
		out.Funcs = append(append(out.Funcs, host), s.kernels...)
	}
	return out, nil
}

// splitter splits one function.
type splitter struct {
	f       *tir.PrimFunc
	target  *target.Target
	taken   map[string]bool
	an      *arith.Analyzer
	kernels []*tir.PrimFunc
	err     error
}

// AttrDeviceOf is AttrDevice for one parameter, by its index.
func AttrDeviceOf(i int) string { return fmt.Sprintf("%s.%d", AttrDevice, i) }

func (s *splitter) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

// host returns the function without its kernels.
func (s *splitter) host() (*tir.PrimFunc, error) {
	if s.f.Result != tir.Void && s.f.Result != (tir.Type{}) {
		return nil, fmt.Errorf("its result is of type %s: functions with kernels have none, store it to a tensor",
			s.f.Result)
	}
	body := s.stmt(s.f.Body)
	if s.err != nil {
		return nil, s.err
	}
	g := *s.f
	g.Attrs = map[string]any{}
	maps.Copy(g.Attrs, s.f.Attrs)
	device := s.target.DeviceType()
	g.Attrs[AttrDevice] = int64(device)
	h := s.target.Host()
	if h == nil {
		var err error
		if h, err = target.New("c"); err != nil {
			return nil, err
		}
	}
	g.Attrs[AttrTarget] = h
	var id tir.Expr = tir.I32(0)
	for _, p := range g.Params {
		if g.Buffers[p] != nil {
			id = tir.NewCall(tir.CallIntrinsic, tir.Int32, "tvm_struct_get", p, tir.I32(0), tir.I32(structDeviceID))
			break
		}
	}
	launched := make([]string, len(s.kernels))
	for i, k := range s.kernels {
		launched[i] = k.Name
	}
	g.Attrs[AttrKernels] = strings.Join(launched, ",")
	v := tir.NewVar("device_id", tir.Int32)
	activate := &tir.Evaluate{Value: tir.NewCall(tir.CallPacked, tir.Void, "__tvm_set_device", tir.I32(int32(device)),
		v)}
	g.Body = &tir.LetStmt{Var: v, Value: id, Body: &tir.AttrStmt{Key: "device_id", Value: v,
		Body: tir.Sequence(activate, body)}}
	return &g, nil
}

// numbers rejects host expressions that read the device's memory.
func (s *splitter) numbers(what string, all ...tir.Expr) {
	for _, e := range all {
		tir.Walk(e, func(node any) bool {
			if l, ok := node.(*tir.BufferLoad); ok {
				s.fail("%s loads from buffer %s on the host, which cannot see the device's memory: compute it in a kernel, or "+
					"pass it as a number", what, l.Buffer.Name)
			} else if tir.Opaque(node) {
				s.fail("%w", tir.NotKnown(node, "is computed by the host"))
			}
			return true
		})
	}
}

// stmt returns a statement of the host.
func (s *splitter) stmt(x tir.Stmt) tir.Stmt {
	if s.err != nil {
		return x
	}
	switch x := x.(type) {
	case *tir.Seq:
		all := make([]tir.Stmt, len(x.Stmts))
		for i, y := range x.Stmts {
			all[i] = s.stmt(y)
		}
		return tir.Sequence(all...)
	case *tir.For:
		if x.Kind == tir.ThreadBind {
			return s.kernel(x)
		}
		s.numbers("the loop over "+x.Var.Name, x.Min, x.Extent)
		c := *x
		if c.Body = s.stmt(x.Body); s.err == nil && x.Kind != tir.Serial && x.Kind != tir.Unrolled &&
			hasKernel(x.Body) {
			s.fail("the loop over %s is %s, and has a kernel within: make it serial, or bind it to blocks",
				x.Var.Name, x.Kind)
		}
		return &c
	case *tir.While:
		s.numbers("the condition of a loop", x.Cond)
		return &tir.While{Cond: x.Cond, Body: s.stmt(x.Body)}
	case *tir.If:
		s.numbers("a condition", x.Cond)
		c := &tir.If{Cond: x.Cond, Then: s.stmt(x.Then)}
		if x.Else != nil {
			c.Else = s.stmt(x.Else)
		}
		return c
	case *tir.LetStmt:
		s.numbers("variable "+x.Var.Name, x.Value)
		return &tir.LetStmt{Var: x.Var, Value: x.Value, Body: s.stmt(x.Body)}
	case *tir.AttrStmt:
		return &tir.AttrStmt{Key: x.Key, Node: x.Node, Value: x.Value, Body: s.stmt(x.Body)}
	case *tir.Alloc:
		if scope := x.Buffer.StorageScope(); scope != "global" {
			s.fail("buffer %s in scope %s is allocated around kernels, which share global memory alone: allocate it "+
				"within one", x.Buffer.Name, scope)
		}
		return &tir.Alloc{Buffer: x.Buffer, Body: s.stmt(x.Body)}
	case *tir.BufferStore:
		s.fail("buffer %s is stored to outside of all loops over threads, by the host, which cannot see the device's "+
			"memory: bind a loop around the store to "+
			"blockIdx or threadIdx", x.Buffer.Name)
	case *tir.Evaluate:
		s.numbers("a call", x.Value)
	case *tir.Assert:
		s.numbers("an assertion", x.Cond)
	default:
		s.fail("%w", tir.NotKnown(x, "is a statement of the host"))
	}
	return x
}

func hasKernel(s tir.Stmt) bool {
	return tir.Contains(s, func(node any) bool {
		f, ok := node.(*tir.For)
		return ok && f.Kind == tir.ThreadBind
	})
}

// name returns a name for the next kernel.
func (s *splitter) name() string {
	name := s.f.Name + "_kernel"
	for i := 1; s.taken[name]; i++ {
		name = fmt.Sprintf("%s_kernel_%d", s.f.Name, i)
	}
	s.taken[name] = true
	return name
}

// kernel makes a function of a nest of loops over threads, and returns the host statement that launches it.
func (s *splitter) kernel(loop *tir.For) tir.Stmt {
	k, err := newKernel(loop)
	if err != nil {
		s.err = err
		return loop
	}
	size, dynamic := s.dynamicShared(k)
	o := outline(k.stmt())
	f := &tir.PrimFunc{Name: s.name(), Buffers: map[*tir.Var]*tir.Buffer{}, Result: tir.Void,
		Attrs: map[string]any{AttrTarget: s.target,
			AttrConvention: ConventionKernel}}
	if b, ok := s.f.Attrs[AttrNoAlias].(bool); ok {
		f.Attrs[AttrNoAlias] = b
	}
	var args []tir.Expr
	for _, b := range o.buffers {
		if b.StorageScope() != "global" && !strings.HasPrefix(b.StorageScope(), "global.") {
			s.fail("buffer %s in scope %s is used by a kernel that it is not allocated in", b.Name, b.StorageScope())
		}
		v := tir.NewVar(b.Name+"_handle", tir.Handle)
		f.Params, f.Buffers[v] = append(f.Params, v), o.newBuffer[b]
		args = append(args, b.Data)
	}
	body := o.body
	for _, v := range o.vars {
		own := o.newVar[v]
		wide := argumentType(v.Type)
		var arg tir.Expr = v
		switch {
		case wide == tir.Void:
			s.fail("variable %s of type %s is used by a kernel, which takes no such argument", v.Name, v.Type)
		case wide != v.Type:
			p := tir.NewVar(v.Name, wide)
			arg = tir.NewCast(wide, v)
			body = &tir.LetStmt{Var: own, Value: tir.NewCast(v.Type, p), Body: body}
			own = p
		}
		f.Params = append(f.Params, own)
		args = append(args, arg)
	}
	f.Body = body
	var tags []string
	var launch tir.Expr
	for _, a := range k.axes {
		n, constant := a.extent.(*tir.IntImm)
		tags = append(tags, a.tag)
		if constant {
			args = append(args, tir.I64(n.Value))
		} else {
			args = append(args, tir.NewCast(tir.Int64, a.extent))
		}
		if constant && n.Value > 0 {
			continue
		}
		some := tir.GT(a.extent, tir.IntConst(a.extent.DType(), 0))
		if s.an.Prove(some) {
			continue
		}
		if launch == nil {
			launch = some
		} else {
			launch = tir.And(launch, some)
		}
	}
	if dynamic {
		tags = append(tags, DynamicSharedTag)
		args = append(args, size)
	}
	f.Attrs[AttrLaunchTags] = strings.Join(tags, ",")
	s.kernels = append(s.kernels, f)
	var call tir.Stmt = &tir.Evaluate{Value: tir.NewCall(tir.CallPacked, tir.Void, f.Name, args...)}
	if launch != nil {
		call = &tir.If{Cond: launch, Then: call}
	}
	return call
}

// argumentType returns the type in which kernels take a number: there are five (docs/abi.md D.2).
func argumentType(t tir.Type) tir.Type {
	switch {
	case t.Lanes != 1:
		return tir.Void
	case t == tir.Int32, t == tir.UInt32, t == tir.Int64, t == tir.Float32, t == tir.Float64, tir.IsHandle(t):
		return t
	case tir.IsBool(t), tir.IsInt(t) && t.Bits < 32:
		return tir.Int32
	case t == tir.UInt64:
		return tir.Int64
	case tir.IsFloat(t):
		return tir.Float32
	}
	return tir.Void
}

// dynamicShared returns the number of bytes of a block in scope "shared.dyn"; its buffers are placed one after the
// other.
func (s *splitter) dynamicShared(k *kernel) (bytes tir.Expr, found bool) {
	bytes = tir.I64(0)
	for _, b := range k.shared {
		if b.Scope != "shared.dyn" {
			continue
		}
		found = true
		size := tir.I64(int64(b.DType.Bits+7) / 8 * int64(b.DType.Lanes))
		for i, n := range b.Shape {
			if b.Strides != nil {
				if n = b.Strides[0]; i > 0 {
					break
				}
				n = tir.Mul(tir.NewCast(tir.Int64, b.Shape[0]), tir.NewCast(tir.Int64, n))
			}
			size = tir.Mul(size, tir.NewCast(tir.Int64, n))
		}
		// each begins at an alignment that suits every type
		bytes = tir.Add(tir.Mul(tir.FloorDiv(tir.Add(bytes, tir.I64(15)), tir.I64(16)), tir.I64(16)), size)
	}
	return s.an.Simplify(bytes), found
}

// outlined moves a statement to the body of another function. Variables and buffers from outside become new ones there,
// in the order of their first use.
type outlined struct {
	body      tir.Stmt
	buffers   []*tir.Buffer
	vars      []*tir.Var
	newBuffer map[*tir.Buffer]*tir.Buffer
	newVar    map[*tir.Var]*tir.Var
	bound     map[*tir.Var]bool
	data      map[*tir.Var]*tir.Var
}

func outline(s tir.Stmt) *outlined {
	o := &outlined{newBuffer: map[*tir.Buffer]*tir.Buffer{}, newVar: map[*tir.Var]*tir.Var{},
		bound: map[*tir.Var]bool{}, data: map[*tir.Var]*tir.Var{}}
	tir.Walk(s, func(node any) bool {
		vars, _ := tir.Bound(node)
		for _, v := range vars {
			o.bound[v] = true
		}
		return true
	})
	o.body = (&tir.Mutator{Expr: o.expr, PreStmt: func(s tir.Stmt) (tir.Stmt, bool) {
		switch s := s.(type) {
		case *tir.Alloc:
			o.buffer(s.Buffer) // the host may compute its sizes
		case *tir.AttrStmt:
			if b, ok := s.Node.(*tir.Buffer); ok {
				o.buffer(b) // before its address, which becomes a parameter if it is from outside
			}
		}
		return s, false
	}, Stmt: func(s tir.Stmt) tir.Stmt {
		switch s := s.(type) {
		case *tir.BufferStore:
			return &tir.BufferStore{Buffer: o.buffer(s.Buffer), Value: s.Value, Indices: s.Indices}
		case *tir.Alloc:
			return &tir.Alloc{Buffer: o.buffer(s.Buffer), Body: s.Body}
		case *tir.AttrStmt:
			if b, ok := s.Node.(*tir.Buffer); ok {
				if s.Key == tir.AttrView && slices.Contains(o.buffers, b) {
					return s.Body // it belongs to a parameter
				}
				return &tir.AttrStmt{Key: s.Key, Node: o.buffer(b), Value: s.Value, Body: s.Body}
			}
		default:
			return o.named(s).(tir.Stmt)
		}
		return s
	}}).MutateStmt(s)
	slices.SortStableFunc(o.vars, func(a, b *tir.Var) int { // memory before numbers, as some devices require
		return btoi(tir.IsHandle(b.Type)) - btoi(tir.IsHandle(a.Type))
	})
	return o
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (o *outlined) expr(e tir.Expr) tir.Expr {
	switch e := e.(type) {
	case *tir.Var:
		return o.variable(e)
	case *tir.BufferLoad:
		return &tir.BufferLoad{Buffer: o.buffer(e.Buffer), Indices: e.Indices}
	}
	return o.named(e).(tir.Expr)
}

// named returns a node with the variables and buffers of the new function.
func (o *outlined) named(node any) any {
	vars, buffers := tir.Named(node)
	_, own := tir.Bound(node)
	if len(vars)+len(buffers)+len(own) == 0 {
		return node
	}
	return tir.Renamed(node, o.variable, o.buffer)
}

// variable returns a variable of the new function.
func (o *outlined) variable(v *tir.Var) *tir.Var {
	if d := o.data[v]; d != nil {
		return d
	}
	if o.bound[v] {
		return v
	}
	if o.newVar[v] == nil {
		o.newVar[v] = tir.NewVar(v.Name, v.Type)
		o.vars = append(o.vars, v)
	}
	return o.newVar[v]
}

// buffer returns a buffer of the new function.
func (o *outlined) buffer(b *tir.Buffer) *tir.Buffer {
	if c := o.newBuffer[b]; c != nil {
		return c
	}
	c := *b
	o.newBuffer[b] = &c
	if !o.bound[b.Data] {
		if o.data[b.Data] == nil {
			o.data[b.Data] = tir.NewVar(b.Data.Name, tir.Handle)
			o.buffers = append(o.buffers, b)
		}
		c.Data = o.data[b.Data]
	}
	c.Shape, c.Strides = o.sizes(b.Shape), o.sizes(b.Strides)
	if b.Offset != nil {
		c.Offset = o.sizes([]tir.Expr{b.Offset})[0]
	}
	return &c
}

func (o *outlined) sizes(all []tir.Expr) []tir.Expr {
	if all == nil {
		return nil
	}
	m := tir.Mutator{Expr: o.expr}
	out := make([]tir.Expr, len(all))
	for i, e := range all {
		out[i] = m.MutateExpr(e)
	}
	return out
}
