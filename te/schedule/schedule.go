package schedule

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"tvmgo/dlpack"
	"tvmgo/target"
	"tvmgo/te"
)

// Group is a set of tensors that are scheduled together: the result of an operator, its parts, and at most one
// elementwise tensor that reads the result.
type Group struct {
	Schedule *te.Schedule
	Target   *target.Target
	Config   any        // the parameters for the target's schedulers, as passed to ForWith; nil: their defaults
	Result   *te.Tensor // the result of the operator
	Op       *Operator  // nil if the tensor was made by te.Compute
	// the tensor that is stored as a whole: Result, or an elementwise tensor of its shape that is its only reader
	Root *te.Tensor
}

// Parts are the intermediate tensors of the group's operator.
func (g *Group) Parts() []*te.Tensor {
	if g.Op == nil {
		return nil
	}
	return slices.Clone(g.Op.Parts)
}

// Scheduler schedules a group: the loops of its root, its result and its operator's parts, and no others. It returns
// false if it does not handle the group; then it must leave the schedule unchanged, and the next more general scheduler
// is tried.
type Scheduler func(g *Group) (bool, error)

type schedulerKey struct{ key, op string }

var schedulers = struct {
	sync.RWMutex
	of map[schedulerKey]Scheduler
}{of: map[schedulerKey]Scheduler{}}

// Register registers a scheduler for an operator (Operator.Kind) and for targets with a key. With an empty op it
// handles all operators without a scheduler for that key. Registering a pair twice is an error. It is safe for
// concurrent use, and may be called from init functions.
func Register(key, op string, s Scheduler) error {
	if key == "" || s == nil {
		return fmt.Errorf("register schedule of operator %q for key %q: want a key of targets, such as \"cpu\", "+
			"and a function", op, key)
	}
	schedulers.Lock()
	defer schedulers.Unlock()
	if schedulers.of[schedulerKey{key, op}] != nil {
		return fmt.Errorf("register schedule of operator %q for key %q: it is already registered: give the target a key "+
			"of your own", op, key)
	}
	schedulers.of[schedulerKey{key, op}] = s
	return nil
}

// scheduleKeys returns the keys under which schedulers for a target are looked up, the most specific first: the
// target's keys, its kind, and "cpu" or "gpu" according to the device.
func scheduleKeys(t *target.Target) []string {
	keys := append(t.Keys(), t.Kind().Name())
	switch t.DeviceType() {
	case dlpack.CPU, dlpack.Hexagon:
		keys = append(keys, "cpu")
	case dlpack.ExtDev:
	default:
		keys = append(keys, "gpu")
	}
	out := keys[:0]
	for _, k := range keys {
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// For makes a schedule of tensors for a target. Cheap elementwise tensors are computed inline. Each remaining
// group goes to the scheduler registered for the most specific of the target's keys; for a key, the operator's
// scheduler is tried before the general one. You may extend the schedule afterwards.
func For(t *target.Target, outs ...*te.Tensor) (*te.Schedule, error) { return ForWith(t, nil, outs...) }

// ForWith is [For] with parameters for the schedulers, which find them in [Group].Config.
func ForWith(t *target.Target, config any, outs ...*te.Tensor) (*te.Schedule, error) {
	if t == nil || t.Kind() == nil {
		return nil, fmt.Errorf("ops: schedule: the target is nil: make one by target.New, as in target.New(\"c\")")
	}
	if t.Kind().IsComposite() {
		return nil, fmt.Errorf("ops: schedule for kind %q: its targets are composite: schedule for each member",
			t.Kind())
	}
	if err := checkBuildable(t.Kind()); err != nil {
		return nil, err
	}
	s, err := te.NewSchedule(outs...)
	if err != nil {
		return nil, err
	}
	keys := scheduleKeys(t)
	for _, g := range Groups(s, outs) {
		if s.Stage(g.Root).IsInlined() { // by the scheduler of a reader
			g.Root = g.Result
		}
		if s.Stage(g.Root).IsInlined() {
			continue
		}
		g.Target, g.Config = t, config
		if err := g.schedule(keys); err != nil {
			return nil, err
		}
	}
	scheduleScans(s, keys)
	scheduleExterns(s, keys)
	return s, s.Err()
}

// checkBuildable returns an error for built-in kinds without a code generator, because nothing could build the
// schedule. Kinds that programs declare, and kinds with a registered scheduler, are allowed.
func checkBuildable(kind *target.Kind) error {
	name := kind.Name()
	if !kind.BuiltIn() || slices.Contains(generated, name) {
		return nil
	}
	for _, column := range []string{target.ColumnGenerator, "codegen.external"} {
		if _, set := target.Attr[any](kind, column); set {
			return nil
		}
	}
	schedulers.RLock()
	defer schedulers.RUnlock()
	for k := range schedulers.of {
		if k.key == name {
			return nil
		}
	}
	return fmt.Errorf("ops: schedule for kind %q: it has no code generator: schedule for one of %s, or "+
		"register a generator by codegen.Register", name, strings.Join(generated, ", "))
}

// schedule tries the schedulers in order.
func (g *Group) schedule(keys []string) error {
	kind := ""
	if g.Op != nil {
		kind = g.Op.Kind
	}
	for _, key := range keys {
		for _, op := range slices.Compact([]string{kind, ""}) {
			schedulers.RLock()
			s := schedulers.of[schedulerKey{key, op}]
			schedulers.RUnlock()
			if s == nil {
				continue
			}
			done, err := s(g)
			if err == nil {
				err = g.Schedule.Err()
			}
			if err != nil {
				return fmt.Errorf("ops: schedule of tensor %s (%s) for key %q: %w", g.Result.ProducerName(), kind, key, err)
			}
			if done {
				return nil
			}
		}
	}
	return nil // each tensor is computed separately, by serial loops
}
