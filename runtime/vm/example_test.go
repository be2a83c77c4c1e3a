// The libraries in testdata/artifacts are for this architecture.

//go:build amd64

package vm_test

import (
	"context"
	"fmt"
	"log"

	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// A model that Apache TVM compiled, with its weights in a file: one request, and several at once.
func Example() {
	ctx := context.Background()
	model, err := runtime.LoadModel(ctx, artifacts+"relax_mlp.so", runtime.WithParams(artifacts+"relax_mlp.params"))
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	forward := model.Functions()[0]
	fmt.Println(forward.Name, forward.Params[0], forward.Result)

	x, err := runtime.NewTensor(dlpack.Float32, []int64{2, 16}, runtime.CPU)
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	if err := runtime.CopyFrom(x, make([]float32, 32)); err != nil {
		log.Fatal(err)
	}
	out, err := model.Run(ctx, runtime.Named{"x": x})
	if err != nil {
		log.Fatal(err)
	}
	defer out.Close()
	y, err := out.Tensor(0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(y)

	requests := []runtime.Inputs{runtime.Named{"x": x}, runtime.Named{"x": x}}
	all, err := model.RunBatch(ctx, requests) // one call with four rows
	if err != nil {
		log.Fatal(err)
	}
	for _, out := range all {
		fmt.Println(out[0])
		out.Close()
	}
	// Output:
	// forward x: float32[batch, 16] float32[batch, 10]
	// float32[2 10] on cpu:0
	// float32[2 10] on cpu:0
	// float32[2 10] on cpu:0
}
