package partition_test

import (
	"fmt"

	"tvmgo/dlpack"
	"tvmgo/target"
	"tvmgo/target/partition"
)

func ExampleNew() {
	// An accelerator that only multiplies matrices of bytes.
	_, err := target.RegisterKind("npu", dlpack.ExtDev, target.WithAttr(target.ColumnPartitioner,
		func(_ *target.Target, op *target.Op) (bool, string) {
			switch {
			case op.Kind != "matmul":
				return false, "it only multiplies matrices"
			case op.Attrs["dtype"] != "int8":
				return false, fmt.Sprintf("%v is no int8", op.Attrs["dtype"])
			}
			return true, "a matrix product of int8"
		}))
	if err != nil {
		fmt.Println(err)
		return
	}
	soc, err := target.New(`{"kind": "composite", "devices": ["npu", "c"]}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	int8, float := map[string]any{"dtype": "int8"}, map[string]any{"dtype": "float32"}
	plan, err := partition.New(&target.Graph{Ops: []target.Op{
		{Name: "a", Kind: "matmul", Inputs: []string{"x", "w1"}, Attrs: int8},
		{Name: "b", Kind: "relu", Inputs: []string{"a"}, Attrs: int8},
		{Name: "c", Kind: "matmul", Inputs: []string{"b", "w2"}, Attrs: float},
	}}, soc)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(plan)
	// Output:
	// group 0: npu (member 0)
	//   in: x, w1
	//   out: a
	//   a = matmul(x, w1): a matrix product of int8
	// group 1: c (member 1), after 0
	//   in: a, w2
	//   out: c
	//   b = relu(a): kind "c" accepts every operation
	//     not npu (member 0): it only multiplies matrices
	//   c = matmul(b, w2): kind "c" accepts every operation
	//     not npu (member 0): float32 is no int8
}

func Example_strategy() {
	// A composite kind of your own, which keeps operations on its second member unless they are large enough for the
	// first one.
	_, err := target.RegisterKind("mysoc", dlpack.CPU, target.Composite(), target.WithAttr(target.ColumnStrategy,
		func(g *target.Graph, _ *target.Target) ([]target.Assignment, error) {
			var answer []target.Assignment
			for _, op := range g.Ops {
				a := target.Assignment{Op: op.Name, Member: 1, Reason: "less than 1 million steps"}
				if n, _ := op.Attrs["steps"].(int); n >= 1e6 {
					a.Member, a.Reason = 0, "a million steps or more"
				}
				answer = append(answer, a)
			}
			return answer, nil
		}))
	if err != nil {
		fmt.Println(err)
		return
	}
	soc, err := target.New(`{"kind": "mysoc", "devices": ["opencl", "c"]}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := partition.New(&target.Graph{Ops: []target.Op{
		{Name: "small", Kind: "add", Inputs: []string{"x", "x"}, Attrs: map[string]any{"steps": 100}},
		{Name: "large", Kind: "conv2d", Inputs: []string{"small", "w"}, Attrs: map[string]any{"steps": 200_000_000}},
	}}, soc)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, g := range plan.Groups {
		why, _ := plan.Why(g.Ops[0].Name)
		fmt.Println(g.Target.Kind(), why.Op, "since", why.Reason)
	}
	// Output:
	// c small since the strategy of kind "mysoc": less than 1 million steps; kind "c" accepts every operation
	// opencl large since the strategy of kind "mysoc": a million steps or more; kind "opencl" accepts every operation
}
