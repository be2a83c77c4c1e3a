package partition_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
	"tvmgo/target/partition"
)

var kindCount atomic.Int64

// newKind registers a kind under a name that no other test uses, because kinds stay registered until the test binary
// ends.
func newKind(t testing.TB, parts ...target.KindOption) string {
	name := fmt.Sprintf("test%d", kindCount.Add(1))
	must.Get(target.RegisterKind(name, dlpack.CPU, parts...))(t)
	return name
}

func newTarget(t testing.TB, x any) *target.Target {
	return must.Get(target.New(x))(t)
}

// taking returns a target that accepts operations by a predicate.
func taking(t testing.TB, p target.Predicate) *target.Target {
	return newTarget(t, newKind(t, target.WithAttr(target.ColumnPartitioner, p)))
}

// onlyKinds returns a target that accepts some kinds of operation.
func onlyKinds(t testing.TB, kinds ...string) *target.Target {
	return taking(t, func(_ *target.Target, op *target.Op) (bool, string) {
		return slices.Contains(kinds, op.Kind), "kinds are " + strings.Join(kinds, ", ")
	})
}

// composite returns a composite target with the given members.
func composite(t testing.TB, members ...*target.Target) *target.Target {
	return newTarget(t, map[string]any{"kind": "composite", "devices": members})
}

// graph parses "a:relu b:matmul(a,w)": operations with their kinds and inputs.
func graph(t testing.TB, text string) *target.Graph {
	g := &target.Graph{}
	for _, word := range strings.Fields(text) {
		name, rest, ok := strings.Cut(word, ":")
		require.True(t, ok, word)
		op := target.Op{Name: name, Kind: rest}
		if kind, inputs, given := strings.Cut(strings.TrimSuffix(rest, ")"), "("); given {
			op.Kind, op.Inputs = kind, strings.Split(inputs, ",")
		}
		g.Ops = append(g.Ops, op)
	}
	return g
}

// groupsOf writes the groups of a plan as "0:a,b 1:c": the member, and the operations that it computes.
func groupsOf(p *partition.Plan) string {
	var all []string
	for _, g := range p.Groups {
		var names []string
		for _, op := range g.Ops {
			names = append(names, op.Name)
		}
		all = append(all, strings.Trim(strings.ReplaceAll(fmt.Sprint(g.Member), " ", "."), "[]")+":"+strings.Join(names, ","))
	}
	return strings.Join(all, " ")
}
