//go:build cgo

package cpu_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/internal/cpufeatures"
	"tvmgo/internal/testing/guardpage"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/te/schedule/cpu"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// byteProduct is a product of bytes of some sizes, from 1.
type byteProduct struct {
	batch, rows, columns, depth int
	x, y                        tir.Type
	turnedX, turnedY            bool
	zeroX, zeroY                int  // 0: no zero point, 1: one for all, 2: one for each row or column
	constant                    bool // y
	open                        bool // all sizes are
}

func (p *byteProduct) String() string { return fmt.Sprintf("%+v", *p) }

// byteProducts returns products whose dimensions have every size up to 40 in some case, with all combinations of types,
// transposes and zero points.
func byteProducts(r *rand.Rand, all bool) (list []*byteProduct) {
	sizes := [][3]int{{65, 63, 130}, {1, 256, 200}, {2, 128, 100}, {130, 47, 64}, {49, 100, 49}, {30, 70, 4}, {70, 65, 5},
		{40, 40, 40}, {64, 64, 512}, {100, 100, 2}, {100, 100, 1}}
	rounds := 1
	if all {
		rounds = 20
	}
	for range rounds {
		p, q := r.Perm(upTo), r.Perm(upTo)
		for i := range upTo {
			sizes = append(sizes, [3]int{i + 1, p[i] + 1, q[i] + 1})
		}
	}
	kinds := r.Perm(4 * 4 * 9 * 2)
	types := []tir.Type{tir.Int8, tir.UInt8}
	for i, s := range sizes {
		k := kinds[i%len(kinds)]
		list = append(list, &byteProduct{batch: i % 3, rows: s[0], columns: s[1], depth: s[2], x: types[k&1],
			y: types[k>>1&1], turnedX: k&4 != 0, turnedY: k&8 != 0, zeroX: k >> 5 % 3, zeroY: k >> 5 / 3 % 3,
			constant: k&16 != 0})
	}
	list = append(list, // whose left operand is read in place
		&byteProduct{rows: 48, columns: 70, depth: 128, x: tir.UInt8, y: tir.Int8},
		&byteProduct{batch: 2, rows: 12, columns: 40, depth: 64, x: tir.Int8, y: tir.UInt8, zeroX: 2},
		&byteProduct{rows: 4, columns: 100, depth: 260, x: tir.UInt8, y: tir.Int8, constant: true},
		&byteProduct{rows: 21, columns: 33, depth: 2048, x: tir.UInt8, y: tir.Int8, zeroX: 1, turnedY: true})
	for k := range 4 * 4 {
		list = append(list, &byteProduct{rows: 50, columns: 67, depth: 43, x: types[k&1], y: types[k>>1&1],
			turnedX: k&4 != 0, turnedY: k&8 != 0, zeroX: k % 3, zeroY: k / 3 % 3, constant: k == 5, open: k%5 == 1})
		if k%5 == 1 {
			list = append(list, &byteProduct{rows: 3, columns: 5, depth: 6, x: types[k&1], y: types[k>>1&1],
				zeroX: k % 3, zeroY: k / 3 % 3, open: true})
		}
	}
	return list
}

// operands are the tensors of a product with their shapes in a call.
type operands struct {
	ins    []*te.Tensor
	shapes [][]int
	data   [][]byte
	out    *te.Tensor
	want   []int32
}

// bytesFor returns random bytes, of which many are the least and the greatest ones.
func bytesFor(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = []byte{0, 1, 127, 128, 255, byte(r.Uint32())}[r.IntN(6)]
	}
	return b
}

// make returns the operands of a product, and the result by its definition.
func (p *byteProduct) make(r *rand.Rand) *operands {
	o := &operands{}
	add := func(name string, t tir.Type, constant bool, shape ...int) *te.Tensor {
		data := bytesFor(r, elements(shape))
		var size []tir.Expr
		for d, n := range shape {
			if p.open && n > 1 {
				size = append(size, te.Var(fmt.Sprintf("%s%d", name, d)))
			} else {
				size = append(size, tir.I32(int32(n)))
			}
		}
		if name == "Y" && p.open { // the depth of both
			x := o.ins[0].ProducerShape()
			size[len(size)-2+b2i(p.turnedY)] = x[len(x)-1-b2i(p.turnedX)]
		}
		x := te.Placeholder(size, t, name)
		if constant {
			x = te.Const(size, t, name, data)
		}
		o.ins, o.shapes, o.data = append(o.ins, x), append(o.shapes, shape), append(o.data, data)
		return x
	}
	shape := func(batch int, turned bool, a, b int) []int {
		if turned {
			a, b = b, a
		}
		if batch > 0 {
			return []int{batch, a, b}
		}
		return []int{a, b}
	}
	x := add("X", p.x, false, shape(p.batch, p.turnedX, p.rows, p.depth)...)
	y := add("Y", p.y, p.constant, shape(p.batch/2*p.batch, p.turnedY, p.depth, p.columns)...)
	zero := func(name string, kind int, t tir.Type, n int) *te.Tensor {
		if kind == 0 {
			return nil
		}
		if kind == 1 {
			n = 1
		}
		return add(name, t, false, n)
	}
	zx, zy := zero("ZX", p.zeroX, p.x, p.rows), zero("ZY", p.zeroY, p.y, p.columns)
	less := func(x, z *te.Tensor, name string, turned bool, dim int) *te.Tensor {
		if z == nil {
			return x
		}
		if turned {
			dim = 1 - dim
		}
		return te.Compute(x.ProducerShape(), name, func(i ...tir.Expr) tir.Expr {
			at := i[len(i)-2+dim]
			if n, one := tir.IntValue(z.ProducerShape()[0]); one && n == 1 {
				at = tir.I32(0)
			}
			return tir.Sub(tir.NewCast(tir.Int32, x.At(i...)), tir.NewCast(tir.Int32, z.At(at)))
		})
	}
	options := []ops.MatmulOption{ops.AccumulateIn(tir.Int32)}
	if p.turnedX {
		options = append(options, ops.TransposeX())
	}
	if p.turnedY {
		options = append(options, ops.TransposeY())
	}
	o.out = ops.Matmul(less(x, zx, "XL", p.turnedX, 0), less(y, zy, "YL", p.turnedY, 1), "M", options...)
	o.shapes = append(o.shapes, shape(p.batch, false, p.rows, p.columns))
	value := func(t tir.Type, b byte) int64 {
		if t == tir.Int8 {
			return int64(int8(b))
		}
		return int64(b)
	}
	point := func(z *te.Tensor, t tir.Type, i int) int64 {
		for k, in := range o.ins {
			if in == z && z != nil {
				return value(t, o.data[k][min(i, len(o.data[k])-1)])
			}
		}
		return 0
	}
	for b := range max(1, p.batch) {
		for i := range p.rows {
			for j := range p.columns {
				sum := int64(0)
				for k := range p.depth {
					at, by := i*p.depth+k, k*p.columns+j
					if p.turnedX {
						at = k*p.rows + i
					}
					if p.turnedY {
						by = j*p.depth + k
					}
					at += b * p.rows * p.depth
					if len(o.shapes[1]) == 3 {
						by += b * p.depth * p.columns
					}
					sum += (value(p.x, o.data[0][at]) - point(zx, p.x, i)) * (value(p.y, o.data[1][by]) - point(zy, p.y, j))
				}
				o.want = append(o.want, int32(sum))
			}
		}
	}
	return o
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestFast_Bytes compares products of bytes with their definition: generated code, for CPUs with several instructions,
// with tensors right behind or before pages that must not be touched.
func TestFast_Bytes(t *testing.T) {
	options := vectorTargets()
	if cpu, more := cpufeatures.HostCPU(); slices.Contains(more, "+avx512vnni") && slices.Contains(more, "+avx512bw") {
		options = append(options, "c -march=x86-64-v4") // without the instruction for bytes
	} else {
		t.Logf("%s is tested without products of 16 bits in AVX-512", cpu)
	}
	for n, to := range options {
		t.Run(to, func(t *testing.T) {
			guardpage.Run(t, func(step func(string, ...any)) {
				r := testseed.Rand(t)
				list := share(byteProducts(r, allCases), len(options), n)
				runBytes(t, must.Get(target.New(to))(t), list, r, step)
			})
		})
	}
}

func runBytes(t *testing.T, to *target.Target, list []*byteProduct, r *rand.Rand, step func(string, ...any)) {
	made := make([]*operands, len(list))
	constants := make([][]*te.Tensor, len(list))
	var funcs []*tir.PrimFunc
	by := 0
	for i, p := range list {
		o := p.make(r)
		require.NoError(t, o.out.Err(), p.String())
		s := must.Get(ops.Schedule(to, o.out))(t)
		var args []any
		for _, x := range o.ins {
			if x.Data() == nil {
				args = append(args, x)
			}
		}
		constants[i] = s.Constants()
		for k, x := range constants[i] {
			args = append(args, x)
			if x.Prepared() != nil {
				prepare := must.Get(te.NewSchedule(x.Prepared()))(t)
				m := must.Get(te.Lower(prepare, []any{o.ins[1], x.Prepared()}, fmt.Sprintf("p%d_%d", i, k)))(t)
				funcs = append(funcs, m.Funcs...)
			}
		}
		m, err := te.Lower(s, append(args, o.out), fmt.Sprintf("f%d", i))
		require.NoError(t, err, p.String())
		dots := strings.Contains(text.Print(m), "dot4")
		if p.rows > 40 && p.columns > 40 && p.depth > 16 {
			require.True(t, dots, "%s:\n%s", p, text.Print(m))
		}
		by += b2i(dots)
		made[i], funcs = o, append(funcs, m.Funcs...)
	}
	t.Logf("%d of %d products use dot4", by, len(list))
	step("building")
	built := must.Open(codegen.Build(must.Get(tir.NewModule(funcs...))(t), to))(t)
	for i, o := range made {
		f := must.Get(built.Function(fmt.Sprintf("f%d", i)))(t)
		for _, side := range guardpage.Sides {
			step("%v, guarded %s", list[i], side)
			callBytes(t, list[i], o, i, constants[i], built, f, side)
		}
		require.NoError(t, f.Close())
	}
}

func callBytes(t *testing.T, p *byteProduct, o *operands, n int, constants []*te.Tensor, m *runtime.Module,
	f *runtime.Function, side guardpage.Side) {
	var tensors []*guardpage.Tensor
	var args []any
	add := func(dtype tir.Type, shape []int, data []byte) *guardpage.Tensor {
		long := make([]int64, len(shape))
		for d, n := range shape {
			long[d] = int64(n)
		}
		x := must.Get(guardpage.New(dtype, long, side, data))(t)
		tensors = append(tensors, x)
		return x
	}
	var raw *guardpage.Tensor
	for k, x := range o.ins {
		in := add(x.ProducerDType(), o.shapes[k], o.data[k])
		if x.Data() == nil {
			args = append(args, in.Tensor)
		} else {
			raw = in
		}
	}
	for k, c := range constants {
		if c.Prepared() == nil {
			args = append(args, raw.Tensor)
			continue
		}
		var shape []int
		for _, n := range sizes(c) {
			shape = append(shape, int(n))
		}
		x := add(tir.Int32, shape, make([]byte, 4*elements(shape)))
		prepare := must.Get(m.Function(fmt.Sprintf("p%d_%d", n, k)))(t)
		_, err := prepare.Call(raw.Tensor, x.Tensor)
		require.NoError(t, err)
		require.NoError(t, prepare.Close())
		args = append(args, x.Tensor)
	}
	shape := o.shapes[len(o.shapes)-1]
	result := add(tir.Int32, shape, make([]byte, 4*elements(shape)))
	_, err := f.Call(append(args, result.Tensor)...)
	require.NoError(t, err, p.String())
	for i, want := range o.want {
		if got := int32(binary.NativeEndian.Uint32(result.Bytes()[4*i:])); got != want {
			require.Fail(t, "wrong", "%v: element %d is %d: want %d", p, i, got, want)
		}
	}
	for _, x := range tensors {
		require.NoError(t, x.Free())
	}
}

// TestFast_BytesInterpreted compares schedules for several CPUs with the definition, with the interpreter, which finds
// every index out of bounds.
func TestFast_BytesInterpreted(t *testing.T) {
	r := testseed.Rand(t)
	for k := range 8 * 9 {
		types := []tir.Type{tir.Int8, tir.UInt8}
		p := &byteProduct{batch: k % 3, rows: 9 + r.IntN(10), columns: 30 + r.IntN(10), depth: 29 + k%5, x: types[k&1],
			y: types[k>>1&1], zeroX: k / 8 % 3, zeroY: k / 24 % 3, turnedX: k%5 == 0, turnedY: k%7 == 0}
		o := p.make(r)
		v := cpu.WithDots(machines[k%len(machines)], k%2 == 0)
		s, fast := (&fastCase{name: p.String(), ins: o.ins, out: o.out}).schedule(t, v)
		require.True(t, fast, p.String())
		program := compiled(t, s, append(append([]*te.Tensor{}, o.ins...), o.out)...)
		var args []any
		for i, x := range o.ins {
			var values []int64
			for _, b := range o.data[i] {
				if x.ProducerDType() == tir.Int8 {
					values = append(values, int64(int8(b)))
				} else {
					values = append(values, int64(b))
				}
			}
			args = append(args, must.Get(tirrun.From(x.ProducerDType(), values, long(o.shapes[i])...))(t))
		}
		out := must.Get(tirrun.New(tir.Int32, long(o.shapes[len(o.shapes)-1])...))(t)
		must.Get(program.Call("f", append(args, out)...))(t)
		require.Equal(t, o.want, must.Get(tirrun.Values[int32](out))(t), p.String())
	}
}

func long(shape []int) (all []int64) {
	for _, n := range shape {
		all = append(all, int64(n))
	}
	return all
}
