package main

import (
	"context"

	"tvmgo/codegen"
	_ "tvmgo/codegen/cuda"
	_ "tvmgo/codegen/opencl"
	"tvmgo/export"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// buildFat makes a library with variants of an addition, fatadd, for the CPU, OpenCL and two architectures of CUDA.
func buildFat(out string) error {
	var variants []codegen.Variant
	for _, name := range []string{"c", "opencl", "cuda -arch=sm_80", "cuda -arch=sm_90"} {
		t, err := target.New(name)
		if err != nil {
			return err
		}
		n := te.Var("n")
		a, b := te.Placeholder([]tir.Expr{n}, tir.Float32, "a"), te.Placeholder([]tir.Expr{n}, tir.Float32, "b")
		c := ops.Add(a, b, "c")
		s, err := te.NewSchedule(c) // serial: the row measures the way to the loop
		if t.Kind().Name() != "c" {
			s, err = ops.Schedule(t, c)
		}
		if err != nil {
			return err
		}
		m, err := te.Lower(s, []any{a, b, c}, "fatadd")
		if err != nil {
			return err
		}
		variants = append(variants, codegen.Variant{Target: t, Program: m})
	}
	m, err := codegen.BuildVariants(variants)
	if err != nil {
		return err
	}
	defer m.Close()
	return export.Library(context.Background(), m, out)
}
