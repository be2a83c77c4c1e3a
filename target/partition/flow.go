package partition

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"tvmgo/internal/nearest"
	"tvmgo/target"
)

// flow is a graph that has been checked. Its operations are numbered by depth, then by name, so that an operation comes
// after those that it uses.
type flow struct {
	ops    []target.Op // copies
	inputs []string
	wanted []bool    // by operation: whether its result is an output of the graph
	uses   [][]int32 // by operation: the operations whose results it uses
	users  [][]int32 // by operation: the operations that use its result
}

func clone(op *target.Op) target.Op {
	return target.Op{Name: op.Name, Kind: op.Kind, Inputs: slices.Clone(op.Inputs), Attrs: maps.Clone(op.Attrs)}
}

func newFlow(g *target.Graph) (*flow, error) {
	if g == nil {
		return nil, noPartition("the graph is nil: give the operations in a target.Graph")
	}
	numbers, err := number(g)
	if err != nil {
		return nil, err
	}
	uses := make([][]int32, len(g.Ops))
	for i := range g.Ops {
		for _, name := range g.Ops[i].Inputs {
			if j, ok := numbers[name]; ok {
				uses[i] = append(uses[i], j)
			}
		}
	}
	depth, whole := depths(uses, inverse(uses))
	if !whole {
		return nil, noPartition("the graph has a cycle: %s: an operation cannot depend on its own result",
			cycle(g, uses, depth))
	}
	order := make([]int32, len(g.Ops))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(depth[a], depth[b]), strings.Compare(g.Ops[a].Name, g.Ops[b].Name))
	})
	place := make([]int32, len(order))
	for i, old := range order {
		place[old] = int32(i)
	}
	f := &flow{ops: make([]target.Op, len(order)), wanted: make([]bool, len(order)), uses: make([][]int32, len(order)),
		inputs: slices.Clone(g.Inputs)}
	for i, old := range order {
		f.ops[i] = clone(&g.Ops[old])
		for _, j := range uses[old] {
			f.uses[i] = append(f.uses[i], place[j])
		}
	}
	f.users = inverse(f.uses)
	for i := range f.wanted {
		f.wanted[i] = len(f.users[i]) == 0
	}
	for _, name := range g.Outputs {
		f.wanted[place[numbers[name]]] = true
	}
	if g.Inputs == nil {
		known := map[string]bool{}
		for _, op := range f.ops {
			for _, name := range op.Inputs {
				if _, ok := numbers[name]; !ok && !known[name] {
					known[name] = true
					f.inputs = append(f.inputs, name)
				}
			}
		}
	}
	return f, nil
}

// number checks the names in a graph, and maps the name of each operation to its index in Ops.
func number(g *target.Graph) (map[string]int32, error) {
	number := make(map[string]int32, len(g.Ops))
	for i := range g.Ops {
		op := &g.Ops[i]
		if err := checkWord(op.Name); err != nil {
			return nil, noPartition("the name of operation %d of the graph (kind %s) %v", i, brief(op.Kind), err)
		}
		if err := checkWord(op.Kind); err != nil {
			return nil, noPartition("operation %s: its kind %v", brief(op.Name), err)
		}
		if first, twice := number[op.Name]; twice {
			return nil, noPartition("operations %d and %d are both named %s: a name stands for one operation", first, i,
				brief(op.Name))
		}
		number[op.Name] = int32(i)
	}
	inputs := make(map[string]bool, len(g.Inputs))
	for i, name := range g.Inputs {
		if err := checkWord(name); err != nil {
			return nil, noPartition("the name of input %d of the graph %v", i, err)
		}
		if _, twice := number[name]; twice || inputs[name] {
			return nil, noPartition("input %d of the graph is named %s, which is also the name of an operation or "+
				"another input", i, brief(name))
		}
		inputs[name] = true
	}
	for i := range g.Ops {
		for j, name := range g.Ops[i].Inputs {
			if err := checkWord(name); err != nil {
				return nil, noPartition("operation %s: the name of input %d %v", brief(g.Ops[i].Name), j, err)
			}
			if _, ok := number[name]; !ok && g.Inputs != nil && !inputs[name] {
				e := noPartition("operation %s: input %d is %s, which is neither an operation nor an input of the graph",
					brief(g.Ops[i].Name), j, brief(name))
				e.Nearest = nearest.Name(name, append(slices.Sorted(maps.Keys(number)), g.Inputs...))
				return nil, e
			}
		}
	}
	for i, name := range g.Outputs {
		if _, ok := number[name]; !ok {
			e := noPartition("output %d of the graph is %s, which is not an operation", i, brief(name))
			e.Nearest = nearest.Name(name, slices.Sorted(maps.Keys(number)))
			return nil, e
		}
	}
	return number, nil
}

func checkWord(s string) error {
	if s == "" {
		return fmt.Errorf("is empty")
	}
	if !utf8.ValidString(s) || strings.Contains(s, "\x00") {
		return fmt.Errorf("is not text: %s contains a NUL character or is not valid UTF-8", brief(s))
	}
	return nil
}

// brief quotes a text for a message, at most its first 60 bytes.
func brief(s string) string {
	if len(s) > 60 {
		s = strings.ToValidUTF8(s[:60], "") + "…"
	}
	return fmt.Sprintf("%q", s)
}

func inverse(uses [][]int32) [][]int32 {
	users := make([][]int32, len(uses))
	for i, all := range uses {
		for _, j := range all {
			users[j] = append(users[j], int32(i))
		}
	}
	return users
}

// depths returns the number of edges on the longest path to each node. For nodes of a cycle and nodes that depend on
// one it is -1, and the second result is false.
func depths(uses, users [][]int32) (depth []int32, whole bool) {
	depth = make([]int32, len(uses))
	missing := make([]int, len(uses))
	ready := make([]int32, 0, len(uses))
	for i, all := range uses {
		depth[i], missing[i] = -1, len(all)
		if len(all) == 0 {
			depth[i] = 0
			ready = append(ready, int32(i))
		}
	}
	for next := 0; next < len(ready); next++ {
		i := ready[next]
		for _, j := range users[i] {
			if missing[j]--; missing[j] == 0 { // i was its last dependency, and ready is sorted by depth
				depth[j] = depth[i] + 1
				ready = append(ready, j)
			}
		}
	}
	return depth, len(ready) == len(uses)
}

// cycle returns the names of the operations of a cycle, in the order in which results flow, beginning with the smallest
// name.
func cycle(g *target.Graph, uses [][]int32, depth []int32) string {
	less := func(a, b int32) int { return strings.Compare(g.Ops[a].Name, g.Ops[b].Name) }
	var stuck []int32
	for i := range uses {
		if depth[i] < 0 {
			stuck = append(stuck, int32(i))
		}
	}
	at := slices.MinFunc(stuck, less)
	seen, way := map[int32]int{}, []int32(nil)
	for {
		if start, again := seen[at]; again {
			way = way[start:]
			break
		}
		seen[at] = len(way)
		way = append(way, at)
		waits := slices.DeleteFunc(slices.Clone(uses[at]), func(j int32) bool { return depth[j] >= 0 })
		at = slices.MinFunc(waits, less)
	}
	slices.Reverse(way)
	first := slices.Index(way, slices.MinFunc(way, less))
	way = slices.Concat(way[first:], way[:first])
	const most = 12
	var b strings.Builder
	for i, j := range way {
		if i == most {
			fmt.Fprintf(&b, "%d more -> ", len(way)-most)
			break
		}
		b.WriteString(brief(g.Ops[j].Name) + " -> ")
	}
	b.WriteString(brief(g.Ops[way[0]].Name))
	return b.String()
}
