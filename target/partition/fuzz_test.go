package partition_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/target"
	"tvmgo/target/partition"
)

// fuzzNames lists names for operations, their inputs and outputs; not all of them are valid.
var fuzzNames = []string{"", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "in", "\xff"}

// decodeGraph makes a graph from any bytes: the name, kind and inputs of each operation, then outputs and inputs of the
// graph.
func decodeGraph(data []byte) *target.Graph {
	next := func() byte {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		data = data[1:]
		return b
	}
	names := func(n byte) (all []string) {
		for range n {
			all = append(all, fuzzNames[next()%16])
		}
		return all
	}
	flags := next()
	g := &target.Graph{}
	if flags&1 != 0 {
		g.Outputs = names(flags >> 2 & 3)
	}
	if flags&2 != 0 {
		g.Inputs = names(flags >> 4 & 7)
	}
	for len(data) > 0 {
		head, kind := next(), next()
		op := target.Op{Name: fuzzNames[head%16], Kind: []string{"k0", "k1", "k2", "k3", "k4", "k5", "nobody", ""}[kind%8]}
		op.Inputs = names(head >> 4 & 3)
		g.Ops = append(g.Ops, op)
	}
	return g
}

// soundGraph reports whether a graph has a plan: by repeated removal of operations that wait for nothing.
func soundGraph(g *target.Graph) bool {
	isName := func(s string) bool { return s != "" && s != "\xff" }
	left := map[string]target.Op{}
	for _, op := range g.Ops {
		if _, twice := left[op.Name]; twice || !isName(op.Name) || op.Kind == "" || op.Kind == "nobody" {
			return false
		}
		left[op.Name] = op
	}
	for i, name := range g.Inputs {
		if _, isOp := left[name]; isOp || !isName(name) || slices.Contains(g.Inputs[:i], name) {
			return false
		}
	}
	for _, name := range g.Outputs {
		if _, ok := left[name]; !ok {
			return false
		}
	}
	for _, op := range g.Ops {
		for _, name := range op.Inputs {
			_, isOp := left[name]
			if !isName(name) || !isOp && g.Inputs != nil && !slices.Contains(g.Inputs, name) {
				return false
			}
		}
	}
	for removed := true; removed; {
		removed = false
		for name, op := range left {
			if !slices.ContainsFunc(op.Inputs, func(in string) bool { _, waits := left[in]; return waits }) {
				delete(left, name)
				removed = true
			}
		}
	}
	return len(left) == 0
}

func FuzzPartition(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 1, 0, 0x12, 1, 1, 0x23, 0, 1, 2})       // a; b(a); c(a, b)
	f.Add([]byte{5, 3, 0x11, 0, 2, 0x12, 1, 1})             // a and b in a circle
	f.Add([]byte{0x12, 14, 0x11, 0, 14, 1, 2})              // an input, and an operation twice
	f.Add([]byte{0, 1, 0, 2, 1, 0x13, 0, 2, 0x14, 1, 1, 5}) // lines that cross
	sets := [][]string{{"k0", "k3"}, {"k0", "k1"}, {"k2", "k3"}, {"k4", "k5"}}
	var members []*target.Target
	for _, kinds := range sets {
		members = append(members, onlyKinds(f, kinds...))
	}
	soc := composite(f, members...)
	owner := func(op *target.Op) int {
		return slices.IndexFunc(sets, func(kinds []string) bool { return slices.Contains(kinds, op.Kind) })
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		g := decodeGraph(data)
		p, err := partition.New(g, soc)
		if !soundGraph(g) {
			requirePartitionError(t, err)
			return
		}
		require.NoError(t, err)
		requirePlan(t, g, p, owner)
		slices.Reverse(g.Ops)
		require.Equal(t, p, must.Get(partition.New(g, soc))(t))
	})
}
