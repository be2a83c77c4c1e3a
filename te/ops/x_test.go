package ops

import (
	"fmt"
	"os"
	"testing"
	"time"

	"tvmgo/codegen"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/tir"
)

func bench(name string, t *testing.T, s *te.Schedule, args []any, data ...*runtime.Tensor) *runtime.Function {
	mod, err := te.Lower(s, args, "f")
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile("/tmp/h/speed/"+name+".tir", []byte(fmt.Sprint(mod)), 0o666)
	tg, err := target.New("c -march=native")
	if err != nil {
		t.Fatal(err)
	}
	m, err := codegen.Build(mod, tg)
	if err != nil {
		t.Fatal(err)
	}
	src, _ := m.GetSource("c")
	os.WriteFile("/tmp/h/speed/"+name+".c", []byte(src), 0o666)
	f, err := m.Function("f")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func timeIt(name string, t *testing.T, f *runtime.Function, data ...any) {
	best := time.Hour
	for range 15 {
		t0 := time.Now()
		if _, err := f.Call(data...); err != nil {
			t.Fatal(err)
		}
		best = min(best, time.Since(t0))
	}
	fmt.Println(name, best)
}

func tensorOf(t *testing.T, shape ...int64) *runtime.Tensor {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(i*7%11) - 5
	}
	x, err := runtime.FromSlice(v, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestX(t *testing.T) {
	tg, _ := target.New("c -march=native")
	for _, n := range []int32{1024, 1000, 512, 128, 64} {
		a, b := te.Placeholder(te.Dims(n, n), tir.Float32, "A"), te.Placeholder(te.Dims(n, n), tir.Float32, "B")
		m := Matmul(a, b, "C")
		s, err := Schedule(tg, m)
		if err != nil {
			t.Fatal(err)
		}
		f := bench(fmt.Sprint("matmul", n), t, s, []any{a, b, m})
		timeIt(fmt.Sprint("matmul", n), t, f, tensorOf(t, int64(n), int64(n)), tensorOf(t, int64(n), int64(n)), tensorOf(t, int64(n), int64(n)))
	}
	{
		a := te.Placeholder(te.Dims(4096, 1024), tir.Float32, "A")
		m := Softmax(a, "C")
		s, err := Schedule(tg, m)
		if err != nil {
			t.Fatal(err)
		}
		f := bench("softmax", t, s, []any{a, m})
		timeIt("softmax", t, f, tensorOf(t, 4096, 1024), tensorOf(t, 4096, 1024))
		a = te.Placeholder(te.Dims(4096, 1024), tir.Float32, "A")
		g, b := te.Placeholder(te.Dims(1024), tir.Float32, "G"), te.Placeholder(te.Dims(1024), tir.Float32, "B")
		m = LayerNorm(a, g, b, "C", 1, 1e-5)
		s, err = Schedule(tg, m)
		if err != nil {
			t.Fatal(err)
		}
		f = bench("layernorm", t, s, []any{a, g, b, m})
		timeIt("layernorm", t, f, tensorOf(t, 4096, 1024), tensorOf(t, 1024), tensorOf(t, 1024), tensorOf(t, 4096, 1024))
	}
	{
		a, w := te.Placeholder(te.Dims(1, 64, 56, 56), tir.Float32, "A"), te.Placeholder(te.Dims(64, 64, 3, 3), tir.Float32, "W")
		m := Conv2D(a, w, "C", 1, 1)
		s, err := Schedule(tg, m)
		if err != nil {
			t.Fatal(err)
		}
		f := bench("conv", t, s, []any{a, w, m})
		timeIt("conv", t, f, tensorOf(t, 1, 64, 56, 56), tensorOf(t, 64, 64, 3, 3), tensorOf(t, 1, 64, 56, 56))
	}
	{
		a, b := te.Placeholder(te.Dims(1<<24), tir.Float32, "A"), te.Placeholder(te.Dims(1<<24), tir.Float32, "B")
		m := Add(a, b, "C")
		s, err := Schedule(tg, m)
		if err != nil {
			t.Fatal(err)
		}
		f := bench("add", t, s, []any{a, b, m})
		timeIt("add", t, f, tensorOf(t, 1<<24), tensorOf(t, 1<<24), tensorOf(t, 1<<24))
	}
}
