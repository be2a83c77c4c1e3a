package partition

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tvmgo/target"
)

// sharing determines the member of every operation.
type sharing struct {
	flow      *flow
	owner     []int32 // by operation: an index in owners
	owners    []owner
	known     map[string]int32 // owners by path
	decisions []Decision       // by operation
}

type owner struct {
	target *target.Target
	path   []int
}

// offer offers operations to a target, and returns those that it rejects, after recording the reasons.
func (s *sharing) offer(t *target.Target, path []int, ops []int32) (refused []int32, err error) {
	if len(ops) == 0 {
		return nil, nil
	}
	predicate, asked := target.Attr[target.Predicate](t.Kind(), target.ColumnPartitioner)
	strategy, own := target.Attr[target.Strategy](t.Kind(), target.ColumnStrategy)
	taken := ops
	reasons := make([]string, len(ops))
	if asked {
		taken = nil
		for _, i := range ops {
			takes, reason, err := s.ask(predicate, t, path, i)
			if err != nil {
				return nil, err
			}
			if takes {
				reasons[len(taken)] = reason
				taken = append(taken, i)
				continue
			}
			s.decisions[i].Refused = append(s.decisions[i].Refused, Refusal{path, t, reason})
			refused = append(refused, i)
		}
	}
	switch {
	case !t.Kind().IsComposite():
		o := s.ownerAt(t, path)
		for n, i := range taken {
			s.owner[i] = o
			if !asked {
				reasons[n] = fmt.Sprintf("kind %q accepts every operation", t.Kind().Name())
			}
			s.decisions[i].because(reasons[n])
		}
		return refused, nil
	case own:
		return refused, s.obey(strategy, t, path, taken)
	}
	for i, m := range t.Members() {
		if taken, err = s.offer(m, step(path, i), taken); err != nil {
			return nil, err
		}
	}
	refused = append(refused, taken...)
	slices.Sort(refused)
	return refused, nil
}

func (d *Decision) because(reason string) {
	if d.Reason != "" {
		reason = d.Reason + "; " + reason
	}
	d.Reason = reason
}

// ownerAt returns the index of a member in owners.
func (s *sharing) ownerAt(t *target.Target, path []int) int32 {
	key := joined(path, ".")
	o, ok := s.known[key]
	if !ok {
		o = int32(len(s.owners))
		s.known[key] = o
		s.owners = append(s.owners, owner{t, path})
	}
	return o
}

// ask calls a predicate, and converts a panic to an error.
func (s *sharing) ask(p target.Predicate, t *target.Target, path []int, i int32) (takes bool, reason string,
	err error) {
	defer func() {
		if v := recover(); v != nil {
			err = noPartition("the partitioner of %s panicked at operation %s: %v", nameMember(t, path),
				brief(s.flow.ops[i].Name), v)
		}
	}()
	op := clone(&s.flow.ops[i])
	takes, reason = p(t, &op)
	if reason == "" {
		reason = "the partitioner gives no reason"
	}
	return takes, reason, nil
}

// obey divides operations by the strategy of a composite target, and checks its answer.
func (s *sharing) obey(strategy target.Strategy, t *target.Target, path []int, ops []int32) error {
	if len(ops) == 0 {
		return nil
	}
	graph := s.flow.part(ops)
	names := make(map[string]int32, len(ops))
	for _, i := range ops {
		names[s.flow.ops[i].Name] = i
	}
	answer, err := s.decide(strategy, graph, t, path)
	if err != nil {
		return err
	}
	fail := func(format string, args ...any) error {
		return noPartition("the strategy of %s %s", nameMember(t, path), fmt.Sprintf(format, args...))
	}
	members := t.Members()
	shares, given := make([][]int32, len(members)), make(map[int32]bool, len(ops))
	for _, a := range answer {
		i, ok := names[a.Op]
		switch {
		case !ok:
			return fail("names %s, which is not an operation that it was given", brief(a.Op))
		case given[i]:
			return fail("names operation %s twice", brief(a.Op))
		case a.Member < 0 || a.Member >= len(members):
			return fail("assigns operation %s to member %d: members are 0 to %d", brief(a.Op), a.Member, len(members)-1)
		}
		given[i] = true
		shares[a.Member] = append(shares[a.Member], i)
		reason := fmt.Sprintf("the strategy of kind %q gives no reason", t.Kind().Name())
		if a.Reason != "" {
			reason = fmt.Sprintf("the strategy of kind %q: %s", t.Kind().Name(), a.Reason)
		}
		s.decisions[i].because(reason)
	}
	for _, i := range ops {
		if !given[i] {
			return fail("names %d of %d operations: %s is missing", len(given), len(ops), brief(s.flow.ops[i].Name))
		}
	}
	for m, share := range shares {
		slices.Sort(share)
		refused, err := s.offer(members[m], step(path, m), share)
		if err != nil {
			return err
		}
		if len(refused) > 0 {
			i := refused[0]
			return fail("assigns operation %s to member %d, which does not accept it: %s", s.flow.describe(i), m,
				s.decisions[i].refusals(step(path, m)))
		}
	}
	return nil
}

// decide calls a strategy, and converts a panic to an error.
func (s *sharing) decide(strategy target.Strategy, g *target.Graph, t *target.Target,
	path []int) (answer []target.Assignment, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = noPartition("the strategy of %s panicked: %v", nameMember(t, path), v)
		}
	}()
	answer, err = strategy(g, t)
	if err != nil {
		e := noPartition("the strategy of %s failed: %v", nameMember(t, path), err)
		e.Err = errors.Join(target.ErrPartition, err)
		return nil, e
	}
	return answer, nil
}

// untaken returns the error for operations that no member accepts.
func (s *sharing) untaken(ops []int32) error {
	i, others := ops[0], ""
	if n := len(ops) - 1; n > 0 {
		others = fmt.Sprintf(" (and %d more)", n)
	}
	return noPartition("no member accepts operation %s%s: %s: add a member that accepts it, such as \"llvm\", which "+
		"accepts every operation",
		s.flow.describe(i), others, s.decisions[i].refusals(nil))
}

// refusals joins the refusals of the target at a path and of its members.
func (d *Decision) refusals(path []int) string {
	var all []string
	for _, r := range d.Refused {
		if len(r.Member) >= len(path) && slices.Equal(r.Member[:len(path)], path) {
			all = append(all, nameMember(r.Target, r.Member)+": "+r.Reason)
		}
	}
	return strings.Join(all, "; ")
}

// describe names an operation in a message.
func (f *flow) describe(i int32) string {
	return fmt.Sprintf("%s (%s)", brief(f.ops[i].Name), f.ops[i].Kind)
}

// part returns the graph of the given operations, in their order.
func (f *flow) part(ops []int32) *target.Graph {
	g := &target.Graph{Ops: make([]target.Op, len(ops))}
	g.Inputs, g.Outputs = f.border(ops)
	for n, i := range ops {
		g.Ops[n] = clone(&f.ops[i])
	}
	return g
}

// border returns the results that operations use from outside, in the order of first use, and their own results that
// are used outside.
func (f *flow) border(ops []int32) (inputs, outputs []string) {
	within := make(map[int32]bool, len(ops))
	names := make(map[string]bool, len(ops))
	for _, i := range ops {
		within[i], names[f.ops[i].Name] = true, true
	}
	inputs, outputs = []string{}, []string{}
	for _, i := range ops {
		for _, name := range f.ops[i].Inputs {
			if !names[name] { // it is outside, or was met already
				names[name] = true
				inputs = append(inputs, name)
			}
		}
		if f.wanted[i] || slices.ContainsFunc(f.users[i], func(j int32) bool { return !within[j] }) {
			outputs = append(outputs, f.ops[i].Name)
		}
	}
	return inputs, outputs
}
