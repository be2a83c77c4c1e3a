package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tvmgo/export"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/te/ops"
)

// manyFunctions is a program whose compilation from formulas to a library is measured without caches: as one module,
// and as one module per function.
type manyFunctions struct {
	name  string
	count int
	vary  bool // whether the functions are different
	build func(k int32) (ins []*te.Tensor, out *te.Tensor)
}

func reluAdd(k int32) ([]*te.Tensor, *te.Tensor) {
	x, y := input("X", 64+k, 64), input("Y", 64+k, 64)
	return []*te.Tensor{x, y}, ops.Relu(ops.Add(x, y, "S"), "Z")
}

var manyPrograms = []manyFunctions{
	{"relu", 100, false, reluAdd},
	{"relu-vary", 100, true, reluAdd},
	{"matmuls", 10, false, func(k int32) ([]*te.Tensor, *te.Tensor) {
		x, y := input("X", 256+k, 256), input("Y", 256, 256)
		return []*te.Tensor{x, y}, ops.Matmul(x, y, "Z")
	}},
	{"softmaxes", 10, false, func(k int32) ([]*te.Tensor, *te.Tensor) {
		x := input("X", 128+k, 256)
		return []*te.Tensor{x}, ops.Transpose(ops.Softmax(x, "S"), "Z")
	}},
	{"mixed", 50, true, mixed},
}

// mixed returns one of ten operators; k also determines its size.
func mixed(k int32) ([]*te.Tensor, *te.Tensor) {
	n := 48 + 16*(k/10)
	x, y, v := input("X", n, 2*n), input("Y", n, 2*n), input("V", 2*n)
	image := input("X", 1, 16, n, n)
	switch k % 10 {
	case 0:
		return []*te.Tensor{x, y}, ops.Relu(ops.Add(x, y, "S"), "Z")
	case 1:
		return []*te.Tensor{x, y}, ops.Multiply(x, ops.Sigmoid(y, "S"), "Z")
	case 2:
		return []*te.Tensor{x}, ops.Gelu(x, "Z")
	case 3:
		return []*te.Tensor{x}, ops.Softmax(x, "Z")
	case 4:
		return []*te.Tensor{x, v}, ops.LayerNorm(x, v, v, "Z", 1, 1e-5)
	case 5:
		y = input("Y", 2*n, n)
		return []*te.Tensor{x, y}, ops.Matmul(x, y, "Z")
	case 6:
		w := input("W", 16, 16, 3, 3)
		return []*te.Tensor{image, w}, ops.Conv2D(image, w, "Z", 1, 1)
	case 7:
		return []*te.Tensor{image}, ops.MaxPool2D(image, "Z", ops.Window{Kernel: [2]int{3, 3}, Strides: [2]int{2, 2}})
	case 8:
		return []*te.Tensor{x}, ops.Transpose(x, "Z")
	default:
		return []*te.Tensor{x}, ops.Sum(x, "Z", []int{1}, false)
	}
}

// compileTime measures a row: "relu", "relu-apart" with a library for each function, or "mixed-cc" with a run of the C
// compiler for each function.
func compileTime(row string) (float64, error) {
	for how, suffix := range []string{together: "", apart: "-apart", byCompiler: "-cc"} {
		for _, p := range manyPrograms {
			if row == p.name+suffix {
				return p.measure(how)
			}
		}
	}
	return 0, fmt.Errorf("there is no program %s", row)
}

// The ways to make libraries of many functions.
const (
	together   = iota // one library
	apart             // a library for each
	byCompiler        // one library; the C compiler runs once for each, one after the other
)

// measure returns the time from formulas to libraries.
func (p manyFunctions) measure(how int) (float64, error) {
	t, err := target.New("c")
	if err != nil {
		return 0, err
	}
	var list []operator
	for i := range p.count {
		k := int32(0)
		if p.vary {
			k = int32(i)
		}
		list = append(list, operator{name: fmt.Sprintf("f%d", i), build: func() ([]*te.Tensor, *te.Tensor) {
			return p.build(k)
		}})
	}
	dir, err := os.MkdirTemp("", "bench-compile-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	old, was := os.LookupEnv("TVMGO_CACHE_DIR")
	os.Setenv("TVMGO_CACHE_DIR", "off")
	defer func() {
		if os.Unsetenv("TVMGO_CACHE_DIR"); was {
			os.Setenv("TVMGO_CACHE_DIR", old)
		}
	}()
	from := time.Now()
	switch how {
	case together:
		err = exportProgram(t, list, filepath.Join(dir, "many.so"))
	case apart:
		for i := range list {
			err = errors.Join(err, exportProgram(t, list[i:i+1], filepath.Join(dir, "many.so")))
		}
	case byCompiler:
		err = compileEach(t, list, dir)
	}
	return float64(time.Since(from)), err
}

// compileEach writes a C file for each function, compiles one after the other with the flags of package export, and
// links them.
func compileEach(t *target.Target, list []operator, dir string) error {
	var objects []string
	for _, o := range list {
		m, err := buildAll(t, o)
		if err != nil {
			return err
		}
		source, object := filepath.Join(dir, o.name+".c"), filepath.Join(dir, o.name+".o")
		err = errors.Join(m.SaveToFile(source, "c"), m.Close())
		if err == nil {
			err = run("cc", "-c", "-O2", "-fPIC", "-Iinclude", source, "-o", object)
		}
		if err != nil {
			return err
		}
		objects = append(objects, object)
	}
	// each file defines the variables of a module of its own
	link := append([]string{"-shared", "-Wl,-z,muldefs", "-o", filepath.Join(dir, "many.so")}, objects...)
	return run("cc", append(link, "-lm")...)
}

func exportProgram(t *target.Target, list []operator, path string) error {
	m, err := buildAll(t, list...)
	if err != nil {
		return err
	}
	defer m.Close()
	return export.Library(context.Background(), m, path, export.StaticCheck())
}
