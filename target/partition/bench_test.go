package partition_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/target"
	"tvmgo/target/partition"
)

// shapes are graphs of n operations; those of kind "even" and "odd" belong to different members.
var shapes = []struct {
	name string
	op   func(i int) target.Op
}{
	{"line of one member", func(i int) target.Op { return target.Op{Kind: "even", Inputs: after(i, 1)} }},
	{"line of two members alternately", func(i int) target.Op { return target.Op{Kind: evenOdd(i), Inputs: after(i, 1)} }},
	{"lattice", func(i int) target.Op {
		return target.Op{Kind: evenOdd(i * 7 / 3), Inputs: append(after(i, 1), after(i, 100)...)}
	}},
	{"no edges", func(i int) target.Op { return target.Op{Kind: evenOdd(i)} }},
	// A line depends on the first group. One operation after the other that depends on another line joins that group,
	// so that the whole first line depends on more.
	{"late joins", func(i int) target.Op {
		switch i % 3 {
		case 0:
			return target.Op{Kind: "even", Inputs: after(i, 1)}
		case 1:
			return target.Op{Kind: []string{"third", "fourth"}[i/3%2], Inputs: after(i, min(i, 3))}
		}
		return target.Op{Kind: []string{"fifth", "odd"}[i/3%2], Inputs: after(i, 3)}
	}},
}

func evenOdd(i int) string { return []string{"even", "odd"}[i%2] }

func name(i int) string { return fmt.Sprintf("op%06d", i) }

// after returns the name of the operation at this distance before another one.
func after(i, far int) []string {
	if i < far {
		return nil
	}
	return []string{name(i - far)}
}

func shaped(n int, op func(i int) target.Op) *target.Graph {
	g := &target.Graph{Ops: make([]target.Op, n)}
	for i := range g.Ops {
		g.Ops[i] = op(i)
		g.Ops[i].Name = name(i)
	}
	return g
}

func BenchmarkPartition(b *testing.B) {
	pair := composite(b, onlyKinds(b, "even"), onlyKinds(b, "odd"), onlyKinds(b, "third"), onlyKinds(b, "fourth"),
		onlyKinds(b, "fifth"))
	for _, s := range shapes {
		g := shaped(10_000, s.op)
		b.Run(s.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p, err := partition.New(g, pair)
				require.NoError(b, err)
				b.ReportMetric(float64(len(p.Groups)), "groups")
			}
		})
	}
}
