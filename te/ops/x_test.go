package ops

import (
	"fmt"
	"testing"

	"tvmgo/codegen/c"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/tir"
)

func TestX(t *testing.T) {
	a := te.Placeholder(te.Dims(100, 200), tir.Float32, "A")
	m := Softmax(a,  "C")
	tg, err := target.New("c -march=native")
	fmt.Println(err)
	s, err := Schedule(tg, m)
	fmt.Println(err)
	mod, err := te.Lower(s, []any{a, m}, "mm")
	fmt.Println(err)
	fmt.Println(mod)
	var e c.Emitter
	code, err := e.Emit(mod, nil)
	_ = code
	fmt.Println(err)
}
