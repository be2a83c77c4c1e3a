package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
	"tvmgo/tir/transform"
)

// Options are the options of a report.
type Options struct {
	Sizes     map[string]int64     // values of the sizes that the program leaves open, by their names
	Resources map[string]Resources // of kernels, by their names, if they are known
}

// Kernels reports the figures of kernels that transform.ForDevice made for a target. It fails if there are none, or if
// a size is given that no kernel has or that is too large.
func Kernels(kernels []*tir.PrimFunc, t *target.Target, o Options) (*Report, error) {
	if len(kernels) == 0 {
		return nil, fmt.Errorf("the program has no kernels for kind %q: bind loops to blockIdx and threadIdx, for example "+
			"by ops.Schedule for this target", t.Kind())
	}
	r := &Report{Target: t.String(), WarpSize: warpSize(t), Sizes: o.Sizes, Kernels: []*Kernel{}}
	if err := checkSizes(kernels, o.Sizes); err != nil {
		return nil, err
	}
	sm := capability(t)
	if p, ok := peaks[sm]; ok {
		r.Machine = p.name
	}
	r.note(t, sm)
	for _, f := range kernels {
		r.Kernels = append(r.Kernels, explain(f, t, sm, r.WarpSize, o))
	}
	return r, nil
}

// maxSize is the largest size whose multiples, addresses and numbers of blocks, fit into 64 bits.
const maxSize = 1 << 40

// checkSizes returns an error for a size that no kernel has, or that is no value of its type.
func checkSizes(kernels []*tir.PrimFunc, sizes map[string]int64) error {
	types := map[string]tir.Type{}
	for _, f := range kernels {
		for _, p := range sizeParams(f) {
			if t, ok := types[p.Name]; !ok || p.Type.Bits < t.Bits {
				types[p.Name] = p.Type
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		n := sizes[name]
		t, ok := types[name]
		switch {
		case !ok && len(types) == 0:
			return fmt.Errorf("size %s=%d: the kernels have no open sizes", name, n)
		case !ok:
			return fmt.Errorf("size %s=%d: the kernels have no size of this name, but %s", name, n,
				strings.Join(slices.Sorted(maps.Keys(types)), ", "))
		case n < 0:
			return fmt.Errorf("size %s=%d: it is negative", name, n)
		case t.Bits < 64 && n > 1<<(t.Bits-1)-1:
			return fmt.Errorf("size %s=%d: it is of type %s, whose largest value is %d", name, n, t, int64(1)<<(t.Bits-1)-1)
		case n > maxSize:
			return fmt.Errorf("size %s=%d: figures are for sizes up to %d", name, n, int64(maxSize))
		}
	}
	return nil
}

// warpSize returns the number of threads of a warp: 1 if the target has none.
func warpSize(t *target.Target) int {
	n, err := target.Get[int64](t, "thread_warp_size")
	if err != nil || n < 1 || n > 1024 {
		return 1
	}
	return int(n)
}

func (r *Report) note(t *target.Target, sm int) {
	if r.WarpSize == 1 {
		r.Notes = append(r.Notes, fmt.Sprintf("the target has thread_warp_size 1: requests are those of single threads; "+
			`for a GPU give its size, as in {"kind": %q, "thread_warp_size": 32}`, t.Kind()))
	}
	if _, known := multiprocessors[sm]; sm != 0 && !known {
		r.Notes = append(r.Notes, fmt.Sprintf("there is no table of sm_%d: occupancy is not known", sm))
	}
	if sm != 0 && r.Machine == "" {
		r.Notes = append(r.Notes, fmt.Sprintf("there are no peak figures of sm_%d: the bound is not known", sm))
	}
}

// sizeParams are the integer parameters of a kernel.
func sizeParams(f *tir.PrimFunc) (all []*tir.Var) {
	for _, p := range f.Params {
		if f.Buffers[p] == nil && tir.IsInt(p.Type) {
			all = append(all, p)
		}
	}
	return all
}

// simulation is the state of a report of one kernel.
type simulation struct {
	f          *tir.PrimFunc
	env        map[*tir.Var]lanes // of the sizes
	axes       []axis
	body       tir.Stmt
	sites      []*site
	byNode     map[siteKey]*site
	paths      map[any]string
	operations map[string]float64
	estimated  bool
	multiples  arith.Multiples // of the variables of lets
}

type siteKey struct {
	node  any
	store bool
}

// axis is an index of threads with its extent.
type axis struct {
	tag    string
	v      *tir.Var
	extent tir.Expr
	n      lanes
}

// site returns the site of an access; nil if the report does not have its scope.
func (k *simulation) site(node any, b *tir.Buffer, indices []tir.Expr, store bool) *site {
	key := siteKey{node, store}
	if s := k.byNode[key]; s != nil {
		return s
	}
	scope := b.StorageScope()
	if !watched(scope) {
		return nil
	}
	if isShared(scope) {
		scope = "shared"
	}
	s := &site{node: node, store: store, buffer: b, Access: &Access{Buffer: b.Name, Scope: scope, Op: "load",
		Index: indexText(b, indices), Path: k.paths[node]}}
	if store {
		s.Op = "store"
	}
	k.byNode[key] = s
	k.sites = append(k.sites, s)
	return s
}

func indexText(b *tir.Buffer, indices []tir.Expr) string {
	all := make([]string, len(indices))
	for i, x := range indices {
		all[i] = text.Print(x)
	}
	return b.Name + "[" + strings.Join(all, ", ") + "]"
}

func explain(f *tir.PrimFunc, t *target.Target, sm, warpSize int, o Options) *Kernel {
	k := &simulation{f: f, env: map[*tir.Var]lanes{}, byNode: map[siteKey]*site{}, paths: map[any]string{},
		operations: map[string]float64{}}
	out := &Kernel{Name: f.Name, GridText: [3]string{"1", "1", "1"}, Accesses: []*Access{}}
	used := map[any]bool{}
	tir.WalkPaths(f, func(node any, path func() string) bool {
		switch n := node.(type) {
		case *tir.BufferLoad, *tir.BufferStore:
			if _, seen := k.paths[n]; !seen {
				k.paths[n] = path()
			}
		case *tir.Var:
			used[n] = true
		case *tir.For:
			if n.Kind == tir.ThreadBind {
				k.axes = append(k.axes, axis{tag: n.Thread, v: n.Var, extent: n.Extent})
			}
		case *tir.Alloc:
			if isShared(n.Buffer.StorageScope()) {
				k.shared(out, n.Buffer)
			}
		}
		return true
	})
	for _, p := range sizeParams(f) {
		if n, given := o.Sizes[p.Name]; given {
			k.env[p] = same(n)
		} else if used[p] {
			out.UnknownSizes = append(out.UnknownSizes, p.Name)
		}
	}
	k.launch(out)
	if r, ok := o.Resources[f.Name]; ok {
		out.Resources = &r
	}
	if len(out.UnknownSizes) > 0 {
		k.assume(out, warpSize)
	} else if out.Grid != nil && out.ThreadsPerBlock > 0 {
		k.run(out, out.Block, warpSize)
		k.work(out, sm)
	}
	k.hold(out, t, sm)
	return out
}

// shared adds the memory of a buffer.
func (k *simulation) shared(out *Kernel, b *tir.Buffer) {
	n := elementBytes(b)
	for i, size := range b.Shape {
		if b.Strides != nil && i == 0 {
			if stride, ok := b.Strides[0].(*tir.IntImm); ok {
				n *= stride.Value
			}
		}
		c, ok := size.(*tir.IntImm)
		if !ok {
			out.Notes = append(out.Notes, "the size of the shared buffer "+b.Name+" is not constant")
			return
		}
		if n *= c.Value; b.Strides != nil {
			break
		}
	}
	out.SharedBytes += n
}

// launch finds the sizes of grid and block.
func (k *simulation) launch(out *Kernel) {
	w := &warp{k: k, threads: 1, env: maps.Clone(k.env)}
	s := k.f.Body
	for done := false; !done; { // numbers of narrow types are converted around the loops
		switch x := s.(type) {
		case *tir.LetStmt:
			w.env[x.Var] = w.eval(x.Value, 0)
			s = x.Body
		case *tir.AttrStmt:
			s = x.Body
		case *tir.Alloc:
			s = x.Body
		case *tir.For:
			done = x.Kind != tir.ThreadBind
			s = x.Body
		default:
			done = true
		}
	}
	grid, block := []int64{1, 1, 1}, []int64{1, 1, 1}
	gridKnown, blockKnown := true, true
	for i, a := range k.axes {
		k.axes[i].n = w.eval(a.extent, 0)
		n := k.axes[i].n
		dim := strings.IndexByte("xyz", a.tag[len(a.tag)-1])
		if dim < 0 {
			continue
		}
		if strings.HasPrefix(a.tag, "blockIdx.") {
			out.GridText[dim] = text.Print(a.extent)
			grid[dim], gridKnown = n.one, gridKnown && n.known
		} else {
			block[dim], blockKnown = n.one, blockKnown && n.known
		}
	}
	if gridKnown {
		out.Grid = grid
	}
	if blockKnown {
		out.Block = block
		out.ThreadsPerBlock = block[0] * block[1] * block[2]
	}
}

// assumedSize is the value of unknown sizes for the figures of requests.
const assumedSize = 1024

// assume finds sectors and bank conflicts of a kernel with unknown sizes, for sizes that it assumes.
func (k *simulation) assume(out *Kernel, warpSize int) {
	given := make([]string, len(out.UnknownSizes))
	for i, name := range out.UnknownSizes {
		given[i] = fmt.Sprintf("%s=%d", name, assumedSize)
		for _, p := range sizeParams(k.f) {
			if p.Name == name {
				k.env[p] = same(assumedSize)
			}
		}
	}
	all := strings.Join(given, ",")
	out.Notes = append(out.Notes, fmt.Sprintf("sizes are not known: sectors and conflicts are those of %s; for bytes and "+
		"operations give sizes, as in --sizes %s", all, all))
	var assumed Kernel
	k.launch(&assumed)
	if assumed.Grid != nil && assumed.ThreadsPerBlock > 0 {
		k.run(out, assumed.Block, warpSize)
	}
	for _, a := range out.Accesses {
		a.Requests = 0
	}
}

// hold compares the kernel with the machine: occupancy, or the limits of the target.
func (k *simulation) hold(out *Kernel, t *target.Target, sm int) {
	if _, ok := multiprocessors[sm]; ok && out.ThreadsPerBlock > 0 {
		registers := int64(0)
		if out.Resources != nil {
			registers = out.Resources.Registers
		}
		out.Occupancy = occupancy(sm, out.ThreadsPerBlock, registers, out.SharedBytes)
		if p, ok := peaks[sm]; ok && out.Grid != nil && out.Occupancy.Blocks > 0 {
			blocks := out.Grid[0] * out.Grid[1] * out.Grid[2]
			out.Occupancy.Waves = float64(blocks) / float64(p.sms*out.Occupancy.Blocks)
		}
		return
	}
	for _, l := range []struct {
		attribute string
		used      int64
	}{{"max_threads_per_block", out.ThreadsPerBlock}, {"max_num_threads", out.ThreadsPerBlock},
		{"max_shared_memory_per_block", out.SharedBytes}} {
		if n, err := target.Get[int64](t, l.attribute); err == nil && n > 0 {
			out.Limits = append(out.Limits, Limit{l.attribute, l.used, n})
		}
	}
	if len(out.Limits) == 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("the target has no limits (max_threads_per_block, "+
			"max_shared_memory_per_block) to compare with: set them, or name a model with tvmgo target"))
	}
}

// IsKernel reports whether a function is one that Kernels accepts.
func IsKernel(f *tir.PrimFunc) bool { return transform.IsKernel(f) }
