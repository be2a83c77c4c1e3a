package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tvmgo/bench/kernels"
	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// operatorsCommand is the first argument of a process that measures generated operators and hand-written ones
// (program/hand.c) on request.
const operatorsCommand = "operators"

// handSuffix ends the names of measures whose function is written by hand.
const handSuffix = "-hand"

// generatedFor is the target of generated operators: this machine.
const generatedFor = "c -march=native"

// An operator is one of package te/ops with the sizes at which it is measured. Its last tensor is the result.
type operator struct {
	name  string
	hand  string // the function in program/hand.c that computes the same, or moveBytes
	build func() (ins []*te.Tensor, out *te.Tensor)
}

func input(name string, sizes ...int32) *te.Tensor {
	return te.Placeholder(te.Dims(sizes...), tir.Float32, name)
}

func product(n int32) func() ([]*te.Tensor, *te.Tensor) {
	return func() ([]*te.Tensor, *te.Tensor) {
		x, y := input("X", n, n), input("Y", n, n)
		return []*te.Tensor{x, y}, ops.Matmul(x, y, "Z")
	}
}

var operators = []operator{
	{"matmul", "", product(1024)},
	{"matmul-1000", "", product(1000)},
	{"conv2d", "", func() ([]*te.Tensor, *te.Tensor) {
		x, w := input("X", 1, 64, 56, 56), input("W", 64, 64, 3, 3)
		return []*te.Tensor{x, w}, ops.Conv2D(x, w, "Y", 1, 1)
	}},
	{"vadd", "vadd", func() ([]*te.Tensor, *te.Tensor) {
		x, y := input("X", 16<<20), input("Y", 16<<20)
		return []*te.Tensor{x, y}, ops.Add(x, y, "Z")
	}},
	{"softmax", "softmax", func() ([]*te.Tensor, *te.Tensor) {
		x := input("X", 4096, 1024)
		return []*te.Tensor{x}, ops.Softmax(x, "Y")
	}},
	{"layernorm", "layernorm", func() ([]*te.Tensor, *te.Tensor) {
		x, gamma, beta := input("X", 4096, 1024), input("gamma", 1024), input("beta", 1024)
		return []*te.Tensor{x, gamma, beta}, ops.LayerNorm(x, gamma, beta, "Y", 1, 1e-5)
	}},
}

// lower schedules operators for a target, and makes a module with a function for each.
func lower(t *target.Target, list ...operator) (*tir.IRModule, error) {
	var funcs []*tir.PrimFunc
	for _, o := range list {
		ins, out := o.build()
		s, err := ops.Schedule(t, out)
		if err != nil {
			return nil, err
		}
		var args []any
		for _, x := range append(ins, out) {
			args = append(args, x)
		}
		m, err := te.Lower(s, args, strings.ReplaceAll(o.name, "-", "_"))
		if err != nil {
			return nil, err
		}
		funcs = append(funcs, m.Funcs...)
	}
	return tir.NewModule(funcs...)
}

// buildAll builds a module of operators for a target.
func buildAll(t *target.Target, list ...operator) (*runtime.Module, error) {
	program, err := lower(t, list...)
	if err != nil {
		return nil, err
	}
	return codegen.Build(program, t)
}

// demoKernel returns the kernels of the demonstration: a layer of a network, and a softmax.
var demoKernel = []operator{
	{"dense", "", func() ([]*te.Tensor, *te.Tensor) {
		x, w, b := input("X", 16, 256), input("W", 256, 128), input("B", 128)
		return []*te.Tensor{x, w, b}, ops.Relu(ops.Add(ops.Matmul(x, w, "M"), b, "S"), "Y")
	}},
	{"softmax", "", func() ([]*te.Tensor, *te.Tensor) {
		x := input("X", 16, 128)
		return []*te.Tensor{x}, ops.Softmax(x, "Y")
	}},
}

// toC compiles formulas to C, without the C compiler.
func toC(t *target.Target) error {
	m, err := buildAll(t, demoKernel...)
	if err != nil {
		return err
	}
	defer m.Close()
	_, err = m.GetSource("c")
	return err
}

// operatorServer is the state of a process that measures operators.
type operatorServer struct {
	target  *target.Target
	hand    string // program/hand.c as a library
	batch   time.Duration
	run     map[string]func() error
	calls   map[string]int
	kernels map[string]int // that a call emits, for rows of emission
}

// serveOperators reads names of rows and prints nanoseconds per operation, as bench/program does. Its arguments
// are the minimal duration of a sample in nanoseconds, and the library of program/hand.c.
func serveOperators(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: %s SAMPLE_NS HAND.so", operatorsCommand)
	}
	sample, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return err
	}
	s := &operatorServer{hand: args[1], batch: time.Duration(sample) / batches, run: map[string]func() error{},
		calls: map[string]int{}, kernels: map[string]int{}}
	if s.target, err = target.New(generatedFor); err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		v, err := s.sample(in.Text())
		if err != nil {
			return fmt.Errorf("row %s: %w", in.Text(), err)
		}
		fmt.Println(v)
	}
	return in.Err()
}

func (s *operatorServer) sample(row string) (float64, error) {
	run := s.run[row]
	if run == nil {
		var err error
		if run, err = s.prepare(row); err != nil {
			return 0, err
		}
		s.run[row] = run
		for n := 1; ; n *= 2 {
			took, err := best(n, run)
			if err != nil {
				return 0, err
			}
			if s.calls[row] = n; took*float64(n) >= float64(s.batch) {
				break
			}
		}
	}
	ns, err := best(s.calls[row], run)
	return ns / float64(max(1, s.kernels[row])), err
}

// prepare prepares a row, and checks that hand-written and generated code have the same results.
func (s *operatorServer) prepare(row string) (func() error, error) {
	if row == "te-c" {
		return func() error { return toC(s.target) }, nil
	}
	if kind, is := strings.CutPrefix(row, "emit-"); is {
		e, err := kernels.NewEmission(kind)
		if err != nil {
			return nil, err
		}
		s.kernels[row] = e.Kernels
		return e.Run, nil
	}
	name, byHand := strings.CutSuffix(row, handSuffix)
	for _, o := range operators {
		if o.name != name {
			continue
		}
		generated, result, err := s.bind(o, "")
		if err != nil || !byHand {
			return generated, err
		}
		hand, other, err := s.bind(o, s.hand)
		if err != nil || o.hand == moveBytes {
			return hand, err
		}
		return hand, errors.Join(generated(), hand(), near(result, other))
	}
	return nil, fmt.Errorf("there is no such row")
}

// bind returns a call of an operator with tensors of its sizes, generated or from a library, and the result's tensor.
func (s *operatorServer) bind(o operator, library string) (func() error, *runtime.Tensor, error) {
	ins, out := o.build()
	function := strings.ReplaceAll(o.name, "-", "_")
	var m *runtime.Module
	if library != "" {
		var err error
		if m, err = runtime.Load(context.Background(), library); err != nil {
			return nil, nil, err
		}
		function = o.hand
	} else {
		program, err := lower(s.target, o)
		if err != nil {
			return nil, nil, err
		}
		if m, err = codegen.Build(program, s.target); err != nil {
			return nil, nil, err
		}
	}
	f, err := m.Function(function)
	if err != nil {
		return nil, nil, err
	}
	r := rand.New(rand.NewPCG(1, 2))
	var args []any
	var last *runtime.Tensor
	for _, x := range append(ins, out) {
		n, shape := 1, []int64{}
		for _, d := range x.ProducerShape() {
			n *= int(d.(*tir.IntImm).Value)
			shape = append(shape, d.(*tir.IntImm).Value)
		}
		if last, err = random(r, x.ProducerDType(), n, shape); err != nil {
			return nil, nil, err
		}
		args = append(args, last)
	}
	b, err := f.Bind(args...)
	if err != nil {
		return nil, nil, err
	}
	return b.Call, last, nil
}

// random returns a tensor with random elements.
func random(r *rand.Rand, t tir.Type, n int, shape []int64) (*runtime.Tensor, error) {
	switch t {
	case tir.Float32:
		return fill(n, shape, r.Float32)
	case tir.Int8:
		return fill(n, shape, func() int8 { return int8(r.IntN(256) - 128) })
	case tir.Int64:
		return fill(n, shape, r.Int64)
	}
	return nil, fmt.Errorf("there are no random elements of type %s", t)
}

func fill[T dlpack.Scalar](n int, shape []int64, element func() T) (*runtime.Tensor, error) {
	values := make([]T, n)
	for i := range values {
		values[i] = element()
	}
	t, err := runtime.NewTensor(dlpack.DataTypeOf[T](), shape, runtime.CPU)
	if err != nil {
		return nil, err
	}
	return t, runtime.CopyFrom(t, values)
}

// near returns an error if two results differ.
func near(a, b *runtime.Tensor) error {
	x, err := runtime.ToSlice[float32](a)
	if err != nil {
		return err
	}
	y, err := runtime.ToSlice[float32](b)
	if err != nil {
		return err
	}
	for i := range x {
		if d := math.Abs(float64(x[i]) - float64(y[i])); !(d <= 1e-4*max(1, math.Abs(float64(y[i])))) {
			return fmt.Errorf("element %d is %v, and by hand %v", i, x[i], y[i])
		}
	}
	return nil
}

// compileHand makes a library of program/hand.c.
func compileHand(out string) error {
	return run("cc", "-std=gnu11", "-O3", "-march=native", "-fPIC", "-shared", "-Wall", "-Wextra", "-Iinclude", "-o",
		out, "bench/program/hand.c", "-lm")
}

// operatorPrograms are the processes that measure operators; each is started on first use.
type operatorPrograms struct {
	p      *programs
	sample string
	venv   string
	of     map[string]*program
}

// ask measures a row of generated and hand-written operators ("te"), or of NumPy ("numpy").
func (o *operatorPrograms) ask(who, row string) (float64, error) {
	s := o.of[who]
	if s == nil {
		var err error
		if who == "te" {
			var self string
			if self, err = os.Executable(); err == nil {
				s, err = startProgram(self, operatorsCommand, o.sample, o.p.hand)
			}
		} else {
			s, err = startProgram(filepath.Join(o.venv, "bin", "python"), "bench/program/blas.py", o.sample)
		}
		if err != nil {
			return 0, err
		}
		o.of[who] = s
	}
	return s.sample(row)
}

func (o *operatorPrograms) close() error {
	var err error
	for who, s := range o.of {
		err = errors.Join(err, s.close())
		delete(o.of, who)
	}
	return err
}
