// Package operators has the tensor operators whose kernels are measured: their formulas in package te/ops, their
// inputs, and references that results are compared with. Packages bench/suite and bench/kernels measure them.
//
//	o := operators.Matmul(4096, tir.Float32)
//	program, err := o.Lower(t)              // scheduled for a target
//	a, err := operators.NewArrays(o, device)
//	how, err := a.Check(ctx, run)           // run executes the operator once on a.Args()
//
// # Verification
//
// Before each execution the result is overwritten with NaN. Inputs are signed and differ in every element. A reference
// is computed on the CPU in int64 or in float64.
//
// Operators that only add and multiply are executed with integers first, so small that no sum of any order is rounded:
// every element has to be exact. Products and convolutions are checked by their product with a random vector, which
// costs no more than reading the matrices. If an element is wrong, its row differs for sure; several wrong elements of
// a row remain unnoticed with a probability of 2⁻¹⁵. The first operand of a float32 product has 12 bits, so that
// TensorFloat-32 is noticed.
//
// Then the operator is executed with other numbers, whose significands have all bits, and elements are compared within
// a tolerance. These inputs stay: they are those of the measurement. See [Operator.Tolerance].
package operators

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// Operator is a tensor operator with constant shapes.
type Operator struct {
	Name string   // "matmul-f32-4096"
	Doc  string   // one line
	Size int      // of the rows of a product of square matrices, else 0
	Type tir.Type // of the elements: Float32 or Float16

	// Ops are the operations on numbers of an execution: a fused multiply-add is two, and an exponential, a quotient or a
	// maximum is one. Work is the number that estimates of the time are proportional to.
	Ops, Work float64

	// Moves says that data movement dominates: the speed of the operator is a bandwidth.
	Moves bool

	build func() (ins []*te.Tensor, out *te.Tensor)
	probe *Operator

	// exact is nil if the result of integers is not exact. It returns an error that names a wrong element.
	exact func(r *run) error
	limit [2]int64 // the greatest integers of the inputs in exact

	// rounded is nil if exact is enough.
	rounded *rounded
	scale   [3]float64 // of the inputs in rounded: they are between -scale and scale
}

// rounded is the reference of a result that depends on the order of sums and on the functions of the device.
type rounded struct {
	span int     // elements that compute gives at once: a row, or 1
	cost float64 // operations of compute

	// compute sets the values of the elements that begin at from, and the errors that are tolerated.
	compute func(in func(input, at int) float64, from int, want, tolerance []float64)
}

// Shape is that of an input or the result, and its type.
type Shape struct {
	Sizes []int64
	Type  dlpack.DataType
}

// Bytes returns the size of an array.
func (s Shape) Bytes() int64 {
	n := int64(s.Type.Bits) / 8
	for _, d := range s.Sizes {
		n *= d
	}
	return n
}

// Shapes returns the shapes of the inputs, then that of the result.
func (o *Operator) Shapes() (all []Shape) {
	ins, out := o.build()
	for _, x := range append(ins, out) {
		s := Shape{Type: dlpack.DataType(x.ProducerDType())}
		for _, d := range x.ProducerShape() {
			s.Sizes = append(s.Sizes, d.(*tir.IntImm).Value)
		}
		all = append(all, s)
	}
	return all
}

// Bytes returns the size of the inputs and the result: what an execution moves if it reads or writes each element once.
func (o *Operator) Bytes() (n int64) {
	for _, s := range o.Shapes() {
		n += s.Bytes()
	}
	return n
}

// Function returns the name of the function that Lower makes.
func (o *Operator) Function() string { return strings.ReplaceAll(o.Name, "-", "_") }

// Lower schedules the operator for a target. The function's arguments are the inputs, and the result.
func (o *Operator) Lower(t *target.Target) (*tir.IRModule, error) {
	ins, out := o.build()
	s, err := ops.Schedule(t, out)
	if err != nil {
		return nil, fmt.Errorf("schedule %s: %w", o.Name, err)
	}
	var args []any
	for _, x := range append(ins, out) {
		args = append(args, x)
	}
	return te.Lower(s, args, o.Function())
}

// Named returns the operator with another name.
func (o Operator) Named(name string) *Operator {
	o.Name = name
	return &o
}

// Probe returns a smaller operator of the same kind, from whose time that of this one is estimated; nil if this one is
// small.
func (o *Operator) Probe() *Operator { return o.probe }

func input(name string, t tir.Type, sizes ...int) *te.Tensor {
	dims := make([]int32, len(sizes))
	for i, s := range sizes {
		dims[i] = int32(s)
	}
	return te.Placeholder(te.Dims(dims...), t, name)
}

// short returns the name of a type in names of operators.
func short(t tir.Type) string { return strings.Replace(t.String(), "float", "f", 1) }

// unit is the relative error of rounding to a type.
func unit(t tir.Type) float64 {
	if t == tir.Float16 {
		return 0x1p-11
	}
	return 0x1p-24
}

// Tolerance returns the error that is tolerated in a sum of n products in float32, rounded to a type once, of which the
// absolute values add up to size. The sum has an error of at most n·u·size, u = 2⁻²⁴, if all errors have the same sign.
// Errors of random signs stay below 4·√n·u·size for any order of the sum, except once in more than 10⁴ elements for
// the worst order (Higham and Mary, 2019); trees and tiles are far below it.
func Tolerance(t tir.Type, n int, size, want float64) float64 {
	e := 4 * math.Sqrt(float64(n)) * 0x1p-24 * size
	if t != tir.Float32 {
		e += unit(t) * math.Abs(want)
	}
	return e
}

// Add is the sum of two vectors of n elements.
func Add(n int) *Operator {
	return &Operator{Name: "add", Doc: fmt.Sprintf("sum of two vectors of %d float32", n), Type: tir.Float32,
		Ops: float64(n), Work: float64(n), Moves: true, limit: [2]int64{1 << 22, 1 << 22},
		build: func() ([]*te.Tensor, *te.Tensor) {
			x, y := input("x", tir.Float32, n), input("y", tir.Float32, n)
			return []*te.Tensor{x, y}, ops.Add(x, y, "z")
		},
		exact: func(r *run) error {
			return r.elements(func(at int) int64 { return r.in(0, at) + r.in(1, at) })
		}}
}

// Transpose exchanges rows and columns of a matrix.
func Transpose(rows, columns int) *Operator {
	return &Operator{Name: "transpose", Doc: fmt.Sprintf("transposition of a matrix of %d x %d float32", rows, columns),
		Type: tir.Float32, Work: float64(rows * columns), Moves: true, limit: [2]int64{1 << 23},
		build: func() ([]*te.Tensor, *te.Tensor) {
			x := input("x", tir.Float32, rows, columns)
			return []*te.Tensor{x}, ops.Transpose(x, "y")
		},
		exact: func(r *run) error {
			return r.elements(func(at int) int64 { return r.in(0, at%rows*columns+at/rows) })
		}}
}

// Sum adds the n elements of a vector.
func Sum(n int) *Operator {
	return &Operator{Name: "reduction", Doc: fmt.Sprintf("sum of the elements of a vector of %d float32", n),
		Type: tir.Float32, Ops: float64(n), Work: float64(n), Moves: true, limit: [2]int64{63},
		build: func() ([]*te.Tensor, *te.Tensor) {
			x := input("x", tir.Float32, n)
			return []*te.Tensor{x}, ops.Sum(x, "y", []int{0}, false)
		},
		exact: func(r *run) error {
			parts := make([]int64, (n+chunk-1)/chunk)
			err := r.parallel(len(parts), func(i int) error {
				for at := i * chunk; at < min(n, (i+1)*chunk); at++ {
					parts[i] += r.in(0, at)
				}
				return nil
			})
			if err != nil {
				return err
			}
			var total int64
			for _, p := range parts {
				total += p
			}
			return r.equal(0, total)
		}}
}

// Softmax is the softmax of each row of a matrix.
func Softmax(rows, columns int) *Operator {
	return &Operator{Name: "softmax", Doc: fmt.Sprintf("softmax of %d rows of %d float32", rows, columns),
		Type: tir.Float32, Work: float64(rows * columns), Moves: true, scale: [3]float64{4},
		Ops: 5 * float64(rows*columns), // of an element: maximum, difference, exponential, sum, quotient
		build: func() ([]*te.Tensor, *te.Tensor) {
			x := input("x", tir.Float32, rows, columns)
			return []*te.Tensor{x}, ops.Softmax(x, "y")
		},
		rounded: &rounded{span: columns, cost: 20 * float64(columns),
			compute: func(in func(input, at int) float64, from int, want, tolerance []float64) {
				total := 0.0
				for i := range want {
					want[i] = math.Exp(in(0, from+i)) // no overflow: arguments are small
					total += want[i]
				}
				for i := range want {
					want[i] /= total
					tolerance[i] = functionError(columns) * want[i]
				}
			}}}
}

// functionError is the relative error of an exponential, a root or a quotient by a sum of n terms. OpenCL and Vulkan
// allow an error of 3 + 2·|x| units in the last place in exp(x), with |x| ≤ 16 here, and of 3 in a quotient and a root;
// the argument has an error of |x| units itself. The sum's error is that of Tolerance.
func functionError(n int) float64 { return (64 + 4*math.Sqrt(float64(n))) * 0x1p-24 }

const epsilon = 1e-5

// LayerNorm normalizes each row of a matrix, and scales it.
func LayerNorm(rows, columns int) *Operator {
	return &Operator{Name: "layernorm", Doc: fmt.Sprintf("layer norm of %d rows of %d float32", rows, columns),
		Type: tir.Float32, Work: float64(rows * columns), Moves: true, scale: [3]float64{2, 2, 2},
		Ops: 8 * float64(rows*columns), // of an element: mean, difference, square and sum, product, scale and shift
		build: func() ([]*te.Tensor, *te.Tensor) {
			x, gamma, beta := input("x", tir.Float32, rows, columns), input("gamma", tir.Float32, columns),
				input("beta", tir.Float32, columns)
			return []*te.Tensor{x, gamma, beta}, ops.LayerNorm(x, gamma, beta, "y", 1, epsilon)
		},
		rounded: &rounded{span: columns, cost: 10 * float64(columns),
			compute: func(in func(input, at int) float64, from int, want, tolerance []float64) {
				mean, size, variance := 0.0, 0.0, 0.0
				for i := range want {
					want[i] = in(0, from+i)
					mean += want[i] / float64(columns)
					size += math.Abs(want[i]) / float64(columns)
				}
				for _, x := range want {
					variance += (x - mean) * (x - mean) / float64(columns)
				}
				root := math.Sqrt(variance + epsilon)
				for i, x := range want {
					gamma, beta := in(1, i), in(2, i)
					want[i] = (x-mean)/root*gamma + beta
					tolerance[i] = functionError(columns) * (math.Abs(gamma)*(math.Abs(x)+size)/root + math.Abs(beta))
				}
			}}}
}

// Matmul is the product of two square matrices. Sums are in float32.
func Matmul(n int, t tir.Type) *Operator {
	o := &Operator{Name: fmt.Sprintf("matmul-%s-%d", short(t), n), Size: n, Type: t,
		Doc:   fmt.Sprintf("product of two matrices of %d x %d %v, sums in float32", n, n, t),
		limit: [2]int64{4095, 2}, scale: [3]float64{1, 1},
		build: func() ([]*te.Tensor, *te.Tensor) {
			x, y := input("x", t, n, n), input("y", t, n, n)
			return []*te.Tensor{x, y}, ops.Matmul(x, y, "z")
		},
		exact: func(r *run) error {
			// z·v is compared with x·(y·v)
			return r.projected(n, n, func(row, j int) int { return row*n + j },
				func(v func(int) int64) (func(row int) int64, error) {
					yv := make([]int64, n)
					err := r.parallel(n, func(k int) error {
						for j := range n {
							yv[k] += r.in(1, k*n+j) * v(j)
						}
						return nil
					})
					return func(row int) (total int64) {
						for k, y := range yv {
							total += r.in(0, row*n+k) * y
						}
						return total
					}, err
				}, func(at int) (total int64) {
					for k := range n {
						total += r.in(0, at/n*n+k) * r.in(1, k*n+at%n)
					}
					return total
				})
		},
		rounded: &rounded{span: 1, cost: 4 * float64(n),
			compute: func(in func(input, at int) float64, at int, want, tolerance []float64) {
				size := 0.0
				for k := range n {
					p := in(0, at/n*n+k) * in(1, k*n+at%n)
					want[0] += p
					size += math.Abs(p)
				}
				tolerance[0] = Tolerance(t, n, size, want[0])
			}},
	}
	if t == tir.Float16 {
		o.limit = [2]int64{2, 2} // sums stay below 2048 for rows of up to 8192 elements, at 9 standard deviations
	}
	o.Ops = 2 * float64(n) * float64(n) * float64(n)
	o.Work = o.Ops
	if n > Sizes[0] {
		o.probe = Matmul(Sizes[0], t)
	}
	return o
}

// Sizes are those of the square matrices in suite kernels.
var Sizes = []int{512, 1024, 2048, 4096, 8192}

// All returns the operators of suite kernels.
func All() []*Operator {
	// 32,000,000 elements, and not 2^25, keep a thread below 65535 iterations, after which lavapipe ends loops.
	list := []*Operator{Add(1 << 25), Sum(32_000_000), Transpose(1<<13, 1<<12), Softmax(1<<15, 1<<10),
		LayerNorm(1<<13, 1<<12)}
	for _, t := range []tir.Type{tir.Float32, tir.Float16} {
		for _, n := range Sizes {
			list = append(list, Matmul(n, t))
		}
	}
	return slices.Concat(list, Convolutions(), Attentions())
}
