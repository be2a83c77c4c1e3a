package te

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/tir"
	"tvmgo/tir/transform"
)

var seeds = flag.Int("seeds", 200, "how many schedules of each computation TestSchedule_Random draws")

// drawer draws primitives that are legal, as far as a primitive alone can be, and notes them.
type drawer struct {
	*rand.Rand
	s    *Schedule
	log  []string
	used map[string]int
}

func (d *drawer) note(primitive, format string, args ...any) {
	d.used[primitive]++
	d.log = append(d.log, primitive+" "+fmt.Sprintf(format, args...))
}

func pick[T any](d *drawer, all []T) (T, bool) {
	if len(all) == 0 {
		var none T
		return none, false
	}
	return all[d.IntN(len(all))], true
}

// stages are those with loops.
func (d *drawer) stages() []*Stage {
	return slices.DeleteFunc(d.s.Stages(), func(st *Stage) bool { return st.op.kind != opCompute || st.inlined })
}

// plain are the loops of which nothing has been said, and at which nothing is attached.
func (d *drawer) plain(st *Stage) []*tir.IterVar {
	return slices.DeleteFunc(st.Leaves(), func(x *tir.IterVar) bool {
		return st.marks[x] != nil || slices.ContainsFunc(d.s.stages, func(o *Stage) bool { return o.atAxis == x })
	})
}

func kindOnly(axes []*tir.IterVar, kind tir.IterKind) []*tir.IterVar {
	return slices.DeleteFunc(axes, func(x *tir.IterVar) bool { return x.Kind != kind })
}

func (d *drawer) readers(t *Tensor) []*Stage {
	return slices.DeleteFunc(d.s.Stages(), func(st *Stage) bool { return st.op.kind == opExtern || !slices.Contains(st.reads(), t) })
}

// draw tries one primitive.
func (d *drawer) draw() {
	st, ok := pick(d, d.stages())
	if !ok {
		return
	}
	name := st.op.name
	plain := d.plain(st)
	if len(st.rels) > 6 {
		return // many splits of little make many turns that do nothing
	}
	x, some := pick(d, plain)
	data := kindOnly(slices.Clone(plain), tir.IterData)
	y, someData := pick(d, data)
	switch d.IntN(18) {
	case 0, 1:
		if some {
			n := 1 + d.IntN(5)
			d.note("split", "%s.%s by %d", name, x.Var.Name, n)
			st.Split(x, n)
		}
	case 2:
		if some {
			n := 1 + d.IntN(4)
			d.note("split into parts", "%s.%s by %d", name, x.Var.Name, n)
			st.SplitParts(x, n)
		}
	case 3:
		i := slices.Index(st.leaves, x)
		if some && i+1 < len(st.leaves) && slices.Contains(plain, st.leaves[i+1]) && st.leaves[i+1].Kind == x.Kind {
			d.note("fuse", "%s.%s, %s", name, x.Var.Name, st.leaves[i+1].Var.Name)
			st.Fuse(x, st.leaves[i+1])
		}
	case 4, 5:
		order := st.Leaves()
		d.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		order = order[:d.IntN(len(order)+1)]
		if len(order) > 1 {
			d.note("reorder", "%s %v", name, axisNames(order))
			st.Reorder(order...)
		}
	case 6:
		if len(data) >= 2 {
			a, b := 1+d.IntN(4), 1+d.IntN(4)
			d.note("tile", "%s.%s %s by %d %d", name, data[0].Var.Name, data[1].Var.Name, a, b)
			st.Tile(data[0], data[1], a, b)
		}
	case 7:
		if someData && strings.HasSuffix(y.Var.Name, ".inner") {
			d.note("vectorize", "%s.%s", name, y.Var.Name)
			st.Vectorize(y)
		}
	case 8:
		if some && strings.HasSuffix(x.Var.Name, ".inner") {
			d.note("unroll", "%s.%s", name, x.Var.Name)
			st.Unroll(x)
		}
	case 9:
		if someData {
			d.note("parallel", "%s.%s", name, y.Var.Name)
			st.Parallel(y)
		}
	case 10:
		thread, _ := pick(d, []string{"blockIdx.x", "threadIdx.x", "threadIdx.y", "vthread"})
		taken := false
		for _, m := range st.marks {
			taken = taken || m.thread == thread
		}
		if someData && !taken {
			d.note("bind", "%s.%s to %s", name, y.Var.Name, thread)
			st.Bind(y, thread)
		}
	case 11:
		if !st.output && len(st.reduce) == 0 && !slices.ContainsFunc(d.s.stages, func(o *Stage) bool {
			return o.at == st || o.op.kind == opExtern && slices.Contains(o.op.inputs, st.Tensor())
		}) {
			d.note("compute_inline", "%s", name)
			st.ComputeInline()
		}
	case 12, 13, 14:
		d.attach(st)
	case 15:
		t, _ := pick(d, slices.Concat(func() (all []*Tensor) {
			for _, st := range d.s.stages {
				all = append(all, st.op.tensors...)
			}
			return all
		}()))
		readers := d.readers(t)
		if len(readers) == 0 || len(d.s.stages) > 9 {
			return
		}
		d.Shuffle(len(readers), func(i, j int) { readers[i], readers[j] = readers[j], readers[i] })
		readers = readers[:1+d.IntN(len(readers))]
		var tensors []*Tensor
		for _, r := range readers {
			tensors = append(tensors, r.Tensor())
		}
		scope, _ := pick(d, []string{"shared", "local", "global"})
		d.note("cache_read", "%s %s by %d", t.name, scope, len(readers))
		copied := d.s.Stage(d.s.CacheRead(t, scope, tensors...))
		if d.IntN(4) > 0 {
			d.attach(copied)
		}
	case 16:
		unchanged := len(st.rels)+len(st.marks)+len(st.aligns) == 0 && slices.Equal(st.leaves, append(slices.Clone(st.axes), st.reduce...))
		if unchanged && len(st.op.tensors) == 1 && !slices.ContainsFunc(d.s.stages, func(o *Stage) bool { return o.at == st }) && len(d.s.stages) < 9 {
			scope, _ := pick(d, []string{"shared", "local", "global"})
			d.note("cache_write", "%s %s", name, scope)
			cached := d.s.Stage(d.s.CacheWrite(st.Tensor(), scope))
			if d.IntN(4) > 0 {
				d.attach(cached)
			}
		}
	case 17:
		d.drawStorage(st)
	}
}

func (d *drawer) attach(st *Stage) {
	if st.output {
		return
	}
	targets := slices.DeleteFunc(d.stages(), func(o *Stage) bool { return o == st || !o.needs(st) || len(o.leaves) == 0 })
	if target, ok := pick(d, targets); ok {
		at, _ := pick(d, target.leaves)
		d.note("compute_at", "%s at %s.%s", st.op.name, target.op.name, at.Var.Name)
		st.ComputeAt(target, at)
	}
}

// kernel makes an output a kernel, and has threads fetch what it reads, and what that reads.
func (d *drawer) kernel(out *Stage) {
	all := out.Axes()
	for i, thread := range []string{"threadIdx.y", "threadIdx.x"} {
		if i >= len(all) {
			return
		}
		x, n := all[len(all)-1-i], 1+d.IntN(4)
		d.note("split", "%s.%s by %d", out.op.name, x.Var.Name, n)
		outer, inner := out.Split(x, n)
		d.note("bind", "%s.%s to %s", out.op.name, inner.Var.Name, thread)
		out.Bind(inner, thread)
		if i == 0 {
			if out.leaves[0] != outer {
				out.Reorder(outer, out.leaves[0])
			}
			out.Bind(outer, "blockIdx.x")
		}
	}
	for st := out; ; {
		reads := slices.DeleteFunc(st.reads(), func(t *Tensor) bool {
			return d.s.of[t.op].output || d.s.of[t.op].at != nil || d.s.of[t.op].op.kind == opExtern
		})
		t, ok := pick(d, reads)
		if !ok || d.IntN(4) == 0 {
			return
		}
		next := d.s.of[t.op]
		if next.op.kind == opPlaceholder {
			scope, _ := pick(d, []string{"shared", "local"})
			d.note("cache_read", "%s %s by %s", t.name, scope, st.op.name)
			next = d.s.Stage(d.s.CacheRead(t, scope, st.Tensor()))
		}
		at, _ := pick(d, st.leaves)
		d.note("compute_at", "%s at %s.%s", next.op.name, st.op.name, at.Var.Name)
		next.ComputeAt(st, at)
		if next.scope == "local" {
			return
		}
		if len(next.axes) > 0 {
			x, n := next.axes[d.IntN(len(next.axes))], 1+d.IntN(5)
			d.note("split", "%s.%s by %d", next.op.name, x.Var.Name, n)
			_, inner := next.Split(x, n)
			thread, _ := pick(d, []string{"threadIdx.x", "threadIdx.y"})
			d.note("bind", "%s.%s to %s", next.op.name, inner.Var.Name, thread)
			next.Bind(inner, thread)
			if d.IntN(2) == 0 {
				next.SetScope("shared")
			}
		}
		st = next
	}
}

func (d *drawer) drawStorage(st *Stage) {
	name := st.op.name
	x, ok := pick(d, st.leaves)
	if d.IntN(4) == 0 && ok {
		key := fmt.Sprintf("key%d", len(d.log))
		d.note("pragma", "%s.%s", name, x.Var.Name)
		st.Pragma(x, key, 1)
		return
	}
	if st.output {
		return
	}
	switch d.IntN(3) {
	case 0:
		scope, _ := pick(d, []string{"shared", "local", "global"})
		d.note("set_scope", "%s %s", name, scope)
		st.SetScope(scope)
	case 1:
		if len(st.axes) > 1 && len(st.aligns) == 0 {
			d.note("storage_align", "%s", name)
			st.StorageAlign(st.axes[d.IntN(len(st.axes)-1)], 8, d.IntN(8))
		}
	case 2:
		if st.at != nil {
			d.note("double_buffer", "%s", name)
			st.DoubleBuffer()
		}
	}
}

// refusals are the reasons why Lower may refuse what the primitives let pass: they can be seen in the whole schedule only.
var refusals = []string{"is not computed within that axis", "can have no tensor computed within", "which is vectorized: reorder", "leave out parallel",
	"threads within a block: reorder", "where global memory cannot be had", "whose blocks do not wait", "memory of its own",
	"shared memory ends with the kernel", "kernels read and write global memory alone", "is inlined, and has no loops", "nothing reads it there",
	"and its length", "lengths that differ have to be constant", "is in no loop whose next turn"}

func TestSchedule_Random(t *testing.T) {
	used := map[string]int{}
	lowered, refused := 0, map[string]int{}
	each, vectors := *seeds, 0
	for _, w := range workloads {
		want := unscheduled(t, w)
		for i := range each {
			seed := uint64(i)
			d := &drawer{Rand: rand.New(rand.NewPCG(seed, uint64(len(w.name)))), used: map[string]int{}}
			outs, args := w.build()
			d.s = schedule(t, outs...)
			what := func() string { return fmt.Sprintf("%s, seed %d:\n%s", w.name, seed, strings.Join(d.log, "\n")) }
			steps := 2 + d.IntN(14)
			if i%3 == 0 {
				d.kernel(d.s.outputs[0])
				steps = d.IntN(6)
			}
			for range steps {
				d.draw()
				require.NoError(t, d.s.Err(), what())
			}
			require.NoError(t, d.s.Err(), what())
			m, err := Lower(d.s, args, "f")
			if err != nil {
				why := slices.IndexFunc(refusals, func(r string) bool { return strings.Contains(err.Error(), r) })
				require.GreaterOrEqual(t, why, 0, "%v\n%s", err, what())
				refused[refusals[why]]++
				continue
			}
			lowered++
			for p, n := range d.used {
				used[p] += n
			}
			got := w.call()
			require.NoError(t, run(m.Func("f"), seed, got...), "%s\n%s", what(), tir.Print(m))
			for _, r := range w.results {
				same(t, want[r].(*memory), got[r].(*memory), what())
			}
			passed := m
			for _, pass := range transform.ForC() {
				passed, err = pass(passed, nil)
				require.NoError(t, err, what())
			}
			vectors += vectorStores(passed)
			got = w.call()
			require.NoError(t, run(passed.Func("f"), seed, got...), "%s\n%s\n%s", what(), tir.Print(m), tir.Print(passed))
			for _, r := range w.results {
				same(t, want[r].(*memory), got[r].(*memory), what()+"\nafter the passes:\n"+tir.Print(passed))
			}
		}
	}
	t.Logf("%d schedules of %d were lowered and run, and became %d stores of vectors; seeds 0 to %d of each computation; refused: %v; primitives used: %v", lowered,
		each*len(workloads), vectors, each-1, refused, used)
	require.Positive(t, vectors, "no schedule that was run has become vectors")
	for _, p := range []string{"split", "split into parts", "fuse", "reorder", "tile", "vectorize", "unroll", "parallel", "bind", "compute_inline",
		"compute_at", "cache_read", "cache_write", "set_scope", "storage_align", "double_buffer", "pragma"} {
		require.Positive(t, used[p], "no schedule that was run used %s", p)
	}
	require.Greater(t, lowered, each*len(workloads)/2, "refused: %v", refused)
}

// vectorStores counts stores of vectors.
func vectorStores(m *tir.IRModule) (n int) {
	tir.Walk(m, func(node any) bool {
		if s, ok := node.(*tir.BufferStore); ok && s.Value.DType().Lanes > 1 {
			n++
		}
		return true
	})
	return n
}

// same compares results: ints exactly, floats within what another order of additions may change.
func same(t *testing.T, want, got *memory, what string) {
	t.Helper()
	for i := range want.vals {
		w, g := want.vals[i], got.vals[i]
		if w.i != g.i || math.Abs(w.f-g.f) > 1e-6*max(1, math.Abs(w.f)) {
			require.Fail(t, "wrong result", "element %d is %v, want %v\n%s", i, g, w, what)
		}
	}
}
