package target

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Predicate says whether a target takes an operation, and why it does or does not. It stands in [ColumnPartitioner] of the target's
// kind. The operation is a copy, whose attributes are for reading. It may be called by many at once.
type Predicate func(t *Target, op *Op) (takes bool, reason string)

// Strategy divides a graph among the members of a composite target. It stands in [ColumnStrategy] of the target's kind. The graph is
// a copy, its operations stand behind those that they use. The answer names every operation once, with a member whose predicate
// takes it. It may be called by many at once.
type Strategy func(g *Graph, t *Target) ([]Assignment, error)

// Assignment is what a [Strategy] decides for an operation.
type Assignment struct {
	Op     string // the operation's name
	Member int    // the place of its member in the target's Members
	Reason string
}

// maxMembers bounds what a plan costs: what runs before a group is written down for each member.
const maxMembers = 256

// Partition divides the operations of a graph among the members of a composite target, and puts together what can run together.
//
// Every operation goes to the first member that takes it, in the order of "devices". What a target takes is up to the predicate of
// its kind; a kind without one has a code generator for everything, and takes every operation. A composite member takes what its
// own predicate, if it has one, and one of its members take. A kind with a [Strategy] asks that instead, but gives no operation to a
// member whose predicate refuses it. A target that is not composite is the only member of itself.
//
// Operations of one member are put together, whether they use each other or not, as long as the groups can run one after the other:
// what leaves a group for another one does not come back to it. No two groups of one member in the plan could still be merged. The
// plan is the same in whatever order Ops lists the operations.
//
// All errors are of type *Error and wrap [ErrPartition]: a cycle, two operations of one name, an operation that no member takes, with
// the reason of each, a strategy whose answer is wrong or that fails, whose error is wrapped as well, a predicate or a strategy that
// panics. At most 256 members can have a part in a plan.
func Partition(g *Graph, t *Target) (*Plan, error) {
	if err := t.valid(); err != nil {
		return nil, noPartition("the target is nil, or was not made by New")
	}
	if err := checkMembers(t, nil); err != nil {
		return nil, err
	}
	f, err := newFlow(g)
	if err != nil {
		return nil, err
	}
	s := &sharing{flow: f, owner: make([]int32, len(f.ops)), known: map[string]int32{}, decisions: make([]Decision, len(f.ops))}
	all := make([]int32, len(f.ops))
	for i := range all {
		all[i] = int32(i)
		s.decisions[i].Op = f.ops[i].Name
	}
	refused, err := s.offer(t, nil, all)
	if err != nil {
		return nil, err
	}
	if len(refused) > 0 {
		return nil, s.untaken(refused)
	}
	if len(s.owners) > maxMembers {
		return nil, noPartition("%d members take operations: at most %d can", len(s.owners), maxMembers)
	}
	return newPlan(t, s), nil
}

func noPartition(format string, args ...any) *Error {
	return wrong("", ErrPartition, "partition: "+format, args...)
}

// checkMembers finds composites of nothing.
func checkMembers(t *Target, path []int) error {
	if !t.kind.composite {
		return nil
	}
	members := t.Members()
	if len(members) == 0 {
		return noPartition(`%s is composite and has no members: list them in "devices"`, nameMember(t, path))
	}
	for i, m := range members {
		if err := checkMembers(m, step(path, i)); err != nil {
			return err
		}
	}
	return nil
}

// step is the path to a member of the target at a path.
func step(path []int, i int) []int { return append(slices.Clip(path), i) }

// nameMember is how messages call a target within another: "dnnl (member 0)".
func nameMember(t *Target, path []int) string {
	if len(path) == 0 {
		return t.kindName()
	}
	return t.kindName() + " (member " + joined(path, ".") + ")"
}

func joined(numbers []int, between string) string {
	var b strings.Builder
	for i, n := range numbers {
		if i > 0 {
			b.WriteString(between)
		}
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}

// sharing finds the member of every operation.
type sharing struct {
	flow      *flow
	owner     []int32 // by operation: a place in owners
	owners    []owner
	known     map[string]int32 // owners by path
	decisions []Decision       // by operation
}

type owner struct {
	target *Target
	path   []int
}

// offer gives operations to a target, and returns those that it refuses; the reasons are then written down.
func (s *sharing) offer(t *Target, path []int, ops []int32) (refused []int32, err error) {
	if len(ops) == 0 {
		return nil, nil
	}
	predicate, asked := Attr[Predicate](t.kind, ColumnPartitioner)
	strategy, own := Attr[Strategy](t.kind, ColumnStrategy)
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
	case !t.kind.composite:
		o := s.ownerAt(t, path)
		for n, i := range taken {
			s.owner[i] = o
			if !asked {
				reasons[n] = fmt.Sprintf("kind %q takes every operation", t.kind.name)
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

// ownerAt is the place of a member in owners.
func (s *sharing) ownerAt(t *Target, path []int) int32 {
	key := joined(path, ".")
	o, ok := s.known[key]
	if !ok {
		o = int32(len(s.owners))
		s.known[key] = o
		s.owners = append(s.owners, owner{t, path})
	}
	return o
}

// ask keeps the panic of a predicate within the error.
func (s *sharing) ask(p Predicate, t *Target, path []int, i int32) (takes bool, reason string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = noPartition("the partitioner of %s panicked at operation %s: %v", nameMember(t, path), brief(s.flow.ops[i].Name), v)
		}
	}()
	op := s.flow.ops[i].clone()
	takes, reason = p(t, &op)
	if reason == "" {
		reason = "the partitioner gives no reason"
	}
	return takes, reason, nil
}

// obey divides operations as the strategy of a composite target says, and checks what it says.
func (s *sharing) obey(strategy Strategy, t *Target, path []int, ops []int32) error {
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
			return fail("names %s, which is no operation that it was given", brief(a.Op))
		case given[i]:
			return fail("names operation %s twice", brief(a.Op))
		case a.Member < 0 || a.Member >= len(members):
			return fail("gives operation %s to member %d: members are 0 to %d", brief(a.Op), a.Member, len(members)-1)
		}
		given[i] = true
		shares[a.Member] = append(shares[a.Member], i)
		reason := fmt.Sprintf("the strategy of kind %q gives no reason", t.kind.name)
		if a.Reason != "" {
			reason = fmt.Sprintf("the strategy of kind %q: %s", t.kind.name, a.Reason)
		}
		s.decisions[i].because(reason)
	}
	for _, i := range ops {
		if !given[i] {
			return fail("names %d of %d operations: %s is left", len(given), len(ops), brief(s.flow.ops[i].Name))
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
			return fail("gives operation %s to member %d, which refuses it: %s", s.flow.describe(i), m, s.decisions[i].refusals(step(path, m)))
		}
	}
	return nil
}

// decide keeps the panic of a strategy within the error.
func (s *sharing) decide(strategy Strategy, g *Graph, t *Target, path []int) (answer []Assignment, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = noPartition("the strategy of %s panicked: %v", nameMember(t, path), v)
		}
	}()
	answer, err = strategy(g, t)
	if err != nil {
		e := noPartition("the strategy of %s failed: %v", nameMember(t, path), err)
		e.Err = errors.Join(ErrPartition, err)
		return nil, e
	}
	return answer, nil
}

// untaken is the error for operations without a member.
func (s *sharing) untaken(ops []int32) error {
	i, others := ops[0], ""
	if n := len(ops) - 1; n > 0 {
		others = fmt.Sprintf(" (and so are %d more)", n)
	}
	return noPartition("operation %s is taken by no member%s: %s: add a member that takes it, such as \"llvm\", which takes every operation",
		s.flow.describe(i), others, s.decisions[i].refusals(nil))
}

// refusals lists those of a target within the path and of its members.
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

// part is the graph of some operations, in their order.
func (f *flow) part(ops []int32) *Graph {
	g := &Graph{Ops: make([]Op, len(ops))}
	g.Inputs, g.Outputs = f.border(ops)
	for n, i := range ops {
		g.Ops[n] = f.ops[i].clone()
	}
	return g
}

// border lists what some operations take from outside, in the order of first use, and what they give.
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
