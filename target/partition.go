package target

import (
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

// Assignment is the decision of a Strategy for one operation.
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
