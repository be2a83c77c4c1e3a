package graphjson

import (
	"cmp"
	"slices"

	"tvmgo/dlpack"
)

// Plan says which data share memory.
type Plan struct {
	Storages []Storage
	// Alias has for each entry of Graph.Data the first entry that is the same data: the operand of a chain of
	// [Nop]. It is the entry itself for all others.
	Alias []int
}

// Storage is memory for all data with one storage id.
type Storage struct {
	ID     int
	Data   []int // indexes of Graph.Data, ascending
	Bytes  int64 // of the largest
	Device dlpack.DeviceType
	Scope  string
	// Input is the index in Graph.Inputs of an input whose data is all that the storage ever contains: no function
	// writes to it, and no other input is in it. It is -1 for all other storages.
	Input int
}

// Plan plans the memory. The error says which data of one storage id do not fit together.
func (g *Graph) Plan() (*Plan, error) {
	p := &Plan{Alias: make([]int, len(g.Data))}
	for i := range g.Data {
		p.Alias[i] = i
	}
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.Func == Nop {
			p.Alias[n.First] = p.Alias[g.DataOf(n.Args[0])]
		}
	}
	at := map[int]int{}
	for i := range g.Data {
		d := &g.Data[i]
		k, ok := at[d.Storage]
		if !ok {
			k = len(p.Storages)
			at[d.Storage] = k
			p.Storages = append(p.Storages, Storage{ID: d.Storage, Device: d.Device, Scope: d.Scope, Input: -1})
		}
		if err := g.add(&p.Storages[k], i); err != nil {
			return nil, err
		}
	}
	if err := g.checkLife(p); err != nil {
		return nil, err
	}
	for k, i := range g.Inputs {
		s := &p.Storages[at[g.Data[g.Nodes[i].First].Storage]]
		if !slices.ContainsFunc(s.Data, func(e int) bool { return p.Alias[e] != g.Nodes[i].First }) {
			s.Input = k
		}
	}
	slices.SortFunc(p.Storages, func(a, b Storage) int { return cmp.Compare(a.ID, b.ID) })
	return p, nil
}

// add adds data to a storage.
func (g *Graph) add(s *Storage, i int) error {
	d := &g.Data[i]
	if d.Device != s.Device {
		return fail("attribute device_index: %s is on %v, but %s, which has the same storage id %d, is on %v", g.Describe(i),
			d.Device, g.Describe(s.Data[0]), s.ID, s.Device)
	}
	if d.Scope != s.Scope {
		return fail("attribute storage_scope: %s is in scope %q, but %s, which has the same storage id %d, is in %q",
			g.Describe(i), d.Scope, g.Describe(s.Data[0]), s.ID, s.Scope)
	}
	if len(s.Data) > 0 && s.Scope != "" {
		if first := &g.Data[s.Data[0]]; !slices.Equal(first.Shape, d.Shape) || first.DType != d.DType {
			return fail("attribute storage_scope: %s and %s have the same storage id %d in scope %q, but their shapes or types "+
				"differ: memory of a scope is not shared that way", g.Describe(i), g.Describe(s.Data[0]), s.ID, s.Scope)
		}
	}
	s.Data = append(s.Data, i)
	s.Bytes = max(s.Bytes, d.Bytes)
	return nil
}
