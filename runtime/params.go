package runtime

import (
	"bytes"
	"fmt"

	"tvmgo/internal/fault"
	"tvmgo/internal/globals"
	"tvmgo/internal/value"
	"tvmgo/weights"
)

// Global functions with TVM's names read and write parameter dictionaries for C and Python. C registers their names:
// internal/core/loader/builtins_export.c.
func init() {
	globals.Set("runtime.SaveParams", func(args ...any) (any, error) {
		const op = "runtime.SaveParams(params)"
		if err := value.CheckCount(op, args, 1, 1); err != nil {
			return nil, err
		}
		arrays, err := arraysOf(op, args[0])
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		if err := weights.Encode(&b, weights.Params, arrays, nil); err != nil {
			return nil, fault.Wrap(op, ErrInvalidArgument, err)
		}
		return b.Bytes(), nil
	})
	globals.Set("runtime.SaveParamsToFile", func(args ...any) (any, error) {
		const op = "runtime.SaveParamsToFile(params, path)"
		if err := value.CheckCount(op, args, 2, 2); err != nil {
			return nil, err
		}
		path, err := value.Text(op, args, 1)
		if err != nil {
			return nil, err
		}
		arrays, err := arraysOf(op, args[0])
		if err != nil {
			return nil, err
		}
		return nil, fault.Wrap(op, ErrFailed, weights.Write(path, weights.Params, arrays, nil))
	})
	globals.Set("runtime.LoadParams", func(args ...any) (any, error) {
		const op = "runtime.LoadParams(bytes)"
		if err := value.CheckCount(op, args, 1, 1); err != nil {
			return nil, err
		}
		data, err := value.Text(op, args, 0)
		if err != nil {
			return nil, err
		}
		set, err := weights.Parse([]byte(data))
		return paramsOf(op, set, err)
	})
	globals.Set("runtime.LoadParamsFromFile", func(args ...any) (any, error) {
		const op = "runtime.LoadParamsFromFile(path)"
		if err := value.CheckCount(op, args, 1, 1); err != nil {
			return nil, err
		}
		path, err := value.Text(op, args, 0)
		if err != nil {
			return nil, err
		}
		set, err := weights.Open(path)
		return paramsOf(op, set, err)
	})
}

// paramsOf returns the tensors of a set on the CPU by their names, and closes the set.
func paramsOf(op string, set *weights.Set, err error) (any, error) {
	if err != nil {
		return nil, fault.Wrap(op, openKind(err), err)
	}
	defer set.Close()
	if err := set.Align(); err != nil {
		return nil, weightsError(op, err)
	}
	params := make(Map, 0, len(set.Tensors()))
	for _, w := range set.Tensors() {
		t, err := FromWeights(w, CPU)
		if err != nil {
			value.Close(params)
			return nil, fmt.Errorf("tensor %q: %w", w.Name, err)
		}
		params = append(params, Entry{Key: w.Name, Value: t})
	}
	return globals.Owned{Value: params}, nil
}

// arraysOf copies the tensors of a map from their devices.
func arraysOf(op string, v any) ([]weights.Array, error) {
	params, ok := v.(Map)
	if !ok {
		return nil, fault.New(op, ErrInvalidArgument, "argument 0: expected a map of names and tensors, got %T", v)
	}
	arrays := make([]weights.Array, 0, len(params))
	for _, e := range params {
		name, isText := e.Key.(string)
		t, isTensor := e.Value.(*Tensor)
		if !isText || !isTensor {
			return nil, fault.New(op, ErrInvalidArgument, "argument 0: expected a map of names and tensors, got %T and %T",
				e.Key, e.Value)
		}
		a := weights.Array{Name: name, DType: t.DType(), Shape: t.Shape(), Data: make([]byte, t.Size())}
		if err := t.CopyToBytes(a.Data); err != nil {
			return nil, fmt.Errorf("%s: tensor %q: %w", op, name, err)
		}
		arrays = append(arrays, a)
	}
	return arrays, nil
}
