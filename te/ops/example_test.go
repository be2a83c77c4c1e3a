package ops_test

import (
	"fmt"

	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// A matrix-vector product with the schedule for a target, and then with a user-defined schedule.
func Example() {
	x := te.Placeholder(te.Dims(4, 3), tir.Float32, "x")
	y := ops.Sum(ops.Square(x, "square"), "y", []int{1}, false)
	show := func(x0 any) {
		t, err := target.New(x0)
		if err != nil {
			fmt.Println(err)
			return
		}
		s, err := ops.Schedule(t, y)
		if err != nil {
			fmt.Println(err)
			return
		}
		m, err := te.Lower(s, []any{x, y}, "norms")
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(text.Print(m))
	}
	show("c")

	// Targets with the key mychip unroll the sum.
	err := ops.RegisterSchedule("mychip", "sum", func(g *ops.Group) (bool, error) {
		st := g.Schedule.Stage(g.Result)
		st.Unroll(st.ReduceAxes()[0])
		return true, nil
	})
	if err != nil {
		fmt.Println(err)
	}
	show(map[string]any{"kind": "c", "keys": []string{"mychip", "cpu"}})
	// Output:
	// func norms(x_handle: handle, y_handle: handle) {
	//   buffer x: float32[4, 3], param x_handle
	//   buffer y: float32[4], param y_handle
	//   for i0 in range(4) {
	//     y[i0] = 0.0
	//     for k1 in range(3) {
	//       y[i0] = y[i0] + x[i0, k1] * x[i0, k1]
	//     }
	//   }
	// }
	// func norms(x_handle: handle, y_handle: handle) {
	//   buffer x: float32[4, 3], param x_handle
	//   buffer y: float32[4], param y_handle
	//   for i0 in range(4) {
	//     y[i0] = 0.0
	//     unrolled k1 in range(3) {
	//       y[i0] = y[i0] + x[i0, k1] * x[i0, k1]
	//     }
	//   }
	// }
}
