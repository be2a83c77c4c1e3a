// Package partition divides a graph of operations among the members of a composite target, such as a CPU and an
// accelerator, and returns the reason for each decision. Attributes of the members' kinds make the decisions:
// [target.ColumnPartitioner] and [target.ColumnStrategy].
package partition

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tvmgo/target"
)

// maxMembers limits the size of a plan, since each group has a number for each member (see grouping).
const maxMembers = 256

// New divides the operations of a graph among the members of a composite target, and puts operations that can run
// together into groups.
//
// Every operation goes to the first member that accepts it, in the order of "devices". The predicate of a target's kind
// ([target.Predicate]) decides which operations the target accepts; a kind without one has a code generator for
// everything, and accepts every operation. A composite member accepts what its own predicate, if it has one, and one of
// its members accept. A kind with a [target.Strategy] uses that instead, but gives no operation to a member whose
// predicate rejects it. A target that is not composite counts as its only member.
//
// Operations of one member form a group, whether they use each other or not, provided that the groups can run one after
// another: no result of a group returns to it through another group. No two groups of one member in the plan could be
// merged. The plan does not depend on the order of Ops.
//
// All errors are of type *[target.Error] and wrap [target.ErrPartition]. Causes are a cycle, two operations with one
// name, an operation that no member accepts (the error contains the reason of each member), a strategy that fails (its
// error is wrapped, too) or returns an invalid answer, and a panic of a predicate or a strategy. At most 256 members
// can have groups in a plan.
func New(g *target.Graph, t *target.Target) (*Plan, error) {
	if t.Kind() == nil {
		return nil, noPartition("the target is nil, or was not made by New")
	}
	if err := checkMembers(t, nil); err != nil {
		return nil, err
	}
	f, err := newFlow(g)
	if err != nil {
		return nil, err
	}
	s := &sharing{flow: f, owner: make([]int32, len(f.ops)), known: map[string]int32{},
		decisions: make([]Decision, len(f.ops))}
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
		return nil, noPartition("%d members have operations: want at most %d", len(s.owners), maxMembers)
	}
	return newPlan(t, s), nil
}

func noPartition(format string, args ...any) *target.Error {
	return &target.Error{Err: target.ErrPartition, Message: "partition: " + fmt.Sprintf(format, args...)}
}

// checkMembers rejects composite targets without members.
func checkMembers(t *target.Target, path []int) error {
	if !t.Kind().IsComposite() {
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

// step returns the path of member i of the target at the given path.
func step(path []int, i int) []int { return append(slices.Clip(path), i) }

// nameMember names a nested target in messages: "dnnl (member 0)".
func nameMember(t *target.Target, path []int) string {
	if len(path) == 0 {
		return kindName(t)
	}
	return kindName(t) + " (member " + joined(path, ".") + ")"
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
