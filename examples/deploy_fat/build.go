package main

import (
	"context"
	"fmt"
	"slices"

	"tvmgo/codegen"
	_ "tvmgo/codegen/all"
	"tvmgo/export"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

const (
	inner   = 70 // the length of an input row
	columns = 50
)

// defaultTargets lists the targets of the library: for the CPU, and for each kind of device that has a code generator.
// CUDA code for several architectures may be in one file.
func defaultTargets() []string {
	list := []string{"c"}
	for _, t := range []struct{ kind, target string }{{"opencl", "opencl"}, {"vulkan", "vulkan"},
		{"cuda", "cuda -arch=sm_75"}, {"cuda", "cuda -arch=sm_80"}, {"cuda", "cuda -arch=sm_90"}} {
		if slices.Contains(codegen.Kinds(), t.kind) {
			list = append(list, t.target)
		}
	}
	return list
}

// program schedules both functions for a target. They take any number of rows.
func program(t *target.Target) (*tir.IRModule, error) {
	var all []*tir.PrimFunc
	add := func(name string, out *te.Tensor, args ...any) error {
		s, err := ops.Schedule(t, out)
		if err != nil {
			return fmt.Errorf("schedule %s for %s: %w", name, t, err)
		}
		m, err := te.Lower(s, append(args, out), name)
		if err != nil {
			return fmt.Errorf("lower %s for %s: %w", name, t, err)
		}
		all = append(all, m.Funcs...)
		return nil
	}
	n := te.Var("n")
	a := te.Placeholder([]tir.Expr{n, tir.I32(inner)}, tir.Float32, "a")
	b := te.Placeholder(te.Dims(inner, columns), tir.Float32, "b")
	bias := te.Placeholder(te.Dims(columns), tir.Float32, "bias")
	sum := ops.Add(ops.Matmul(a, b, "product"), bias, "sum")
	if err := add("dense", ops.Relu(sum, "out"), a, b, bias); err != nil {
		return nil, err
	}
	x := te.Placeholder([]tir.Expr{te.Var("n"), tir.I32(columns)}, tir.Float32, "x")
	if err := add("softmax", ops.Softmax(x, "y"), x); err != nil {
		return nil, err
	}
	return tir.NewModule(all...)
}

// build writes the library for several targets.
func build(ctx context.Context, targets []string, path string) error {
	var variants []codegen.Variant
	for _, text := range targets {
		t, err := target.New(text)
		if err != nil {
			return err
		}
		loops, err := program(t)
		if err != nil {
			return err
		}
		variants = append(variants, codegen.Variant{Target: t, Program: loops})
	}
	m, err := codegen.BuildVariants(variants)
	if err != nil {
		return err
	}
	defer m.Close()
	return export.Library(ctx, m, path)
}
