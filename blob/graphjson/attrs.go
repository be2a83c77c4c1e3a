package graphjson

import (
	"encoding/json"

	"tvmgo/dlpack"
)

// attrTypes are the types of the attributes that describe data: [type, value] in files.
var attrTypes = map[string]string{
	"dltype": "list_str", "storage_id": "list_int", "shape": "list_shape", "device_index": "list_int",
	"storage_scope": "list_str",
}

// parseAttrs reads the lists that describe all outputs of all nodes.
func (g *Graph) parseAttrs(top object) error {
	var all map[string][]json.RawMessage
	if err := read("attrs", top["attrs"], &all); err != nil {
		return err
	}
	n := 0
	for i := range g.Nodes {
		n += g.Nodes[i].Outputs
	}
	var dtypes, scopes []string
	var storages []int
	var devices []int32
	var shapes [][]int64
	for _, a := range []struct {
		name   string
		needed bool
		to     any
		size   func() int
	}{
		{"dltype", true, &dtypes, func() int { return len(dtypes) }},
		{"storage_id", true, &storages, func() int { return len(storages) }},
		{"shape", true, &shapes, func() int { return len(shapes) }},
		{"device_index", false, &devices, func() int { return len(devices) }},
		{"storage_scope", false, &scopes, func() int { return len(scopes) }},
	} {
		pair, ok := all[a.name]
		if !ok {
			if a.needed {
				return fail("attrs has no %q", a.name)
			}
			continue
		}
		if err := typed(a.name, attrTypes[a.name], pair, a.to); err != nil {
			return err
		}
		if a.size() != n {
			return fail("attribute %s has %d entries, but the nodes have %d outputs", a.name, a.size(), n)
		}
	}
	g.Data = make([]Data, n)
	for i := range g.Data {
		d := &g.Data[i]
		d.Shape, d.Storage = shapes[i], storages[i]
		if devices != nil {
			d.Device = dlpack.DeviceType(max(devices[i], 0))
		}
		if scopes != nil && scopes[i] != "global" {
			d.Scope = scopes[i]
		}
		if err := g.checkData(i, dtypes[i]); err != nil {
			return err
		}
	}
	return nil
}

// typed reads an attribute [type, value] of an expected type.
func typed(name, want string, pair []json.RawMessage, to any) error {
	what := "attribute " + name
	var is string
	if len(pair) != 2 {
		return fail("%s has %d parts: expected a type and a value", what, len(pair))
	}
	if err := read(what, pair[0], &is); err != nil {
		return err
	}
	if is != want {
		return fail("%s has the type %q, not %q", what, is, want)
	}
	return read(what, pair[1], to)
}

// checkData checks an output's shape, type and storage id, and sets the type and the size.
func (g *Graph) checkData(i int, dtype string) error {
	d := &g.Data[i]
	var err error
	if d.DType, err = dlpack.ParseDataTypeClassic(dtype); err != nil {
		return fail("attribute dltype of %s: %w", g.Describe(i), err)
	}
	if d.Shape == nil {
		return fail("attribute shape of %s is null", g.Describe(i))
	}
	if d.Bytes, err = dlpack.DataSize(d.Shape, d.DType); err != nil {
		return fail("attribute shape of %s: %w", g.Describe(i), err)
	}
	if d.Storage < 0 {
		return fail("attribute storage_id of %s is %d: it must not be negative", g.Describe(i), d.Storage)
	}
	return nil
}
