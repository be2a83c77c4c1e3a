package graph

import (
	"errors"

	"tvmgo/blob"
	"tvmgo/internal/fault"
	"tvmgo/runtime"
	"tvmgo/weights"
)

// dictionary reads an argument with parameters: a dictionary (docs/abi.md G.2), or any other format of package weights.
// The data of the tensors are views that are valid until close.
func dictionary(op string, arg any) (names []string, tensors []blob.Tensor, close func() error, err error) {
	data, ok := arg.([]byte)
	if s, isText := arg.(string); isText {
		data, ok = []byte(s), true
	}
	if !ok {
		return nil, nil, nil, fault.New(op, runtime.ErrInvalidArgument,
			"expected the bytes of a parameter dictionary, got %s", kindOf(arg))
	}
	set, err := weights.Parse(data)
	if err != nil {
		return nil, nil, nil, weightsError(op, err)
	}
	if names, tensors, err = viewsOf(set); err != nil {
		return nil, nil, nil, errors.Join(fault.Wrap(op, runtime.ErrFailed, err), set.Close())
	}
	return names, tensors, set.Close, nil
}

func weightsError(op string, err error) error {
	if errors.Is(err, weights.ErrCorrupt) {
		return fault.Wrap(op, runtime.ErrCorruptModule, err)
	}
	return fault.Wrap(op, runtime.ErrInvalidArgument, err)
}

// viewsOf returns the tensors of a set. Their data is that of the set.
func viewsOf(set *weights.Set) (names []string, tensors []blob.Tensor, err error) {
	for _, t := range set.Tensors() {
		data, err := t.Data()
		if err != nil {
			return nil, nil, err
		}
		names = append(names, t.Name)
		tensors = append(tensors, blob.Tensor{DType: t.DType, Shape: t.Shape, Data: data})
	}
	return names, tensors, nil
}
