//go:build cgo

package te

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	_ "tvmgo/codegen/all"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/cudarun"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/spirvtest"
	"tvmgo/internal/testing/testseed"
	"tvmgo/runtime"
	_ "tvmgo/runtime/opencl"
	"tvmgo/target"
	"tvmgo/tir"
)

var (
	deviceSchedules = flag.Int("deviceschedules", 0, "how many schedules TestSchedule_RandomOnDevices runs on each "+
		"device; 0: few, and 400 with TVMGO_TEST_ALL")
	onlySchedule = flag.String("schedule", "", "the schedule that TestSchedule_RandomOnDevices runs alone, as a failure "+
		"prints it: computation/seed")
)

func TestMain(m *testing.M) { spirvtest.Main(m) }

// refusalsOfDevices are errors of builds for devices, for schedules that Lower accepted: they depend on the target.
var refusalsOfDevices = []string{
	"is part of a kernel: compute tiles of a constant size", // a variable in shared or local memory
	"is written by the host", "is read by the host",         // a copy outside of kernels
	"intrinsic prefetch", "split the loop by a constant, and bind the inner loop",
	"moves a value among", // threads, and the warp is smaller
}

// perModule is the number of schedules that are built together.
const perModule = 12

// TestSchedule_RandomOnDevices runs random schedules for GPUs on devices, and compares the results with those of the
// unscheduled computation in the interpreter.
func TestSchedule_RandomOnDevices(t *testing.T) {
	for _, kind := range []dlpack.DeviceType{dlpack.OpenCL, dlpack.Vulkan, dlpack.CUDA} {
		t.Run(kind.String(), func(t *testing.T) {
			count := map[dlpack.DeviceType]int{dlpack.OpenCL: 8, dlpack.Vulkan: 24, dlpack.CUDA: 12}[kind]
			if os.Getenv("TVMGO_TEST_ALL") != "" {
				count = 400
			}
			if *deviceSchedules > 0 {
				count = *deviceSchedules
			}
			d := &deviceRun{to: deviceTarget(t, kind), why: map[string]int{}, used: map[string]int{}}
			d.run(t, count)
			t.Logf("%d schedules ran; refused: %v; types: %v; primitives used: %v", d.ran, d.why, d.types(), d.used)
		})
	}
}

// deviceTarget is the target of a device that is here.
func deviceTarget(t *testing.T, kind dlpack.DeviceType) *target.Target {
	dev := dlpack.Device{Type: kind}
	if kind == dlpack.CUDA {
		cudarun.Use(t)
		return must.Get(target.New(`{"kind": "cuda", "arch": "sm_90", "host": "c"}`))(t)
	}
	if !runtime.DeviceExists(dev) {
		gputest.Missing(t, kind, fmt.Sprintf("there is no device %v", dev))
	}
	return must.Get(runtime.DetectTarget(dev))(t)
}

// deviceRun executes schedules on one device.
type deviceRun struct {
	to        *target.Target
	ran       int
	why, used map[string]int
	seen      map[tir.Type]int
}

func (d *deviceRun) types() (all []string) {
	for t, n := range d.seen {
		all = append(all, fmt.Sprintf("%s:%d", t, n))
	}
	slices.Sort(all)
	return all
}

// run draws schedules, alternately of the named workloads and of random ones, until count of them ran.
func (d *deviceRun) run(t *testing.T, count int) {
	t.Helper()
	d.seen = map[tir.Type]int{}
	first := testseed.Of(t) * 100_000
	var batch []*drawn
	for n := uint64(0); d.ran+len(batch) < count; n++ {
		x := d.next(t, first+n)
		if *onlySchedule != "" {
			x, count = d.named(t, *onlySchedule), 1
		}
		switch err := x.draw(); {
		case err == nil:
			batch = append(batch, x)
		case !d.refused(err):
			x.fail(t, err, (*drawn).draw)
			return
		}
		if len(batch) == perModule || d.ran+len(batch) >= count {
			d.runBatch(t, batch)
			batch = nil
			if t.Failed() {
				return
			}
		}
	}
}

// next is a schedule of a named workload, or three times in four of a random one.
func (d *deviceRun) next(t *testing.T, seed uint64) *drawn {
	t.Helper()
	w := randomWorkload(seed, true)
	if named := workloads[seed/4%uint64(len(workloads))]; seed%4 == 0 && named.name != "extern" {
		w = named // but the loop of extern is on the host
	}
	return &drawn{w: w, seed: seed, device: true, want: unscheduled(t, w)}
}

// named is the schedule that a failure printed.
func (d *deviceRun) named(t *testing.T, name string) *drawn {
	t.Helper()
	what, seed, ok := strings.Cut(name, "/")
	require.True(t, ok, name)
	var x drawn
	_, err := fmt.Sscan(seed, &x.seed)
	require.NoError(t, err, name)
	var n uint64
	if _, err := fmt.Sscanf(what, "network %d", &n); err == nil {
		x.w = randomWorkload(n, true)
	} else {
		i := slices.IndexFunc(workloads, func(w workload) bool { return w.name == what })
		require.GreaterOrEqual(t, i, 0, "there is no computation %q", what)
		x.w = workloads[i]
	}
	x.device, x.want = true, unscheduled(t, x.w)
	return &x
}

// refused reports whether an error is the answer to a schedule that is not legal, and counts it.
func (d *deviceRun) refused(err error) bool {
	var r refused
	if errors.As(err, &r) {
		d.why[r.why]++
		return true
	}
	for _, r := range refusalsOfDevices {
		if strings.Contains(err.Error(), r) {
			d.why[r]++
			return true
		}
	}
	return false
}

// runBatch runs schedules as one module. If it cannot be built, each runs in its own.
func (d *deviceRun) runBatch(t *testing.T, batch []*drawn) {
	t.Helper()
	which, err := d.build(t, batch)
	if err != nil && which == nil && len(batch) > 1 {
		for _, x := range batch {
			if d.runBatch(t, []*drawn{x}); t.Failed() {
				return
			}
		}
		return
	}
	if err != nil {
		if which == nil {
			which = batch[0]
		}
		if len(batch) == 1 && d.refused(err) {
			return
		}
		which.fail(t, err, func(x *drawn) error {
			if err := x.draw(); err != nil {
				return err
			}
			if _, err := d.build(t, []*drawn{x}); err != nil && d.refused(err) {
				return refused{err.Error()}
			} else {
				return err
			}
		})
		return
	}
	d.ran += len(batch)
	for _, x := range batch {
		for p, n := range x.d.used {
			d.used[p] += n
		}
		for _, a := range x.want {
			if m, ok := a.(*memory); ok {
				d.seen[m.typ]++
			}
		}
	}
}

// build builds and runs schedules, and returns the one that is wrong.
func (d *deviceRun) build(t *testing.T, batch []*drawn) (*drawn, error) {
	t.Helper()
	var funcs []*tir.PrimFunc
	for i, x := range batch {
		named := *x.f
		named.Name = fmt.Sprintf("f%d", i)
		funcs = append(funcs, &named)
	}
	m, err := tir.NewModule(funcs...)
	if err != nil {
		return nil, err
	}
	lib, err := codegen.Build(m, d.to)
	if err != nil {
		return nil, fmt.Errorf("build: %w", err)
	}
	defer lib.Close()
	if d.to.DeviceType() == dlpack.Vulkan {
		for _, shaders := range must.Get(lib.Imports())(t) {
			spirvtest.ValidateModule(t, shaders)
			require.NoError(t, shaders.Close())
		}
	}
	for i, x := range batch {
		if err := x.callCompiled(lib, funcs[i].Name, dlpack.Device{Type: d.to.DeviceType()}); err != nil {
			return x, fmt.Errorf("on %s: %w", d.to, err)
		}
	}
	return nil, nil
}

// launch binds a loop of each stage outside of kernels, so that all loops are in kernels.
func (d *drawer) launch() {
	for _, st := range d.stages() {
		if st.at != nil {
			continue
		}
		if !st.output && st.scope != "" && !d.scanned(st) {
			st.SetScope("global")
		}
		var bound, threads []*tir.IterVar
		for _, x := range st.leaves {
			if m := st.attrs[x]; m != nil && m.kind == tir.ThreadBind && !strings.HasPrefix(m.thread, "vthread") {
				bound = append(bound, x)
				if x.Kind == tir.IterData {
					threads = append(threads, x)
				}
			}
		}
		if len(bound) > len(threads) || len(bound) > 0 && d.IntN(4) == 0 {
			continue // threads of a reduction have their own rules
		}
		if len(bound) == 0 {
			threads = d.spread(st)
		}
		if len(threads) > 0 {
			order := append(threads, slices.DeleteFunc(st.Leaves(), func(x *tir.IterVar) bool {
				return slices.Contains(threads, x)
			})...)
			d.note("threads first", "%s %v", st.op.name, axisNames(order))
			st.Reorder(order...)
		}
	}
}

// spread binds a loop of a stage, or the two parts of one, or a loop of one iteration, to blocks and threads.
func (d *drawer) spread(st *Stage) []*tir.IterVar {
	name := st.op.name
	data := kindOnly(d.plain(st), tir.IterData)
	if update := st.ScanUpdate(); update != nil {
		_, independent := st.ScanTime()
		data = slices.DeleteFunc(data, func(x *tir.IterVar) bool { return !slices.Contains(independent, x) })
	}
	x, ok := pick(d, data)
	if !ok {
		d.note("bind", "%s: one iteration to blockIdx.x", name)
		x = st.UnitAxis("one")
		st.Bind(x, "blockIdx.x")
		return []*tir.IterVar{x}
	}
	if d.IntN(4) == 0 {
		d.note("bind", "%s.%s to blockIdx.y", name, x.Var.Name)
		st.Bind(x, "blockIdx.y")
		return []*tir.IterVar{x}
	}
	n := 1 + d.IntN(8)
	d.note("bind", "%s.%s, split by %d, to blockIdx.x and threadIdx.x", name, x.Var.Name, n)
	outer, inner := st.Split(x, n)
	st.Bind(outer, "blockIdx.x")
	st.Bind(inner, "threadIdx.x")
	return []*tir.IterVar{outer, inner}
}
