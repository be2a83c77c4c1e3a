package partition_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/target"
	"tvmgo/target/partition"
)

// requirePlan checks independently that a plan has the documented properties. owner returns the member of each
// operation.
func requirePlan(t testing.TB, g *target.Graph, p *partition.Plan, owner func(op *target.Op) int) {
	ops := map[string]*target.Op{}
	for i := range g.Ops {
		ops[g.Ops[i].Name] = &g.Ops[i]
	}
	group, place := map[string]int{}, map[string]int{}
	for n, gr := range p.Groups {
		require.NotEmpty(t, gr.Ops)
		for i, op := range gr.Ops {
			require.NotContains(t, group, op.Name, "an operation stands in one group")
			require.Equal(t, ops[op.Name], &op)
			require.Equal(t, []int{owner(&op)}, gr.Member, "operation %s", op.Name)
			require.Same(t, p.Target.Members()[gr.Member[0]], gr.Target)
			group[op.Name], place[op.Name] = n, i
			why, ok := p.Why(op.Name)
			require.True(t, ok)
			require.Equal(t, n, why.Group)
			require.Len(t, why.Refused, gr.Member[0], "all that stand before refused it")
			for m, r := range why.Refused {
				require.Equal(t, []int{m}, r.Member)
			}
		}
	}
	require.Len(t, group, len(ops))
	require.Len(t, p.Decisions, len(ops))

	n := len(p.Groups)
	used := map[string]bool{}
	direct := make([][]bool, n) // by groups: the second uses results of the first
	for i := range direct {
		direct[i] = make([]bool, n)
	}
	inputs := make([][]string, n)
	for i, gr := range p.Groups {
		for _, op := range gr.Ops {
			for _, in := range op.Inputs {
				from, isOp := group[in]
				if isOp {
					used[in] = true
					require.LessOrEqual(t, from, i, "%s runs before it has %s", op.Name, in)
				}
				if isOp && from == i {
					require.Less(t, place[in], place[op.Name], "%s stands before %s", op.Name, in)
					continue
				}
				if isOp {
					direct[from][i] = true
				}
				if !slices.Contains(inputs[i], in) {
					inputs[i] = append(inputs[i], in)
				}
			}
		}
	}
	for i, gr := range p.Groups {
		require.ElementsMatch(t, inputs[i], gr.Inputs)
		after := []int{}
		for j := range i {
			if direct[j][i] {
				after = append(after, j)
			}
		}
		require.Equal(t, after, gr.After)
		var outputs []string
		for _, op := range gr.Ops {
			leaves := !used[op.Name] || slices.Contains(g.Outputs, op.Name)
			for _, other := range p.Groups[i+1:] {
				leaves = leaves || slices.Contains(other.Inputs, op.Name)
			}
			if leaves {
				outputs = append(outputs, op.Name)
			}
		}
		require.Equal(t, outputs, gr.Outputs)
	}
	requireUnmergeable(t, p, direct)
}

// requireUnmergeable fails if two groups of one member could be merged: if no path from the earlier group to the later
// one leads through others.
func requireUnmergeable(t testing.TB, p *partition.Plan, direct [][]bool) {
	n := len(p.Groups)
	for i := range n {
		through := make([]bool, n) // reached from i by way of another group
		reached := make([]bool, n)
		for j := i + 1; j < n; j++ {
			for k := i + 1; k < j; k++ {
				through[j] = through[j] || reached[k] && direct[k][j]
			}
			reached[j] = through[j] || direct[i][j]
			if !through[j] && slices.Equal(p.Groups[i].Member, p.Groups[j].Member) {
				require.Fail(t, "two groups could be one", "%d and %d of %s", i, j, groupsOf(p))
			}
		}
	}
}

// randomGraph returns a graph with operations of kinds k0, k1, …, each of which uses each earlier one with a
// probability.
func randomGraph(r *rand.Rand, n, kinds int, density float64) *target.Graph {
	g := &target.Graph{}
	for i, number := range r.Perm(n) { // names say nothing of the order
		op := target.Op{Name: fmt.Sprintf("op%d", number), Kind: fmt.Sprintf("k%d", r.IntN(kinds)), Inputs: []string{}}
		for j := range i {
			if r.Float64() < density {
				op.Inputs = append(op.Inputs, g.Ops[j].Name)
			}
		}
		if r.IntN(3) == 0 {
			op.Inputs = append(op.Inputs, fmt.Sprintf("in%d", r.IntN(4)))
		}
		if r.IntN(8) == 0 {
			g.Outputs = append(g.Outputs, op.Name)
		}
		g.Ops = append(g.Ops, op)
	}
	return g
}

// sieve returns a composite target whose first three members accept overlapping sets of kinds, and whose last member
// accepts everything.
func sieve(t testing.TB) (soc *target.Target, owner func(op *target.Op) int) {
	sets := [][]string{{"k0", "k3"}, {"k0", "k1"}, {"k2", "k3"}}
	members := []*target.Target{}
	for _, kinds := range sets {
		members = append(members, onlyKinds(t, kinds...))
	}
	return composite(t, append(members, newTarget(t, "llvm"))...), func(op *target.Op) int {
		i := slices.IndexFunc(sets, func(kinds []string) bool { return slices.Contains(kinds, op.Kind) })
		if i < 0 {
			return len(sets)
		}
		return i
	}
}

func TestPartition_Random(t *testing.T) {
	soc, owner := sieve(t)
	for seed := range uint64(600) {
		r := rand.New(rand.NewPCG(seed, 1))
		g := randomGraph(r, r.IntN(40), 1+r.IntN(5), []float64{0.02, 0.05, 0.1, 0.3}[seed%4])
		p := must.Get(partition.New(g, soc))(t)
		requirePlan(t, g, p, owner)
		for range 3 {
			r.Shuffle(len(g.Ops), func(i, j int) { g.Ops[i], g.Ops[j] = g.Ops[j], g.Ops[i] })
			q := must.Get(partition.New(g, soc))(t)
			require.Equal(t, p, q, "seed %d", seed)
			require.Equal(t, p.JSON(), q.JSON())
			require.Equal(t, p.String(), q.String())
		}
	}
}

func TestPartition_Large(t *testing.T) {
	soc, owner := sieve(t)
	for _, s := range shapes {
		g := shaped(300, s.op)
		for i := range g.Ops {
			g.Ops[i].Kind = map[string]string{"even": "k0", "odd": "k1", "third": "k2", "fourth": "k4",
				"fifth": "k1"}[g.Ops[i].Kind]
		}
		p := must.Get(partition.New(g, soc))(t)
		requirePlan(t, g, p, owner)
	}
	p, err := partition.New(shaped(10_000, shapes[0].op), composite(t, onlyKinds(t, "even"), onlyKinds(t, "odd")))
	require.NoError(t, err)
	require.Len(t, p.Groups, 1)
	p, err = partition.New(shaped(10_000, shapes[1].op), composite(t, onlyKinds(t, "even"), onlyKinds(t, "odd")))
	require.NoError(t, err)
	require.Len(t, p.Groups, 10_000)
}

// TestPartition_NearTheLeast compares with the smallest possible number of groups, which exhaustive search finds.
func TestPartition_NearTheLeast(t *testing.T) {
	soc, owner := sieve(t)
	ours, least := 0, 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		g := randomGraph(r, 12, 5, 0.15)
		p := must.Get(partition.New(g, soc))(t)
		best := leastGroups(g, owner)
		require.GreaterOrEqual(t, len(p.Groups), best)
		ours, least = ours+len(p.Groups), least+best
	}
	t.Logf("%d groups, %d at the least", ours, least)
	require.LessOrEqual(t, float64(ours), 1.05*float64(least))
}

// leastGroups searches the sets of operations that can have run after one group, two groups, …
func leastGroups(g *target.Graph, owner func(op *target.Op) int) int {
	number := map[string]int{}
	for i, op := range g.Ops {
		number[op.Name] = i
	}
	uses, of := make([]uint, len(g.Ops)), make([]int, len(g.Ops))
	for i := range g.Ops {
		of[i] = owner(&g.Ops[i])
		for _, in := range g.Ops[i].Inputs {
			if j, ok := number[in]; ok {
				uses[i] |= 1 << j
			}
		}
	}
	sets := map[uint]bool{0: true}
	for n := 0; ; n++ {
		next := map[uint]bool{}
		for done := range sets {
			if done == 1<<len(g.Ops)-1 {
				return n
			}
			for member := range 4 {
				all := done
				for i := range g.Ops { // operations stand behind those that they use
					if of[i] == member && uses[i]&^all == 0 {
						all |= 1 << i
					}
				}
				if all != done {
					next[all] = true
				}
			}
		}
		sets = next
	}
}
