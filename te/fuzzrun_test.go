//go:build cgo

package te

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/tir"
	"tvmgo/tir/text"
)

// The size of a standard run.
const standardSchedules, standardNetworks = 100, 130

var (
	schedules = flag.Int("schedules", standardSchedules, "how many schedules of each computation TestSchedule_Random runs")
	networks  = flag.Int("networks", standardNetworks, "how many random computations TestSchedule_Random draws; a "+
		"tenth of -schedules of each")
)

// refusals are errors of Lower for schedules whose primitives were all accepted: they depend on the whole schedule.
var refusals = []string{
	"and the number must be constant", // of elements of swizzled rows
	"is not computed inside that axis", "no tensor can be computed inside it", "which is vectorized: reorder",
	"leave out parallel", "threads of a block: reorder", "where global memory is not available",
	"whose blocks are not synchronized", "iteration has separate", "shared memory does not outlive the kernel",
	"kernels can only exchange global memory", "is inlined, and has no loops", "no tensor reads it there",
	"but its extent", "extents that differ must be constant", "is not inside a loop whose next iteration",
	"want at most 1024", "its iterations do not follow each other", "computed inside the same axis, not earlier",
	"whose iterations are not synchronized: bind that to threadIdx", "of the reduction: reorder them",
	"must be constant: split it, and bind the inner axis", "and each iteration has separate",
	"but must be around the reduction: reorder them", "whose elements are distributed over",
	"its elements are distributed",
	"fuses the time with another axis", "fuses axes over time in another order", "over time is outside of axis",
	"is outside of the time", "inside the time, which other threads execute", "depends on earlier steps: compute it at",
	"but each step is stored", "it is stored in the memory of the result",
	"reads it, too: read the scan's result instead", "it is computed at an axis of another tensor",
	"each step reads earlier ones: leave it serial", "it is a scan, whose loops are those of its update",
	"the tensor is computed inline", "each iteration reads the same elements", "the axis is vectorized: take an outer one",
	"whose iterations run at the same time: take a serial one", "an iteration reads is not known",
	"it is computed inside the axis, in the iteration that reads it",
}

// refusalsOfPasses are errors of the passes for devices.
var refusalsOfPasses = []string{}

// refused is an error of Lower that refusals lists.
type refused struct{ why string }

func (r refused) Error() string { return r.why }

// drawn is a schedule that a seed determines.
type drawn struct {
	w      workload
	seed   uint64
	device bool         // for a device: all loops are in kernels
	skip   map[int]bool // steps that are left out to make a failing schedule smaller
	want   []any

	d     *drawer
	f     *tir.PrimFunc
	after *tir.PrimFunc // the function after the passes
	step  int

	vectors int // vector stores after the passes
}

// draw makes the schedule, and lowers it. Each step has its own random numbers, so that leaving one out changes the
// others as little as possible.
func (x *drawn) draw() error {
	outs, args := x.w.build()
	s, err := NewSchedule(outs...)
	if err != nil {
		return err
	}
	begin := rand.New(rand.NewPCG(x.seed, uint64(len(x.w.name))))
	x.d = &drawer{s: s, used: map[string]int{}, kernels: begin.IntN(2) == 0 || x.device,
		device: x.device}
	x.step = 0
	next := func(do func()) error {
		x.d.Rand = rand.New(rand.NewPCG(x.seed, uint64(1000+x.step)))
		if !x.skip[x.step] {
			do()
		}
		x.step++
		return s.Err()
	}
	steps := 2 + begin.IntN(14)
	if x.d.kernels && begin.IntN(2) == 0 {
		if err := next(func() { x.d.kernel(s.outputs[0]) }); err != nil {
			return err
		}
		steps = begin.IntN(6)
	}
	for range steps {
		if err := next(x.d.draw); err != nil {
			return err
		}
	}
	if x.device {
		if err := next(x.d.launch); err != nil {
			return err
		}
	}
	m, err := Lower(s, args, "f")
	if err != nil {
		for _, r := range refusals {
			if strings.Contains(err.Error(), r) {
				return refused{r}
			}
		}
		return err
	}
	x.f, x.after = m.Func("f"), nil
	return nil
}

// check runs the schedule, and compares the results with those of the unscheduled computation.
func (x *drawn) check() error {
	if err := x.draw(); err != nil {
		return err
	}
	got := x.w.call()
	if err := run(x.f, x.seed, got...); err != nil {
		return err
	}
	if err := x.compare(got); err != nil || x.seed%2 != 0 {
		return err
	}
	pass, run := passed, run
	if !forCPU(x.f) {
		pass, run = deviceForm, runAsIs
	}
	f, err := pass(x.f)
	if err != nil {
		for _, r := range refusalsOfPasses {
			if strings.Contains(err.Error(), r) {
				return refused{r}
			}
		}
		return err
	}
	x.after = f
	x.vectors = vectorStores(f)
	got = x.w.call()
	if err := run(f, x.seed, got...); err != nil {
		return fmt.Errorf("after the passes: %w\n%s", err, text.Print(f))
	}
	if err := x.compare(got); err != nil {
		return fmt.Errorf("after the passes: %w\n%s", err, text.Print(f))
	}
	return nil
}

func (x *drawn) compare(got []any) error {
	for _, r := range x.w.results {
		if err := differ(x.want[r].(*memory), got[r].(*memory)); err != nil {
			return fmt.Errorf("argument %d: %w", r, err)
		}
	}
	return nil
}

// differ compares results: integers exactly, floats up to the rounding errors of another order of additions.
func differ(want, got *memory) error {
	for i := range want.vals {
		w, g := want.vals[i], got.vals[i]
		if w.i != g.i || w.f != g.f && !(math.Abs(w.f-g.f) <= 1e-6*max(1, math.Abs(w.f))) {
			return fmt.Errorf("element %d is %v, want %v", i, g, w)
		}
	}
	return nil
}

// fail reports a failure, with a minimal set of steps. again reports whether a schedule still fails.
func (x *drawn) fail(t *testing.T, err error, again func(*drawn) error) {
	t.Helper()
	small := *x
	small.skip = map[int]bool{}
	for step := x.step - 1; step >= 0; step-- {
		small.skip[step] = true
		e := again(&small)
		if why := (refused{}); e == nil || errors.As(e, &why) {
			delete(small.skip, step)
		} else {
			err = e
		}
	}
	_ = again(&small)
	program := ""
	if small.f != nil {
		program = text.Print(small.f)
	}
	t.Errorf("%s/%d, without steps %v: %v\n%s\n%s", x.w.name, x.seed, slices.Sorted(maps.Keys(small.skip)), err,
		strings.Join(small.d.log, "\n"), program)
}

// floors are lower bounds for how often a run of the standard size uses each primitive in schedules that are executed.
var floors = map[string]int{"split": 800, "split into parts": 200, "fuse": 100, "reorder": 300, "tile": 100,
	"vectorize": 300, "unroll": 150, "parallel": 200,
	"bind": 400, "bind reduction": 120, "reduce_by_shuffle": 30, "rfactor": 50, "compute_inline": 200,
	"compute_at": 500, "cache_read": 200, "cache_write": 150, "set_scope": 50, "storage_align": 50, "storage_swizzle": 50,
	"double_buffer": 15, "prefetch": 30,
	"pipeline": 30,
	"pragma":   80}

func TestSchedule_Random(t *testing.T) {
	used, why := map[string]int{}, map[string]int{}
	ran, drew, vectors := 0, 0, 0
	all := slices.Clone(workloads)
	for i := range *networks {
		all = append(all, randomWorkload(uint64(i), false))
	}
	var compiled []*drawn
	for i, w := range all {
		want := unscheduled(t, w)
		each := *schedules
		if i >= len(workloads) {
			each = max(1, each/10)
		}
		for seed, left := uint64(0), each; left > 0 && seed < uint64(4*each); seed++ {
			drew++
			x := &drawn{w: w, seed: seed, want: want}
			err := x.check()
			var r refused
			if errors.As(err, &r) {
				why[r.why]++
				continue
			}
			if err != nil {
				x.fail(t, err, (*drawn).check)
				return
			}
			left--
			ran++
			vectors += x.vectors
			for p, n := range x.d.used {
				used[p] += n
			}
			if forCPU(x.f) && seed%6 == 0 {
				compiled = append(compiled, x)
			}
		}
	}
	t.Logf("%d schedules of %d computations were lowered and run, of %d that were drawn, seeds 0 and up of each, and "+
		"became %d stores of vectors; refused: %v; primitives used: %v", ran, len(all), drew, vectors, why, used)
	compileAndCompare(t, compiled)
	if *schedules < standardSchedules || *networks < standardNetworks {
		t.Logf("fewer schedules than in a standard run: the use of primitives is not checked")
		return
	}
	require.GreaterOrEqual(t, ran, 2000)
	for p, n := range floors {
		require.Greater(t, used[p], n, "no schedule that was run used %s", p)
	}
	require.Greater(t, vectors, 200, "of schedules that vectorize")
	require.Greater(t, ran, drew/2, "refused: %v", why)
}

// forCPU reports whether a function has no loops over device threads and no memory that such threads share.
func forCPU(f *tir.PrimFunc) bool {
	ok := true
	tir.Walk(f.Body, func(n any) bool {
		l, isLoop := n.(*tir.For)
		a, isAlloc := n.(*tir.Alloc)
		ok = ok && !(isLoop && l.Kind == tir.ThreadBind) && !(isAlloc && a.Buffer.StorageScope() == "shared")
		return ok
	})
	return ok
}
