package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	vary  bool // whether the functions have different sizes
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
}

// compileTime measures a row: "relu", or "relu-apart" with a library for each function.
func compileTime(row string) (float64, error) {
	name, apart := strings.CutSuffix(row, "-apart")
	for _, p := range manyPrograms {
		if p.name == name {
			return p.measure(apart)
		}
	}
	return 0, fmt.Errorf("there is no program %s", row)
}

// measure returns the time to build one library of all functions, or one library per function.
func (p manyFunctions) measure(apart bool) (float64, error) {
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
	programs := [][]operator{list}
	if apart {
		programs = nil
		for i := range list {
			programs = append(programs, list[i:i+1])
		}
	}
	for _, ops := range programs {
		if err := exportProgram(t, ops, filepath.Join(dir, "many.so")); err != nil {
			return 0, err
		}
	}
	return float64(time.Since(from)), nil
}

func exportProgram(t *target.Target, list []operator, path string) error {
	m, err := buildAll(t, list...)
	if err != nil {
		return err
	}
	defer m.Close()
	return export.Library(context.Background(), m, path, export.StaticCheck())
}
