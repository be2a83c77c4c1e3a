package suite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"tvmgo/bench"
	"tvmgo/bench/facts"
	"tvmgo/bench/operators"
	"tvmgo/codegen"
	"tvmgo/internal/memory"
	"tvmgo/runtime"
	"tvmgo/tir"
)

// Kernels returns the cases of suite kernels: operators of package te/ops, scheduled and built for the target of the
// device. The amounts are those of the operator: each element of an array is read or written once.
func Kernels(o Options) (list []*bench.Case) { return kernelsOf(operators.All(), o) }

// kernelsOf returns a case for each operator.
func kernelsOf(all []*operators.Operator, o Options) (list []*bench.Case) {
	e := &estimates{longest: o.Longest, seconds: map[estimate]float64{}}
	if e.longest == 0 {
		e.longest = DefaultLongest
	}
	isCase := map[string]bool{}
	for _, k := range append(Bandwidth(), Compute()...) {
		isCase[k.Family], isCase[k.ID()] = true, true
	}
	for _, op := range all {
		if o.Largest > 0 && op.Size > o.Largest {
			continue
		}
		k := &bench.Case{Suite: "kernels", Name: op.Name, Doc: op.Doc, Figure: bench.Bandwidth}
		s := op.Shapes()
		written := s[len(s)-1].Bytes()
		k.Limits = BandwidthLimits(float64(op.Bytes()-written), float64(written))
		if !op.Moves {
			k.Figure = bench.Flops
		}
		if op.Ops > 0 {
			k.Limits = append(k.Limits, FP32)
			if op.Type == tir.Float16 {
				k.Limits = append(k.Limits, FP16, FP16MatrixFP32) // the highest that the device has
			}
		}
		k.Limits = slices.DeleteFunc(k.Limits, func(id string) bool { return !isCase[id] })
		k.Variants = e.variant("", op, openGenerated)
		if op.Size > 0 {
			k.Variants = append(k.Variants, e.libraries(op)...)
		}
		list = append(list, k)
	}
	return list
}

// binder prepares an execution of an operator on arrays. call queues it on the default stream of the device; what it
// owns is added to r.
type binder func(ctx context.Context, on *bench.Device, a *operators.Arrays, r *resources) (call func() error,
	known bench.Facts, err error)

// estimates has the times of executions, from which those of larger ones are estimated.
type estimates struct {
	longest time.Duration
	lock    sync.Mutex
	seconds map[estimate]float64 // of an operation of an operator
}

// estimate is a way to execute operators of one kind on a device.
type estimate struct{ device, variant, probe string }

// executions is the number of executions of a slow operator in a run: to check, to warm up, and the least number of
// rounds.
const executions = 4 + bench.LeastRounds

// variant returns a way to execute an operator.
func (e *estimates) variant(name string, op *operators.Operator, bind binder) []bench.Variant {
	list := variant(func(ctx context.Context, on *bench.Device, r *resources) (bench.Work, error) {
		if err := needArrays(on, op); err != nil {
			return nil, err
		}
		key := estimate{on.Name, name, op.Name}
		if p := op.Probe(); p != nil {
			key.probe = p.Name
			if err := e.bound(ctx, on, key, op, p, bind); err != nil {
				return nil, err
			}
		}
		return e.open(ctx, on, key, op, bind, r)
	})
	list[0].Name = name
	return list
}

// bound returns an ErrNotMeasured if the row would take longer than the bound.
func (e *estimates) bound(ctx context.Context, on *bench.Device, key estimate, op, probe *operators.Operator,
	bind binder) error {
	e.lock.Lock()
	each, known := e.seconds[key]
	e.lock.Unlock()
	if !known {
		r := &resources{}
		w, err := e.open(ctx, on, key, probe, bind, r)
		if err == nil {
			_, err = w.Check(ctx)
			err = errors.Join(err, w.Close())
		} else {
			err = errors.Join(err, r.Close())
		}
		if err != nil {
			return err
		}
		e.lock.Lock()
		each = e.seconds[key]
		e.lock.Unlock()
	}
	one := each * op.Work
	if all := one * executions; all > e.longest.Seconds() {
		return notMeasured("an execution would take about %s, as smaller ones show, and the row %s: more than the bound "+
			"of %s (Options.Longest, tvmgo bench --longest)", seconds(one), seconds(all), seconds(e.longest.Seconds()))
	}
	return nil
}

// seconds returns a duration with two digits: "1m50s".
func seconds(s float64) string {
	d := time.Duration(s * 1e9)
	unit := time.Duration(math.Pow10(max(0, int(math.Log10(float64(max(d, 1))))-1)))
	if d > time.Minute {
		unit = time.Second
	}
	return d.Round(unit).String()
}

// open prepares an operator. Its Check measures how long an execution takes.
func (e *estimates) open(ctx context.Context, on *bench.Device, key estimate, op *operators.Operator, bind binder,
	r *resources) (bench.Work, error) {
	a, err := keep(operators.NewArrays(op, on.Handle))(r)
	if err != nil {
		return nil, err
	}
	w := &operation{arrays: a, estimates: e, key: key}
	w.On, w.Do, w.Free = on.Handle, bench.Amount{Ops: op.Ops, Bytes: float64(a.Bytes())}, []func() error{r.Close}
	w.Call, w.Known, err = bind(ctx, on, a, r)
	return w, err
}

// operation is an operator that was prepared for a device.
type operation struct {
	bench.Calls
	arrays    *operators.Arrays
	estimates *estimates
	key       estimate
}

// Check verifies the result as package operators describes.
func (w *operation) Check(ctx context.Context) (string, error) {
	return w.arrays.Check(ctx, func() error {
		execute := func() error {
			if err := w.Call(); err != nil {
				return err
			}
			return runtime.SyncDevice(ctx, w.On)
		}
		if w.arrays.Operator.Probe() == nil { // the first one may compile
			if err := execute(); err != nil {
				return err
			}
		}
		began := time.Now()
		err := execute()
		each := time.Since(began).Seconds() / w.arrays.Operator.Work
		w.estimates.lock.Lock()
		defer w.estimates.lock.Unlock()
		// Larger operators use a device better: the last one counts.
		w.estimates.seconds[w.key] = each
		return err
	})
}

// needArrays returns an ErrNotMeasured if the arrays of an operator do not fit into the device's memory or into a
// buffer that kernels can use, or those of the reference into that of the host.
func needArrays(on *bench.Device, op *operators.Operator) error {
	var host, largest int64
	for _, s := range op.Shapes() {
		elements := s.Bytes() / int64(s.Type.Bits/8)
		host += s.Bytes() + 4*elements // the inputs as float32, and bytes to copy
		largest = max(largest, s.Bytes())
	}
	if err := needMemory(on, op.Bytes(), host); err != nil {
		return err
	}
	t, err := Target(on)
	if err != nil {
		return nil // build reports it
	}
	const key = "max_storage_buffer_range"
	if most, ok := t.Attrs()[key].(int64); ok && largest > most {
		return notMeasured("an array of %s has %s, and a storage buffer of %s at most %s (%s)", op.Name,
			memory.Text(largest), on.Name, memory.Text(most), key)
	}
	return nil
}

// openGenerated builds the operator of te/ops for the device.
func openGenerated(_ context.Context, on *bench.Device, a *operators.Arrays, r *resources) (call func() error,
	known bench.Facts, err error) {
	if err := needCompiler(); err != nil {
		return nil, nil, err
	}
	t, err := Target(on)
	if err != nil {
		return nil, nil, err
	}
	program, err := a.Operator.Lower(t)
	if err != nil {
		return nil, nil, err
	}
	if err := needLoops(on, t, program); err != nil {
		return nil, nil, err
	}
	m, err := keep(codegen.Build(program, t))(r)
	if err != nil {
		return nil, nil, fmt.Errorf("build for %s: %w", on.Name, err)
	}
	f, err := keep(m.Function(a.Operator.Function()))(r)
	if err != nil {
		return nil, nil, err
	}
	b, err := keep(f.Bind(a.Args()...))(r)
	if err != nil {
		return nil, nil, err
	}
	return b.Call, facts.OfProgram(program, t, nil, m, on), nil
}
