// Command deploy_model loads a whole model with its parameters, lists its functions, and runs one from two goroutines
// with different batch sizes:
//
//	deploy_model MODEL.so PARAMS IN.npy OUT.npy [FUNCTION]
//
// IN and OUT are float32: the first input of the function and what it must return. The first dimension is the batch.
package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sync"
	"unsafe"

	"tvmgo/dlpack"
	"tvmgo/runtime"
	_ "tvmgo/runtime/all" // virtual machine, graph executor, and all devices that the build tags include
	"tvmgo/weights"
)

const calls = 100 // of each goroutine

func main() {
	if len(os.Args) < 5 || len(os.Args) > 6 {
		fmt.Fprintf(os.Stderr, "usage: %s MODEL.so PARAMS IN.npy OUT.npy [FUNCTION]\n", os.Args[0])
		os.Exit(2)
	}
	function := "forward"
	if len(os.Args) == 6 {
		function = os.Args[5]
	}
	if err := run(context.Background(), os.Stdout, os.Args[1], os.Args[2], os.Args[3], os.Args[4], function); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, library, params, inFile, outFile, function string) error {
	in, err := readNPY(inFile)
	if err != nil {
		return err
	}
	out, err := readNPY(outFile)
	if err != nil {
		return err
	}
	model, err := runtime.LoadModel(ctx, library, runtime.WithParams(params))
	if err != nil {
		return err
	}
	defer model.Close()

	for _, f := range model.Functions() {
		fmt.Fprintln(w, f)
	}
	f, err := model.Function(function)
	if err != nil {
		return err
	}
	input := slices.IndexFunc(f.Params, func(p runtime.ValueInfo) bool { return !p.Bound })
	if input < 0 {
		return fmt.Errorf("function %q has no input", function)
	}

	// Both goroutines use the same model.
	batches := []int64{1, in.shape[0]}
	failed := make([]error, len(batches))
	var group sync.WaitGroup
	for i, batch := range batches {
		group.Go(func() {
			for range calls {
				if failed[i] = call(ctx, model, function, f.Params[input].Name, in, out, batch); failed[i] != nil {
					return
				}
			}
		})
	}
	group.Wait()
	for i, batch := range batches {
		if failed[i] != nil {
			return failed[i]
		}
		fmt.Fprintf(w, "thread %d: %d calls with a batch of %d, and all are right\n", i+1, calls, batch)
	}
	memory, err := model.Memory()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "memory: %d bytes of weights for both threads\n", memory.Weights)
	return nil
}

// call runs the function with the first rows of the input, and checks the result.
func call(ctx context.Context, model *runtime.Model, function, input string, in, out *array, rows int64) error {
	x, err := runtime.FromSlice(in.first(rows), append([]int64{rows}, in.shape[1:]...)...)
	if err != nil {
		return err
	}
	defer x.Close()
	results, err := model.RunFunction(ctx, function, runtime.Named{input: x})
	if err != nil {
		return err
	}
	defer results.Close()
	y, err := results.Tensor(0)
	if err != nil {
		return err
	}
	got, err := runtime.ToSlice[float32](y)
	if err != nil {
		return err
	}
	want := out.first(rows)
	if len(got) != len(want) {
		return fmt.Errorf("wrong result: %d elements, not %d", len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(float64(got[i]-want[i])) <= 1e-5) {
			return fmt.Errorf("wrong result: element %d is %v, not %v", i, got[i], want[i])
		}
	}
	return nil
}

type array struct {
	data  []float32
	shape []int64
}

// first returns the elements of the first rows.
func (a *array) first(rows int64) []float32 { return a.data[:int64(len(a.data))/a.shape[0]*rows] }

// readNPY reads an array of float32 with at least one dimension.
func readNPY(path string) (*array, error) {
	set, err := weights.Open(path)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	t := set.Tensors()[0]
	if t.DType != dlpack.Float32 || t.Size == 0 || len(t.Shape) == 0 {
		return nil, fmt.Errorf("%s: float32 with at least one dimension is needed", path)
	}
	bytes, err := t.Data()
	if err != nil {
		return nil, err
	}
	data := slices.Clone(unsafe.Slice((*float32)(unsafe.Pointer(&bytes[0])), len(bytes)/4))
	return &array{data, t.Shape}, nil
}
