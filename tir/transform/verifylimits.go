package transform

import (
	"fmt"
	"slices"
	"strings"

	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// VerifyLimits rejects functions that exceed a limit of their target, which is one of its attributes; a limit that a
// target does not have is not checked. A function's own target (attribute "target") takes precedence over t. The
// function is not changed. These are the limits of each kernel (a loop over blocks or threads that is within no
// other):
//
//   - max_threads_per_block and max_num_threads: the threads of a block; max_block_size_x, _y and _z: those along
//     one index
//   - thread_warp_size: if memory of scope "warp" or a barrier of a warp is used, threadIdx.x must not end within a
//     warp
//   - thread_warp_size: if intrinsics of fragments are used, a block consists of whole warps
//   - max_shared_memory_per_block: the bytes of all allocations of scope "shared…", double-buffered ones twice
//   - max_function_args: tensors and numbers that are passed to the kernel
//   - vector-width: the bits of vectors that are read, written and computed, anywhere in the function
//
// Sizes that are known only at the call count with their least possible value: the device rejects a launch that is
// too large.
func VerifyLimits(m *tir.IRModule, t *target.Target) (*tir.IRModule, error) {
	return mapFuncs("verify limits", m, func(f *tir.PrimFunc) (*tir.PrimFunc, error) {
		own := targetOf(f, t)
		if own == nil {
			return f, nil
		}
		v := &limits{f: f, t: own, attrs: own.Attrs(), a: arith.NewAnalyzer()}
		v.function()
		return f, v.err
	})
}

// limits checks one function.
type limits struct {
	f     *tir.PrimFunc
	t     *target.Target
	attrs map[string]any
	a     *arith.Analyzer
	err   error
}

// of returns a limit of the target.
func (v *limits) of(name string) (int64, bool) {
	n, ok := v.attrs[name].(int64)
	return n, ok
}

// exceeded records that the program needs more than an attribute allows.
func (v *limits) exceeded(path, attr, asked string, n int64, wayOut string) {
	limit, ok := v.of(attr)
	if !ok || n <= limit || v.err != nil {
		return
	}
	v.err = fmt.Errorf("at %s: %s, %d more than %s of target %s allows (%d): %s, or build for a target that has more, as "+
		"in {\"kind\": %q, %q: %d}",
		path, asked, n-limit, attr, v.t.Kind(), limit, wayOut, v.t.Kind(), attr, n)
}

func (v *limits) function() {
	tir.WalkPaths(v.f, func(node any, path func() string) bool {
		if e, ok := node.(tir.Expr); ok {
			v.vector(e, path)
		}
		if s, ok := node.(tir.Stmt); ok && isBound(s) {
			v.kernel(s, path())
			return v.err == nil && v.attrs["vector-width"] != nil
		}
		return v.err == nil
	})
}

// vector checks the number of bits of a vector.
func (v *limits) vector(e tir.Expr, path func() string) {
	t := e.DType()
	if t.Lanes < 2 || tir.IsBool(t) {
		return
	}
	if bits := int64(t.Bits) * int64(t.Lanes); v.err == nil && v.attrs["vector-width"] != nil {
		v.exceeded(path(), "vector-width", fmt.Sprintf("a vector of type %s has %d bits", t, bits), bits,
			"vectorize by fewer lanes")
	}
}

// launchSize is the size of one launch.
type launchSize struct {
	threads map[string]int64 // extents of threadIdx.…
	shared  int64            // bytes
	largest *tir.Buffer      // of the shared memory
	warps   string           // the use of warps; "": none
	lanes   int64            // threads of a warp among which shuffles move values
	shuffle string           // the one of the most; "": none
	whole   string           // an intrinsic that takes whole warps; "": none
	doubled map[*tir.Buffer]bool
}

func (v *limits) kernel(s tir.Stmt, path string) {
	k := &launchSize{threads: map[string]int64{}, doubled: map[*tir.Buffer]bool{}}
	tir.Walk(s, func(node any) bool {
		switch n := node.(type) {
		case *tir.AttrStmt:
			if b, ok := n.Node.(*tir.Buffer); ok && n.Key == "double_buffer_scope" {
				k.doubled[b] = true
			}
		}
		return true
	})
	tir.Walk(s, func(node any) bool { v.look(k, node, path); return v.err == nil })
	v.threads(k, path)
	if k.shared > 0 {
		v.exceeded(path, "max_shared_memory_per_block",
			fmt.Sprintf("a block uses %d bytes of shared memory, most of it for buffer %s", k.shared, k.largest.Name),
			k.shared, "compute smaller tiles")
	}
	if v.err == nil {
		args := v.arguments(s)
		v.exceeded(path, "max_function_args", fmt.Sprintf("the kernel takes %d arguments (%s)", len(args),
			fewNames(args)), int64(len(args)),
			"read and write fewer tensors in one kernel")
	}
}

// look adds the needs of a node.
func (v *limits) look(k *launchSize, node any, path string) {
	switch n := node.(type) {
	case *tir.For:
		if n.Kind != tir.ThreadBind || !strings.HasPrefix(n.Thread, "threadIdx.") {
			return
		}
		low, _, ok := v.a.Bounds(n.Extent)
		if !ok {
			return
		}
		k.threads[n.Thread] = max(k.threads[n.Thread], low)
	case *tir.Call:
		if n.Kind == tir.CallIntrinsic && n.Name == "storage_sync" && len(n.Args) > 0 {
			if s, ok := n.Args[0].(*tir.StringImm); ok && s.Value == "warp" {
				k.warps = "threads of a warp wait for each other"
			}
		}
		k.shuffles(n)
		if tir.IsFragmentCall(n) {
			k.whole = n.Name
		}
	}
	_, buffers := tir.Bound(node)
	for _, b := range buffers {
		switch scope := b.StorageScope(); {
		case scope == "warp":
			k.warps = "memory of buffer " + b.Name + " is a warp's"
		case scarce(scope):
			bytes := bytesOf(b)
			if bytes == unknownBytes {
				if _, ok := v.of("max_shared_memory_per_block"); ok && v.err == nil {
					v.err = fmt.Errorf("at %s: the size of buffer %s in scope %q is not constant: shared memory is part of a "+
						"kernel: compute tiles of a constant size",
						path, b.Name, scope)
				}
				return
			}
			if k.doubled[b] {
				bytes *= 2
			}
			k.shared += bytes
			if k.largest == nil || bytesOf(k.largest) < bytesOf(b) {
				k.largest = b
			}
		}
	}
}

// shuffles adds the number of threads among which a shuffle moves a value: at least two.
func (k *launchSize) shuffles(n *tir.Call) {
	if !isShuffle(n) {
		return
	}
	lanes := int64(2)
	if c, constant := n.Args[1].(*tir.IntImm); constant && c.Value > 0 && c.Value < unknown {
		for lanes <= c.Value {
			lanes *= 2
		}
	}
	if lanes > k.lanes {
		k.lanes, k.shuffle = lanes, n.Name
	}
}

// threads checks the threads of a block.
func (v *limits) threads(k *launchSize, path string) {
	all, each := int64(1), []string{}
	for _, dim := range []string{"x", "y", "z"} {
		name := "threadIdx." + dim
		n := k.threads[name]
		if n == 0 {
			continue
		}
		all *= n
		each = append(each, fmt.Sprintf("%s %d", name, n))
		v.exceeded(path, "max_block_size_"+dim, fmt.Sprintf("a block has %d threads along %s", n, name), n,
			"bind a shorter loop to "+name)
	}
	asked := fmt.Sprintf("a block has %d threads (%s)", all, strings.Join(each, ", "))
	for _, attr := range []string{"max_threads_per_block", "max_num_threads"} {
		v.exceeded(path, attr, asked, all, "bind shorter loops to threads")
	}
	if w, ok := v.of("thread_warp_size"); ok && k.lanes > w && v.err == nil {
		v.err = fmt.Errorf("at %s: %s moves a value among %d threads of a warp, and thread_warp_size of target %s is %d: "+
			"use shared memory, shuffle among fewer threads (reduce_by_shuffle), or build for a target that has more, as in "+
			"{\"kind\": %q, \"thread_warp_size\": %d}", path, k.shuffle, k.lanes, v.t.Kind(), w, v.t.Kind(), k.lanes)
	}
	if w, ok := v.of("thread_warp_size"); ok && k.whole != "" && all%max(w, 1) != 0 && v.err == nil {
		v.err = fmt.Errorf("at %s: all threads of a warp execute %s, %s, and thread_warp_size of target %s is %d: bind "+
			"loops whose iterations are a multiple of it", path, k.whole, asked, v.t.Kind(), w)
	}
	if w, ok := v.of("thread_warp_size"); ok && k.warps != "" && v.err == nil {
		x := max(k.threads["threadIdx.x"], 1)
		switch {
		case w < 2:
			v.err = fmt.Errorf("at %s: %s, and thread_warp_size of target %s is %d: it has no warps: use scope \"shared\", "+
				"or build for a target that has "+
				"them, as in {\"kind\": %q, \"thread_warp_size\": 32}", path, k.warps, v.t.Kind(), w, v.t.Kind())
		case x%w != 0 && w%x != 0:
			v.err = fmt.Errorf("at %s: %s, and threadIdx.x has %d iterations, which end within a warp: thread_warp_size of "+
				"target "+
				"%s is %d: bind a loop to threadIdx.x "+
				"whose iterations are a multiple of it", path, k.warps, x, v.t.Kind(), w)
		}
	}
}

// arguments returns the arguments that the host passes to a kernel: tensors, and numbers.
func (v *limits) arguments(s tir.Stmt) (names []string) {
	defined, seen := map[*tir.Var]bool{}, map[*tir.Var]bool{}
	var order []*tir.Var
	called := map[*tir.Var]string{}
	use := func(x *tir.Var, name string) {
		if x != nil && !seen[x] {
			seen[x], called[x] = true, name
			order = append(order, x)
		}
	}
	var visit func(node any) bool
	buffer := func(b *tir.Buffer) {
		use(b.Data, b.Name)
		parts := b.Strides
		if parts == nil && len(b.Shape) > 0 {
			parts = b.Shape[1:]
		}
		if b.Offset != nil {
			parts = append(slices.Clone(parts), b.Offset)
		}
		for _, e := range parts {
			tir.Walk(e, visit)
		}
	}
	visit = func(node any) bool {
		switch n := node.(type) {
		case *tir.Var:
			use(n, n.Name)
		case *tir.BufferLoad:
			buffer(n.Buffer)
		case *tir.BufferStore:
			buffer(n.Buffer)
		case *tir.AttrStmt:
		default:
			vars, buffers := tir.Named(n)
			for _, x := range vars {
				use(x, x.Name)
			}
			for _, b := range buffers {
				buffer(b)
			}
		}
		vars, _ := tir.Bound(node)
		for _, x := range vars {
			defined[x] = true
		}
		return true
	}
	tir.Walk(s, visit)
	for _, x := range order {
		if !defined[x] {
			names = append(names, called[x])
		}
	}
	return names
}

// fewNames formats a list of names, and shortens a long one.
func fewNames(names []string) string {
	if len(names) > 8 {
		return strings.Join(names[:8], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}
