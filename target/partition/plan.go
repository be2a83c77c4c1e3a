package partition

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tvmgo/target"
)

// Plan assigns operations to the members of a target, and defines an order of execution. [New] makes it.
type Plan struct {
	Target    *target.Target
	Inputs    []string   // of the whole graph
	Outputs   []string   // operations whose results leave the whole graph
	Groups    []Group    // each after those that it depends on
	Decisions []Decision // one for each operation, sorted by Op
}

// Group is a set of operations that one member computes together: its code generator makes one function of them.
type Group struct {
	// the index of the member in Members of the target, then in Members of that member, …; empty for the target itself
	Member  []int
	Target  *target.Target // the member
	Ops     []target.Op    // each after those that it uses
	Inputs  []string       // results of other groups and inputs of the graph, in the order of their first use
	Outputs []string       // operations whose results other groups use or are outputs of the graph
	After   []int          // the groups whose results it uses
}

// Decision is the member that computes an operation, with the reason.
type Decision struct {
	Op      string
	Group   int       // its index in Groups
	Reason  string    // the reasons that strategies give, then that of the member
	Refused []Refusal // the refusals of the members that were tried before
}

// Refusal is the reason why a target does not accept an operation.
type Refusal struct {
	Member []int          // as in [Group]
	Target *target.Target // the target whose predicate rejected it
	Reason string
}

// Why returns the decision on an operation; false if there is no such operation.
func (p *Plan) Why(op string) (Decision, bool) {
	i, ok := slices.BinarySearchFunc(p.Decisions, op, func(d Decision, op string) int { return strings.Compare(d.Op, op) })
	if !ok {
		return Decision{}, false
	}
	return p.Decisions[i], true
}

// newPlan groups operations whose members have been determined.
func newPlan(t *target.Target, s *sharing) *Plan {
	f := s.flow
	g := groups(f, s.owner, len(s.owners))
	waits := inverse(g.users)
	depth, _ := depths(waits, g.users)
	order := make([]int32, len(depth))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Or(cmp.Compare(depth[a], depth[b]), cmp.Compare(a, b)) })
	place := make([]int, len(order))
	p := &Plan{Target: t, Inputs: append([]string{}, f.inputs...), Outputs: []string{}, Groups: make([]Group, len(order)),
		Decisions: s.decisions}
	for n, x := range order {
		place[x] = n
		o := s.owners[g.member[x]]
		p.Groups[n] = Group{Member: append([]int{}, o.path...), Target: o.target, After: []int{}}
		for _, u := range waits[x] {
			p.Groups[n].After = append(p.Groups[n].After, place[u])
		}
		slices.Sort(p.Groups[n].After)
	}
	ops := make([][]int32, len(order))
	for i, x := range g.of {
		n := place[x]
		ops[n] = append(ops[n], int32(i))
		p.Decisions[i].Group = n
		if f.wanted[i] {
			p.Outputs = append(p.Outputs, f.ops[i].Name)
		}
	}
	for n := range p.Groups {
		p.Groups[n].Inputs, p.Groups[n].Outputs = f.border(ops[n])
		for _, i := range ops[n] {
			p.Groups[n].Ops = append(p.Groups[n].Ops, f.ops[i])
		}
	}
	slices.SortFunc(p.Decisions, func(a, b Decision) int { return strings.Compare(a.Op, b.Op) })
	return p
}

// String returns the plan as text for people: each group with its inputs, outputs and operations, and the reasons.
func (p *Plan) String() string {
	var b strings.Builder
	for n, g := range p.Groups {
		fmt.Fprintf(&b, "group %d: %s", n, nameMember(g.Target, g.Member))
		if len(g.After) > 0 {
			fmt.Fprintf(&b, ", after %s", joined(g.After, ", "))
		}
		fmt.Fprintf(&b, "\n  in: %s\n  out: %s\n", strings.Join(g.Inputs, ", "), strings.Join(g.Outputs, ", "))
		for _, op := range g.Ops {
			why, _ := p.Why(op.Name)
			fmt.Fprintf(&b, "  %s = %s(%s): %s\n", op.Name, op.Kind, strings.Join(op.Inputs, ", "), why.Reason)
			for _, r := range why.Refused {
				fmt.Fprintf(&b, "    not %s: %s\n", nameMember(r.Target, r.Member), r.Reason)
			}
		}
	}
	return b.String()
}

// JSON returns the plan for programs. Equal plans have equal JSON. It does not contain the attributes of operations.
func (p *Plan) JSON() string {
	type refusal struct {
		Member []int  `json:"member"`
		Kind   string `json:"kind"`
		Reason string `json:"reason"`
	}
	type op struct {
		Name    string    `json:"name"`
		Kind    string    `json:"kind"`
		Inputs  []string  `json:"inputs"`
		Reason  string    `json:"reason"`
		Refused []refusal `json:"refused"`
	}
	type group struct {
		Member  []int    `json:"member"`
		Kind    string   `json:"kind"`
		After   []int    `json:"after"`
		Inputs  []string `json:"inputs"`
		Outputs []string `json:"outputs"`
		Ops     []op     `json:"ops"`
	}
	plan := struct {
		Target  *target.Target `json:"target"`
		Inputs  []string       `json:"inputs"`
		Outputs []string       `json:"outputs"`
		Groups  []group        `json:"groups"`
	}{p.Target, p.Inputs, p.Outputs, []group{}}
	if p.Target.Kind() == nil {
		plan.Target = nil
	}
	for _, g := range p.Groups {
		out := group{g.Member, kindName(g.Target), g.After, g.Inputs, g.Outputs, []op{}}
		for _, o := range g.Ops {
			why, _ := p.Why(o.Name)
			one := op{o.Name, o.Kind, append([]string{}, o.Inputs...), why.Reason, []refusal{}}
			for _, r := range why.Refused {
				one.Refused = append(one.Refused, refusal{append([]int{}, r.Member...), kindName(r.Target), r.Reason})
			}
			out.Ops = append(out.Ops, one)
		}
		plan.Groups = append(plan.Groups, out)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(plan); err != nil { // strings, numbers and a target can always be encoded
		return "{}"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// MarshalJSON returns the result of JSON.
func (p *Plan) MarshalJSON() ([]byte, error) { return []byte(p.JSON()), nil }

// kindName returns the name of a target's kind; "" for a target that New did not make, as in a plan made by a user.
func kindName(t *target.Target) string {
	if k := t.Kind(); k != nil {
		return k.Name()
	}
	return ""
}
