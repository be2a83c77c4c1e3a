package suite

import (
	"context"
	"fmt"
	"strings"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// chain is the number of launches of a chain.
const chain = 1000

// Launch returns the cases of suite launch: what it costs to launch a kernel, to call a function, to wait, and to
// allocate memory. All of them are latencies in µs, by the wall clock of the host.
func Launch() []*bench.Case {
	list := []*bench.Case{
		launchCase("kernel_launch_latency", "launch an empty kernel and wait for it", openRoundTrip),
		launchCase("kernel_launch_queued", "launch an empty kernel, with one wait after many launches", openQueued),
		launchCase("kernel_launch_chain_1000", "one of 1000 launches, each of which depends on the one before", openChain),
		launchCase("graph_launch_chain_1000", "one of the same 1000 launches, replayed as a graph", openGraph),
		launchCase("function_call", "call a generated function: on a GPU, it launches an empty kernel", openFunction),
		launchCase("parallel_launch", "run an almost empty parallel loop on all threads of the CPU", openParallel),
		launchCase("stream_sync_idle", "wait for a stream that has nothing to do", openIdleSync),
		launchCase("stream_wait_stream", "make a stream wait for another one, without waiting on the host", openStreamWait),
	}
	return append(list, allocations()...)
}

func launchCase(name, doc string, open opener) *bench.Case {
	return &bench.Case{Suite: "launch", Name: name, Doc: doc, Figure: bench.Time, Variants: variant(open)}
}

// launcher has the kernels of suite launch, and the element of device memory that they write.
type launcher struct {
	on               *bench.Device
	x                *runtime.Tensor
	empty, increment *runtime.Kernel
	seed             int
}

// openLauncher builds the kernels for a device.
func openLauncher(on *bench.Device, r *resources) (*launcher, error) {
	if on.Handle.Type == dlpack.CPU {
		return nil, notMeasured("a CPU has no kernels: launch/function_call measures a call of generated code")
	}
	program, err := launchProgram(on.Handle.Type, 0)
	if err != nil {
		return nil, err
	}
	m, err := keep(build(on, program))(r)
	if err != nil {
		return nil, err
	}
	l := &launcher{on: on}
	if l.empty, err = keep(m.Kernel("empty_kernel"))(r); err != nil {
		return nil, err
	}
	if l.increment, err = keep(m.Kernel("increment_kernel"))(r); err != nil {
		return nil, err
	}
	l.x, err = keep(runtime.NewTensor(dlpack.Int32, []int64{1}, on.Handle))(r)
	return l, err
}

// launchEmpty queues the empty kernel on the default stream. It writes n if that is not 0.
func (l *launcher) launchEmpty(n int) error {
	return l.empty.Launch(nil, runtime.Dim3{1}, runtime.Dim3{1}, l.x, n)
}

// queueChain queues 1000 increments of the element.
func (l *launcher) queueChain(s *runtime.Stream) error {
	for range chain {
		if err := l.increment.Launch(s, runtime.Dim3{1}, runtime.Dim3{1}, l.x); err != nil {
			return err
		}
	}
	return nil
}

// expect compares the element with what it should be.
func (l *launcher) expect(want int, after string) error { return expect(l.x, want, after) }

func (l *launcher) set(n int) error { return runtime.CopyFrom(l.x, []int32{int32(n)}) }

// expect compares every element of a tensor with a number.
func expect(x *runtime.Tensor, want int, after string) error {
	got, err := runtime.ToSlice[int32](x)
	if err != nil {
		return err
	}
	for i, v := range got {
		if v != int32(want) {
			return wrong("after %s, element %d is %d instead of %d", after, i, v, want)
		}
	}
	return nil
}

// checkEmpty calls launch, which launches the empty kernel with n: only if n is not 0, it writes n.
func (l *launcher) checkEmpty(launch func(n int) error) (string, error) {
	for range 3 {
		l.seed++
		before, n := -l.seed, 1000+l.seed
		if err := l.set(before); err != nil {
			return "", err
		}
		if err := launch(0); err != nil {
			return "", err
		}
		if err := l.expect(before, "a launch that should do nothing"); err != nil {
			return "", err
		}
		if err := launch(n); err != nil {
			return "", err
		}
		if err := l.expect(n, "a launch"); err != nil {
			return "", err
		}
	}
	return "the kernel writes a number when asked to", nil
}

// waitDefault waits for the default stream of a device. Unlike a wait with a context that can end, it uses no
// goroutine.
func waitDefault(on *bench.Device) func(context.Context) error {
	return func(ctx context.Context) error { return runtime.SyncDevice(context.WithoutCancel(ctx), on.Handle) }
}

func openRoundTrip(_ context.Context, on *bench.Device, r *resources) (bench.Work, error) {
	l, err := openLauncher(on, r)
	if err != nil {
		return nil, err
	}
	trip := func(n int) error {
		if err := l.launchEmpty(n); err != nil {
			return err
		}
		return runtime.SyncDevice(context.Background(), on.Handle)
	}
	return &latency{resources: r, operation: func() error { return trip(0) },
		check: func(context.Context) (string, error) { return l.checkEmpty(trip) }}, nil
}

func openQueued(_ context.Context, on *bench.Device, r *resources) (bench.Work, error) {
	l, err := openLauncher(on, r)
	if err != nil {
		return nil, err
	}
	return &latency{resources: r, operation: func() error { return l.launchEmpty(0) }, wait: waitDefault(on),
		check: func(context.Context) (string, error) { return l.checkEmpty(l.launchEmpty) }}, nil
}

// countChain runs 1000 increments by run and counts them, twice.
func (l *launcher) countChain(run func() error, wait func() error) (string, error) {
	l.seed++
	if err := l.set(l.seed); err != nil {
		return "", err
	}
	for i := range 2 {
		if err := run(); err != nil {
			return "", err
		}
		if err := wait(); err != nil {
			return "", err
		}
		if err := l.expect(l.seed+(i+1)*chain, fmt.Sprint((i+1)*chain, " increments of ", l.seed)); err != nil {
			return "", err
		}
	}
	return "2 × 1000 increments are counted", nil
}

// chains is a chain on a stream of its own.
func (l *launcher) chains(r *resources, s *runtime.Stream, run func() error) *latency {
	wait := func() error { return s.Sync(context.Background()) }
	return &latency{resources: r, operation: run, parts: chain, wait: func(context.Context) error { return wait() },
		check: func(context.Context) (string, error) { return l.countChain(run, wait) }}
}

func openChain(_ context.Context, on *bench.Device, r *resources) (bench.Work, error) {
	l, err := openLauncher(on, r)
	if err != nil {
		return nil, err
	}
	s, err := keep(runtime.NewStream(on.Handle))(r)
	if err != nil {
		return nil, err
	}
	return l.chains(r, s, func() error { return l.queueChain(s) }), nil
}

func openGraph(_ context.Context, on *bench.Device, r *resources) (bench.Work, error) {
	l, err := openLauncher(on, r)
	if err != nil {
		return nil, err
	}
	s, err := keep(runtime.NewStream(on.Handle))(r)
	if err != nil {
		return nil, err
	}
	if err := l.launchEmpty(0); err != nil { // loads the kernels
		return nil, err
	}
	if err := l.increment.Launch(nil, runtime.Dim3{1}, runtime.Dim3{1}, l.x); err != nil {
		return nil, err
	}
	if err := runtime.SyncDevice(context.Background(), on.Handle); err != nil {
		return nil, err
	}
	g, err := keep(s.Capture(func() error { return l.queueChain(s) }))(r)
	if err != nil {
		return nil, err
	}
	return l.chains(r, s, func() error { return g.Launch(s) }), nil
}

// hostFunction builds the programs of this suite for a device, and returns one of their host functions.
func hostFunction(on *bench.Device, name string, tasks int, r *resources) (*runtime.Function, error) {
	if err := needCompiler(); err != nil {
		return nil, err
	}
	program, err := launchProgram(on.Handle.Type, tasks)
	if err != nil {
		return nil, err
	}
	m, err := keep(build(on, program))(r)
	if err != nil {
		return nil, err
	}
	return keep(m.Function(name))(r)
}

// openFunction binds a generated host function, so that a call has no conversion of arguments.
func openFunction(_ context.Context, on *bench.Device, r *resources) (bench.Work, error) {
	f, err := hostFunction(on, "empty", 1, r)
	if err != nil {
		return nil, err
	}
	l := &launcher{on: on}
	if l.x, err = keep(runtime.NewTensor(dlpack.Int32, []int64{1}, on.Handle))(r); err != nil {
		return nil, err
	}
	b, err := keep(f.Bind(l.x, 0))(r)
	if err != nil {
		return nil, err
	}
	call := func(n int) error {
		if n == 0 {
			return b.Call()
		}
		_, err := f.Call(l.x, n)
		return err
	}
	return &latency{resources: r, operation: b.Call, wait: waitDefault(on),
		check: func(context.Context) (string, error) {
			how, err := l.checkEmpty(call)
			return strings.Replace(how, "kernel", "function", 1), err
		}}, nil
}

func openParallel(_ context.Context, on *bench.Device, r *resources) (bench.Work, error) {
	if on.Handle.Type != dlpack.CPU {
		return nil, notMeasured("only code for a CPU has parallel loops")
	}
	tasks := runtime.NumThreads()
	f, err := hostFunction(on, "parallel_increment", tasks, r)
	if err != nil {
		return nil, err
	}
	x, err := keep(runtime.NewTensor(dlpack.Int32, []int64{int64(tasks)}, on.Handle))(r)
	if err != nil {
		return nil, err
	}
	b, err := keep(f.Bind(x))(r)
	if err != nil {
		return nil, err
	}
	return &latency{resources: r, operation: b.Call, check: func(context.Context) (string, error) {
		if err := runtime.CopyFrom(x, make([]int32, tasks)); err != nil {
			return "", err
		}
		for range chain {
			if err := b.Call(); err != nil {
				return "", err
			}
		}
		return fmt.Sprintf("1000 increments by each of %d tasks are counted", tasks), expect(x, chain, "1000 increments")
	}}, nil
}

func openIdleSync(_ context.Context, on *bench.Device, r *resources) (bench.Work, error) {
	if on.Handle.Type == dlpack.CPU {
		return nil, notMeasured("the caller executes code for a CPU: there is nothing to wait for")
	}
	l, err := openLauncher(on, r)
	if err != nil {
		return nil, err
	}
	s, err := keep(runtime.NewStream(on.Handle))(r)
	if err != nil {
		return nil, err
	}
	sync := func() error { return s.Sync(context.Background()) }
	return &latency{resources: r, operation: sync, check: func(context.Context) (string, error) {
		return l.countChain(func() error { return l.queueChain(s) }, sync)
	}}, nil
}

// openStreams makes two streams, which must be two queues of the device.
func openStreams(on *bench.Device, r *resources) (a, b *runtime.Stream, err error) {
	if a, err = keep(runtime.NewStream(on.Handle))(r); err != nil {
		return nil, nil, err
	}
	if b, err = keep(runtime.NewStream(on.Handle))(r); err != nil {
		return nil, nil, err
	}
	if a.Handle() == b.Handle() {
		return nil, nil, notMeasured("all streams of %s are one queue", on.Name)
	}
	return a, b, nil
}

func openStreamWait(_ context.Context, on *bench.Device, r *resources) (bench.Work, error) {
	a, b, err := openStreams(on, r)
	if err != nil {
		return nil, err
	}
	l, err := openLauncher(on, r)
	if err != nil {
		return nil, err
	}
	wait := func() error { return b.Sync(context.Background()) }
	return &latency{resources: r, operation: func() error { return b.WaitFor(a) },
		wait: func(context.Context) error { return wait() },
		check: func(context.Context) (string, error) { // half of the increments by each stream
			return l.countChain(func() error {
				for i := range chain {
					s := a
					if i >= chain/2 {
						s = b
					}
					if i == chain/2 {
						if err := b.WaitFor(a); err != nil {
							return err
						}
					}
					if err := l.increment.Launch(s, runtime.Dim3{1}, runtime.Dim3{1}, l.x); err != nil {
						return err
					}
				}
				return nil
			}, wait)
		}}, nil
}
