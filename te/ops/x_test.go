package ops

import (
	"fmt"
	"testing"

	"tvmgo/codegen/c"
	"tvmgo/te"
	"tvmgo/tir"
)

func TestX(t *testing.T) {
	a, b := te.Placeholder(te.Dims(100, 200), tir.Float32, "A"), te.Placeholder(te.Dims(200, 90), tir.Float32, "B")
	m := Matmul(a, b, "C")
	s, err := te.NewSchedule(m)
	fmt.Println(err, scheduleContraction(s, m, m, simd{64, 32}), s.Err())
	mod, err := te.Lower(s, []any{a, b, m}, "mm")
	fmt.Println(err)
	fmt.Println(mod)
	var e c.Emitter
	code, err := e.Emit(mod, nil)
	_ = code
	fmt.Println(err)
}
