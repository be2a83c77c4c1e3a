package graphjson

import "fmt"

// checkLife checks that no node overwrites data that are still needed. A function may write its result over an
// argument of the same size that nothing needs afterwards. The data of inputs are always needed, since they are set
// once for many runs.
func (g *Graph) checkLife(p *Plan) error {
	const always = int(^uint(0) >> 1)
	last := make([]int, len(g.Data)) // the last node that reads the data, and those that are the same data
	for i := range g.Nodes {
		for _, r := range g.Nodes[i].Args {
			last[p.Alias[g.DataOf(r)]] = i
		}
	}
	for _, r := range g.Outputs {
		last[p.Alias[g.DataOf(r)]] = always
	}
	alive := map[int][]int{} // storage -> data
	for _, n := range g.Inputs {
		i := g.Nodes[n].First
		last[i] = always
		s := g.Data[i].Storage
		if len(alive[s]) > 0 {
			return fail("attribute storage_id: the inputs %s and %s have one storage id, %d", g.Describe(alive[s][0]),
				g.Describe(i), s)
		}
		alive[s] = []int{i}
	}
	for k := range g.Nodes {
		n := &g.Nodes[k]
		if n.Func == "" || n.Func == Nop {
			continue
		}
		for i := n.First; i < n.First+n.Outputs; i++ {
			s := g.Data[i].Storage
			kept := alive[s][:0]
			for _, d := range alive[s] {
				switch {
				case last[d] > k || d >= n.First:
					return fail("attribute storage_id: %s overwrites %s, which has the same storage id %d and is needed %s",
						g.Describe(i), g.Describe(d), s, g.neededBy(last[d], always))
				case last[d] == k && g.Data[d].Bytes != g.Data[i].Bytes:
					return fail("attribute storage_id: %s, of %d bytes, overwrites its input %s, of %d bytes: both have the "+
						"storage id %d", g.Describe(i), g.Data[i].Bytes, g.Describe(d), g.Data[d].Bytes, s)
				case last[d] == k:
					kept = append(kept, d) // for a second output
				}
			}
			alive[s] = append(kept, i)
		}
	}
	return nil
}

func (g *Graph) neededBy(last, always int) string {
	if last == always {
		return "afterwards"
	}
	return fmt.Sprintf("by %s", g.Title(last))
}
