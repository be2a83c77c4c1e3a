package partition_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/target"
	"tvmgo/target/partition"
)

func TestPartition_Strategy(t *testing.T) {
	lost := errors.New("lost the way")
	for _, c := range []struct {
		name   string
		answer func(g *target.Graph, t *target.Target) ([]target.Assignment, error)
		want   string
	}{
		{"one is missing", func(*target.Graph, *target.Target) ([]target.Assignment, error) {
			return []target.Assignment{{Op: "x", Member: 1}}, nil
		}, `names 1 of 2 operations: "y" is missing`},
		{"one twice", func(*target.Graph, *target.Target) ([]target.Assignment, error) {
			return []target.Assignment{{Op: "x", Member: 1}, {Op: "y", Member: 1}, {Op: "x", Member: 1}}, nil
		}, `names operation "x" twice`},
		{"unknown operation", func(*target.Graph, *target.Target) ([]target.Assignment, error) {
			return []target.Assignment{{Op: "z", Member: 1}}, nil
		}, `names "z", which is not an operation that it was given`},
		{"member before the first", func(*target.Graph, *target.Target) ([]target.Assignment, error) {
			return []target.Assignment{{Op: "x", Member: -1}}, nil
		}, `assigns operation "x" to member -1: members are 0 to 1`},
		{"member behind the last", func(*target.Graph, *target.Target) ([]target.Assignment, error) {
			return []target.Assignment{{Op: "x", Member: 2}}, nil
		}, `assigns operation "x" to member 2: members are 0 to 1`},
		{"member refuses", func(*target.Graph, *target.Target) ([]target.Assignment, error) {
			return []target.Assignment{{Op: "x", Member: 0}, {Op: "y", Member: 0}}, nil
		}, `assigns operation "y" (b) to member 0, which does not accept it: `},
		{"error", func(*target.Graph, *target.Target) ([]target.Assignment, error) { return nil, lost },
			"failed: lost the way"},
		{"panic", func(g *target.Graph, _ *target.Target) ([]target.Assignment, error) {
			return nil, g.Ops[9].Attrs["e"].(error)
		}, "panicked: runtime error"},
		{"nothing", func(*target.Graph, *target.Target) ([]target.Assignment, error) { return nil, nil },
			`names 0 of 2 operations: "x" is missing`},
	} {
		kind := newKind(t, target.Composite(), target.WithAttr(target.ColumnStrategy, c.answer))
		soc := newTarget(t, map[string]any{"kind": kind, "devices": []any{onlyKinds(t, "a"), "llvm"}})
		p, err := partition.New(graph(t, "x:a y:b(x)"), soc)
		requirePartitionError(t, err, c.name)
		require.Nil(t, p, c.name)
		require.ErrorContains(t, err, "target: partition: the strategy of "+kind+" "+c.want, c.name)
		require.Equal(t, c.name == "error", errors.Is(err, lost), c.name)
	}
}

// TestPartition_StrategyRefused checks that the error names the member that rejects an operation of a strategy, and not
// members that were asked earlier.
func TestPartition_StrategyRefused(t *testing.T) {
	a, b := onlyKinds(t, "a"), onlyKinds(t, "b")
	within := noting(t, composite(t, b, b), new([]string))
	_, err := partition.New(graph(t, "x:b y:c(x)"), composite(t, composite(t, a), within))
	requirePartitionError(t, err)
	require.EqualError(t, err,
		fmt.Sprintf(`target: partition: the strategy of %s (member 1) assigns operation "y" (c) to member 0, which does not `+
			`accept it: `+
			`%s (member 1.0.0): kinds are b; %[2]s (member 1.0.1): kinds are b`, within.Kind(), b.Kind()))
}

func requirePartitionError(t testing.TB, err error, what ...any) {
	require.ErrorIs(t, err, target.ErrPartition, what...)
	var e *target.Error
	require.ErrorAs(t, err, &e, what...)
}

func TestPartition_BadInput(t *testing.T) {
	llvm := newTarget(t, "llvm")
	a := onlyKinds(t, "a")
	both := composite(t, a, onlyKinds(t, "b"))
	with := func(text string, inputs, outputs []string) *target.Graph {
		g := graph(t, text)
		g.Inputs, g.Outputs = inputs, outputs
		return g
	}
	of := func(ops ...target.Op) *target.Graph { return &target.Graph{Ops: ops} }
	for _, c := range []struct {
		name   string
		graph  *target.Graph
		target *target.Target
		want   string
	}{
		{"nil graph", nil, llvm, "the graph is nil"},
		{"nil target", graph(t, "x:a"), nil, "the target is nil"},
		{"zero target", graph(t, "x:a"), &target.Target{}, "the target is nil, or was not made by New"},
		{"no members", graph(t, "x:a"), newTarget(t, "composite"),
			`composite is composite and has no members: list them in "devices"`},
		{"no members within", graph(t, "x:a"), composite(t, llvm, newTarget(t, "composite")),
			"composite (member 1) is composite and has no members"},
		{"no members, nothing to do", graph(t, ""), composite(t), "has no members"},
		{"two of one name", graph(t, "x:a y:a x:b"), llvm, `operations 0 and 2 are both named "x"`},
		{"no name", of(target.Op{Kind: "a"}), llvm, `the name of operation 0 of the graph (kind "a") is empty`},
		{"no kind", of(target.Op{Name: "a"}), llvm, `operation "a": its kind is empty`},
		{"input without a name", of(target.Op{Name: "a", Kind: "k", Inputs: []string{"x", ""}}), llvm,
			`operation "a": the name of input 1 is empty`},
		{"a name that is not text", of(target.Op{Name: "a\xff", Kind: "k"}), llvm,
			`the name of operation 0 of the graph (kind "k") is not text`},
		{"NUL", of(target.Op{Name: "a", Kind: "k\x00"}), llvm, `operation "a": its kind is not text`},
		{"uses itself", graph(t, "x:a(x)"), llvm, `the graph has a cycle: "x" -> "x"`},
		{"cycle", graph(t, "u:a(d) d:a(c) c:a(b,in) b:a(d) in:a"), llvm, `the graph has a cycle: "b" -> "c" -> "d" -> "b"`},
		{"behind a cycle", graph(t, "a:k(b) b:k(c) c:k(d) d:k(b)"), llvm, `the graph has a cycle: "b" -> "d" -> "c" -> "b":`},
		{"unknown input", with("x:a(weight)", []string{"weights"}, nil), llvm,
			`operation "x": input 0 is "weight", which is neither an operation nor an input of the graph; did you mean ` +
				`"weights"?`},
		{"no inputs at all", with("x:a(weight)", []string{}, nil), llvm, `"weight", which is neither an operation nor an ` +
			`input`},
		{"input like an operation", with("x:a", []string{"x"}, nil), llvm,
			`input 0 of the graph is named "x", which is also the name of an operation or another input`},
		{"input twice", with("x:a(y)", []string{"y", "y"}, nil), llvm, `input 1 of the graph is named "y"`},
		{"nameless input", with("x:a", []string{""}, nil), llvm, "the name of input 0 of the graph is empty"},
		{"unknown output", with("conv1:a(y)", nil, []string{"conv2"}), llvm,
			`output 0 of the graph is "conv2", which is not an operation; did you mean "conv1"?`},
		{"nobody takes it", graph(t, "x:a y:c(x) z:c"), both,
			`no member accepts operation "z" (c) (and 1 more): ` +
				a.Kind().Name() + ` (member 0): kinds are a; test`},
	} {
		p, err := partition.New(c.graph, c.target)
		requirePartitionError(t, err, c.name)
		require.Nil(t, p, c.name)
		require.ErrorContains(t, err, "target: partition: ", c.name)
		require.ErrorContains(t, err, c.want, c.name)
	}
}

// TestPartition_LongCycle checks that a message does not contain ten thousand names.
func TestPartition_LongCycle(t *testing.T) {
	g := shaped(10_000, func(i int) target.Op { return target.Op{Kind: "k", Inputs: after(i, 1)} })
	g.Ops[0].Inputs = []string{name(9_999)}
	_, err := partition.New(g, newTarget(t, "llvm"))
	requirePartitionError(t, err)
	require.ErrorContains(t, err, `"op000011" -> 9988 more -> "op000000"`)
}

func TestPartition_PredicatePanics(t *testing.T) {
	bad := taking(t, func(_ *target.Target, op *target.Op) (bool, string) { return op.Attrs["shape"].([]int)[0] > 1, "" })
	_, err := partition.New(graph(t, "x:a"), composite(t, bad, newTarget(t, "llvm")))
	requirePartitionError(t, err)
	require.ErrorContains(t, err,
		`the partitioner of `+bad.Kind().Name()+` (member 0) panicked at operation "x": interface conversion`)
}

func TestPartition_TooManyMembers(t *testing.T) {
	kind := newKind(t, target.Composite(), target.WithAttr(target.ColumnStrategy, func(g *target.Graph,
		_ *target.Target) ([]target.Assignment, error) {
		var answer []target.Assignment
		for i, op := range g.Ops {
			answer = append(answer, target.Assignment{Op: op.Name, Member: i})
		}
		return answer, nil
	}))
	soc := newTarget(t, map[string]any{"kind": kind, "devices": slices.Repeat([]any{"llvm"}, 300)})
	one := func(int) target.Op { return target.Op{Kind: "k"} }
	p := must.Get(partition.New(shaped(256, one), soc))(t)
	require.Len(t, p.Groups, 256)
	_, err := partition.New(shaped(257, one), soc)
	requirePartitionError(t, err)
	require.ErrorContains(t, err, "257 members have operations: want at most 256")
}
