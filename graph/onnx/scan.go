package onnx

import (
	"math"
	"slices"

	"tvmgo/graph"
	"tvmgo/graph/onnx/file"
)

func init() { add("Scan", scan) }

// at returns entry k of a list of integers in an attribute; 0 if the list is left out.
func (c *conv) at(name string, k int) int64 {
	if a := c.attrs[name]; a != nil && k < len(a.Ints) {
		return a.Ints[k]
	}
	return 0
}

// scan has batches, and lengths of sequences, before operator set 9.
func scan(c *conv) error {
	run := c.scanned
	if c.opset < 9 {
		run = c.scanBatches
	}
	outs, err := run()
	if err != nil {
		return err
	}
	c.bind(outs)
	return nil
}

// scanBatches is a loop over the batches, the first dimension of all operands, of which each is scanned.
func (c *conv) scanBatches() ([]*graph.Value, error) {
	if len(c.in) < 2 || slices.Contains(c.in[1:], nil) {
		return nil, c.fail("operands are left out: want the lengths, which may be left out, states and scan inputs")
	}
	if c.in[0] != nil {
		return nil, c.fail("lengths of sequences are not supported: export the model with operator set 9 or later")
	}
	n, err := c.add("shape", graph.Attrs{"start": int64(0), "end": int64(1)}, c.in[1])
	if err != nil {
		return nil, err
	}
	trips, err := c.add("reshape", nil, n, c.scope.fn.Ints("scalar"))
	if err != nil {
		return nil, err
	}
	return c.scope.fn.AddLoop(&graph.Node{Source: c.source}, trips, nil, nil, func(fn *graph.Function, batch,
		_ *graph.Value, _ []*graph.Value) (more *graph.Value, next, collected []*graph.Value, err error) {
		one := *c
		one.scope = &scope{outer: c.scope, fn: fn, opsets: c.scope.opsets, attrs: c.scope.attrs, prefix: c.scope.prefix,
			values: map[string]*graph.Value{}}
		one.attrs = map[string]*file.Attribute{"body": c.attrs["body"], "num_scan_inputs": c.attrs["num_scan_inputs"],
			"scan_input_directions": c.attrs["directions"]}
		one.in = nil
		for _, v := range c.in[1:] {
			of, err := one.add("gather", nil, v, batch)
			if err != nil {
				return nil, nil, nil, err
			}
			one.in = append(one.in, of)
		}
		collected, err = one.scanned()
		return nil, nil, collected, err
	})
}

// scanned is a loop over an axis of the scan inputs: an iteration reads one slice of each.
func (c *conv) scanned() ([]*graph.Value, error) {
	body := c.attrs["body"]
	inputs := int(c.integer("num_scan_inputs", 0))
	states := len(c.in) - inputs
	if body == nil || body.Graph == nil || inputs < 1 || states < 0 {
		return nil, c.fail("attribute body is missing, or num_scan_inputs is %d: want 1 to %d", inputs, len(c.in))
	}
	for k, v := range c.in {
		if v == nil {
			return nil, c.fail("operand %d is left out", k)
		}
	}
	axes := make([]int64, inputs)
	var trips *graph.Value
	for k := range axes {
		v := c.in[states+k]
		if axes[k] = c.at("scan_input_axes", k); axes[k] < 0 {
			axes[k] += int64(len(v.Shape))
		}
		if axes[k] < 0 || axes[k] >= int64(len(v.Shape)) {
			return nil, c.fail("scan input %d has no axis %d", k, c.at("scan_input_axes", k))
		}
		if k > 0 {
			continue
		}
		n, err := c.add("shape", graph.Attrs{"start": axes[0], "end": axes[0] + 1}, v)
		if err != nil {
			return nil, err
		}
		if trips, err = c.add("reshape", nil, n, c.scope.fn.Ints("scalar")); err != nil {
			return nil, err
		}
	}
	outs, err := c.scope.fn.AddLoop(&graph.Node{Source: c.source}, trips, nil, c.in[:states],
		func(fn *graph.Function, iteration, _ *graph.Value, now []*graph.Value) (more *graph.Value, next,
			collected []*graph.Value, err error) {
			values := append([]*graph.Value{}, now...)
			for k, axis := range axes {
				index := iteration
				if c.at("scan_input_directions", k) != 0 {
					if index, err = c.fromEnd(fn, c.in[states+k], axis, iteration); err != nil {
						return nil, nil, nil, err
					}
				}
				v, err := fn.Add("gather", graph.Attrs{"axis": axis}, c.in[states+k], index)
				if err != nil {
					return nil, nil, nil, c.fail("%w", err)
				}
				values = append(values, v[0])
			}
			results, err := c.body(body.Graph, fn, values)
			if err == nil && len(results) < states {
				err = c.fail("the body has %d outputs: want at least %d", len(results), states)
			}
			if err != nil {
				return nil, nil, nil, err
			}
			return nil, results[:states], results[states:], nil
		})
	if err != nil {
		return nil, err
	}
	for k := states; k < len(outs); k++ {
		if outs[k], err = c.placeRows(outs[k], c.at("scan_output_axes", k-states),
			c.at("scan_output_directions", k-states) != 0); err != nil {
			return nil, err
		}
	}
	return outs, nil
}

// fromEnd returns the index that counts from the end of an axis.
func (c *conv) fromEnd(fn *graph.Function, v *graph.Value, axis int64, index *graph.Value) (*graph.Value, error) {
	n, err := fn.Add("shape", graph.Attrs{"start": axis, "end": axis + 1}, v)
	if err != nil {
		return nil, c.fail("%w", err)
	}
	last, err := fn.Add("sub", nil, n[0], fn.Ints("one", 1))
	if err != nil {
		return nil, c.fail("%w", err)
	}
	at, err := fn.Add("sub", nil, last[0], index)
	if err != nil {
		return nil, c.fail("%w", err)
	}
	scalar, err := fn.Add("reshape", nil, at[0], fn.Ints("scalar"))
	if err != nil {
		return nil, c.fail("%w", err)
	}
	return scalar[0], nil
}

// placeRows puts the rows of a collected value, which are its first dimension, along another axis, or in reverse order.
func (c *conv) placeRows(v *graph.Value, axis int64, reverse bool) (*graph.Value, error) {
	var err error
	if reverse {
		fn := c.scope.fn
		if v, err = c.add("slice", nil, v, fn.Ints("starts", -1), fn.Ints("ends", math.MinInt64), fn.Ints("axes", 0),
			fn.Ints("steps", -1)); err != nil {
			return nil, err
		}
	}
	rank := int64(len(v.Shape))
	if axis < 0 {
		axis += rank
	}
	if axis == 0 {
		return v, nil
	}
	if axis < 0 || axis >= rank {
		return nil, c.fail("a scan output has no axis %d", axis)
	}
	perm := []int64{}
	for d := int64(1); d < rank; d++ {
		perm = append(perm, d)
	}
	perm = append(perm[:axis], append([]int64{0}, perm[axis:]...)...)
	return c.add("transpose", graph.Attrs{"perm": perm}, v)
}
