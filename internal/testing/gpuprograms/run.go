package gpuprograms

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/runtime"
	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/text"
	"tvmgo/tir/transform"
)

func (h *Harness) VectorsOfAnyLength(t *testing.T) {
	for _, typ := range []tir.Type{tir.Float32, tir.Float64, tir.Float16, tir.BFloat16, tir.Int8, tir.UInt16,
		tir.Int32, tir.Int64} {
		for _, n := range []int64{0, 1, 63, 64, 1000} {
			if n != 63 && typ != tir.Float32 {
				continue
			}
			t.Run(fmt.Sprintf("%s of %d", typ, n), func(t *testing.T) {
				r := Random()
				var by any = 3
				if tir.IsFloat(typ) {
					by = 0.75
				}
				within := 0.0
				if typ == tir.Float32 || typ == tir.Float64 {
					within = 1e-6
				}
				out := must.Get(tirrun.New(typ, n))(t)
				h.Compare(t, VAdd(t, typ, 64), "vadd", within, Array(t, r, typ, n), Array(t, r, typ, n), out, by)
			})
		}
	}
}

func (h *Harness) TwoDimensions(t *testing.T) {
	for _, s := range [][2]int64{{5, 9}, {1, 1}, {4, 8}, {17, 3}} {
		out := must.Get(tirrun.New(tir.Float32, s[:]...))(t)
		r := Random()
		h.Compare(t, Plane(t, int32(s[0]), int32(s[1])), "plane", 1e-5, Array(t, r, tir.Float32, s[:]...),
			Array(t, r, tir.Float32, s[:]...), out)
	}
}

func (h *Harness) SharedTiles(t *testing.T) {
	for _, typ := range []tir.Type{tir.Float32, tir.Float64, tir.Int32} {
		for _, s := range [][3]int64{{13, 11, 10}, {8, 4, 8}, {1, 1, 1}, {33, 40, 17}} {
			out := must.Get(tirrun.New(typ, s[0], s[2]))(t)
			r := Random()
			h.Compare(t, Tiles(t, int32(s[0]), int32(s[1]), int32(s[2]), typ), "tiles", 1e-5,
				Array(t, r, typ, s[0], s[1]), Array(t, r, typ, s[1], s[2]), out)
		}
	}
}

func (h *Harness) Softmax(t *testing.T) {
	for _, rows := range []int64{0, 1, 7} {
		out := must.Get(tirrun.New(tir.Float32, rows, 37))(t)
		h.Compare(t, Parsed(t, Softmax), "softmax", 1e-5, Array(t, Random(), tir.Float32, rows, 37), out)
	}
}

// A program has two kernels, device memory between them that the host allocates, and parameters of types that no kernel
// takes.
func (h *Harness) SeveralKernels(t *testing.T) {
	m := Parsed(t, `
func chain(a: handle, b: handle, on: bool, shift: int8, big: uint64, scale: float16, times: int32) {
  var n: int64
  buffer A: float32[n], param a
  buffer B: float32[n], param b
  alloc T: float32[n]
  let blocks = floordiv(n + int64(15), int64(16))
  thread i in range(blocks), thread "blockIdx.x" {
    thread j in range(int64(16)), thread "threadIdx.x" {
      if i * int64(16) + j < n {
        T[i * int64(16) + j] = A[i * int64(16) + j] * cast(float32, scale) + cast(float32, shift)
      }
    }
  }
  for k in range(times) {
    thread i in range(n), thread "blockIdx.x" {
      if on {
        T[i] = T[i] + cast(float32, k)
      }
    }
  }
  thread i in range(n), thread "blockIdx.x" {
    B[i] = T[i] + cast(float32, floormod(big, uint64(1000)))
  }
}
`)
	for _, n := range []int64{0, 1, 100} {
		out := must.Get(tirrun.New(tir.Float32, n))(t)
		h.Compare(t, m, "chain", 1e-6, Array(t, Random(), tir.Float32, n), out, true, -5, 7123, 0.333, 3)
		h.CompareFor(t, m, h.Target(t, "bounds-check"), "chain", 1e-6, Array(t, Random(), tir.Float32, n), out,
			true, -5, 7123, 0.333, 3)
	}
}

// Vectors of all types can have any number of lanes: one that the language has, more, or another.
func (h *Harness) Vectors(t *testing.T) {
	for _, typ := range []tir.Type{tir.Float32, tir.Float64, tir.Float16, tir.Int8, tir.UInt8, tir.Int16, tir.Int32,
		tir.UInt32, tir.Int64} {
		for _, lanes := range []int{2, 3, 4, 8, 16, 32, 20} {
			if lanes != 4 && typ != tir.Float32 && typ != tir.Int8 {
				continue
			}
			t.Run(fmt.Sprintf("%sx%d", typ, lanes), func(t *testing.T) {
				value := "max(X, Y) + select(X > Y && Y > C(3), X, Y * C(2))"
				if tir.IsFloat(typ) {
					value = "max(exp(X), Y) / C(2) + select(X > Y || X < C(-0.5), sqrt(fabs(X)), Y * C(2)) + sigmoid(Y)"
				}
				m := Vectorized(t, value, typ, lanes)
				r := Random()
				n := int64(5 * lanes)
				out := must.Get(tirrun.New(typ, n))(t)
				within := map[bool]float64{true: 1e-5}[tir.IsFloat(typ)]
				if typ == tir.Float16 {
					within = 2e-3
				}
				h.Compare(t, m, "v", within, Array(t, r, typ, n), Array(t, r, typ, n), out)
			})
		}
	}
}

// Types that no language has are computed by others.
func (h *Harness) NarrowTypes(t *testing.T) {
	out := must.Get(tirrun.New(tir.Float32, 64))(t)
	h.Compare(t, Parsed(t, `
func narrow(a: handle, b: handle) {
  buffer A: float32[64], param a
  buffer B: float32[64], param b
  thread t in range(64), thread "threadIdx.x" {
    B[t] = cast(float32, cast(float8_e4m3fn, A[t])) + cast(float32, cast(int4, cast(int32, A[t] * 7.0)))
  }
}
`), "narrow", 0, Array(t, Random(), tir.Float32, 64), out)
}

// The functions of a built module can be called directly.
func (h *Harness) CalledAtOnce(t *testing.T) {
	h.Need(t)
	gputest.NoLeaks(t, h.Devices)
	m := must.Open(codegen.Build(VAdd(t, tir.Float32, 64), h.Target(t)))(t)
	f := gputest.Function(t, m, "vadd")
	for _, dev := range h.Devices {
		a, b, c := gputest.Tensor(t, dev, []float32{1, 2, 3}), gputest.Tensor(t, dev, []float32{4, 5, 6}),
			gputest.Tensor(t, dev, make([]float32, 3))
		must.Get(f.Call(a, b, c, 2.0))(t)
		require.Equal(t, []float32{10, 14, 18}, gputest.Slice(t, c))
	}
}

// The host code checks its arguments before it launches anything.
func (h *Harness) BadArguments(t *testing.T) {
	h.Need(t)
	lib := h.Library(t, VAdd(t, tir.Float32, 64))
	f := gputest.Function(t, lib, "vadd")
	zeros := func(dev dlpack.Device, n int) *runtime.Tensor { return gputest.Tensor(t, dev, make([]float32, n)) }
	a, c := zeros(h.Devices[0], 8), zeros(h.Devices[0], 8)
	part := must.Open(zeros(h.Devices[0], 128).View(dlpack.Float32, []int64{8}, nil, int64(h.Alignment)+4))(t)
	inside := fmt.Sprintf("argument 1 (B): the elements begin %d bytes into the device's memory, expected a multiple of "+
		"%d on KIND:0: copy them", h.Alignment+4, h.Alignment)
	if h.Alignment == 0 {
		part = must.Open(zeros(h.Devices[0], 128).View(dlpack.Float32, []int64{8}, nil, 2))(t)
		inside = "argument 1 (B): the elements begin 2 bytes behind a multiple of 4: copy them to aligned memory"
	}
	for want, args := range map[string][]any{
		"argument 1 (B): the tensor is on cpu:0, expected KIND:0, the device of argument 0 (A): " +
			"copy it": {a, zeros(runtime.CPU, 8), c, 1.0},
		"argument 0 (A): the tensor is on cpu:0, expected KIND: " +
			"copy it": {zeros(runtime.CPU, 8), a, c, 1.0},
		"argument 2 (C): the tensor is on KIND:1, expected " +
			"KIND:0": {a, a, zeros(h.Devices[1], 8), 1.0},
		"argument 1 (B): shape[0] is 7, expected n = 8 (argument 0 (A): " +
			"shape[0])": {a, zeros(h.Devices[0], 7), c, 1.0},
		inside: {a, part, c, 1.0},
		"argument 3 (by): expected float32, got a " +
			"tensor": {a, a, c, c},
		"vadd: expected 4 " +
			"arguments, got 3": {a, a, c},
	} {
		want = strings.ReplaceAll(want, "KIND", h.Kind)
		require.ErrorContains(t, must.Fail(f.Call(args...)), want)
	}
}

// A tensor that begins inside its buffer is passed to the kernels as a part of it, if the device's alignment permits.
func (h *Harness) Offsets(t *testing.T) {
	h.Need(t)
	m := must.Get(text.Parse(`
func add(a: handle, b: handle, c: handle) {
  var n: int32
  buffer A: float32[n], param a
  buffer B: float32[n], param b
  buffer C: float32[n], param c
  thread t in range(n), thread "blockIdx.x" {
    C[t] = A[t]
  }
  thread t in range(n), thread "blockIdx.x" {
    C[t] = C[t] + B[t]
  }
}
func twice(a: handle, b: handle, c: handle) {
  var n: int32
  buffer A: float32[n], param a
  buffer B: float32[n], param b
  buffer C: float32[n], param c
  packed add(a, b, c)
}
`))(t)
	lib := h.Library(t, m)
	for _, name := range []string{"add", "twice"} {
		f := gputest.Function(t, lib, name)
		for _, dev := range h.Devices {
			gputest.Offsets(t, lib, dev, name, [3]string{"A", "B", "C"}, func(a, b, c *runtime.Tensor) error {
				_, err := f.Call(a, b, c)
				return err
			})
		}
	}
}

// Kernels can be launched by the program, too, through the module that the host's module imports.
func (h *Harness) KernelByHand(t *testing.T) {
	h.Need(t)
	lib := h.Library(t, VAdd(t, tir.Float32, 64))
	k := gputest.Kernel(t, lib, "vadd_kernel")
	a, b, c := gputest.Tensor(t, h.Devices[0], []float32{1, 2, 3}), gputest.Tensor(t, h.Devices[0], []float32{4, 5, 6}),
		gputest.Tensor(t, h.Devices[0], make([]float32, 3))
	require.NoError(t, k.Launch(nil, runtime.Dim3{1}, runtime.Dim3{64}, a, b, c, 3, 2.0))
	require.Equal(t, []float32{10, 14, 18}, gputest.Slice(t, c))
}

// Stages at the root become separate kernels. A stage at a block's loop is shared by the threads of the block.
func (h *Harness) Stages(t *testing.T) {
	n := te.Var("n")
	a := te.Placeholder([]tir.Expr{n, tir.I32(9)}, tir.Float32, "A")
	k := te.ReduceAxis(tir.I32(0), tir.I32(9), "k")
	twice := te.Compute([]tir.Expr{n, tir.I32(9)}, "twice",
		func(i ...tir.Expr) tir.Expr { return tir.Mul(a.At(i...), tir.F32(2)) })
	sum := te.Compute([]tir.Expr{n}, "sum", func(i ...tir.Expr) tir.Expr { return te.Sum(twice.At(i[0], k.Var), k) })
	c := te.Compute([]tir.Expr{n, tir.I32(9)}, "C",
		func(i ...tir.Expr) tir.Expr { return tir.Sub(twice.At(i...), sum.At(i[0])) })
	m := Scheduled(t, "stages", []any{a, c}, c)(func(s *te.Schedule) {
		first := s.Stage(twice)
		bx, tx := first.Split(first.Fuse(twice.Axes()[0], twice.Axes()[1]), 32)
		first.Bind(bx, "blockIdx.x")
		first.Bind(tx, "threadIdx.x")
		last := s.Stage(c)
		last.Bind(c.Axes()[0], "blockIdx.x")
		last.Bind(c.Axes()[1], "threadIdx.x")
		at := s.Stage(sum)
		at.ComputeAt(last, c.Axes()[0])
		at.SetScope("shared")
	})
	for _, rows := range []int64{0, 1, 12} {
		out := must.Get(tirrun.New(tir.Float32, rows, 9))(t)
		h.Compare(t, m, "stages", 1e-5, Array(t, Random(), tir.Float32, rows, 9), out)
	}
}

func (h *Harness) RandomSchedules(t *testing.T) {
	h.Need(t)
	r := testseed.Rand(t)
	for range 4 {
		m, rows, inner, cols := RandomProduct(t, r)
		if _, err := transform.ThreadSync(m, nil); err != nil {
			continue // see TestRandomSchedules
		}
		out := must.Get(tirrun.New(tir.Int32, rows, cols))(t)
		h.Compare(t, m, "product", 0, Array(t, r, tir.Int32, rows, inner), Array(t, r, tir.Int32, inner, cols), out)
		h.CompareFor(t, m, h.Target(t, "bounds-check"), "product", 0, Array(t, r, tir.Int32, rows, inner),
			Array(t, r, tir.Int32, inner, cols), out)
	}
}

// HalvesOfIntegers converts integers that are close to the middle between two 16-bit floats, as scalars and in
// vectors.
func (h *Harness) HalvesOfIntegers(t *testing.T) {
	for _, c := range []struct {
		from, to tir.Type
		kind     string
	}{{tir.Int32, tir.BFloat16, "vectorized"}, {tir.Int64, tir.BFloat16, "for"},
		{tir.UInt64, tir.BFloat16, "vectorized"}, {tir.UInt32, tir.BFloat16, "for"}, {tir.Int32, tir.Float16, "for"}} {
		var all []int64
		for high := range int(c.from.Bits) {
			for low := range high {
				for d := int64(-1); d <= 1; d++ {
					x := int64(1)<<high + int64(1)<<low + d
					all = append(all, x, -x)
				}
			}
		}
		all = all[:len(all)/4*4]
		in := must.Get(tirrun.From(c.from, all, int64(len(all))))(t)
		out := must.Get(tirrun.New(c.to, int64(len(all))))(t)
		m := Parsed(t, fmt.Sprintf(`
func f(a: handle, b: handle) {
  buffer A: %[1]s[%[3]d], param a
  buffer B: %[2]s[%[3]d], param b
  thread i in range(%[4]d), thread "blockIdx.x" { %[5]s j in range(4) { B[i * 4 + j] = cast(%[2]s, A[i * 4 + j]) } }
}
`, c.from, c.to, len(all), len(all)/4, c.kind))
		h.Compare(t, m, "f", 0, in, out)
	}
}

// PartsOfVectors stores vectors for which languages have no type, in parts.
func (h *Harness) PartsOfVectors(t *testing.T) {
	for _, lanes := range []int{5, 6, 7, 9} {
		m := Parsed(t, fmt.Sprintf(`
func f(a: handle) {
  buffer A: float32[%[2]d], param a
  thread i in range(4), thread "blockIdx.x" { A[ramp(i * %[1]d, 1, %[1]d)] = broadcast(cast(float32, i) + 1.0, %[1]d) }
}
func g(a: handle) {
  buffer A: int32[%[2]d], param a
  thread i in range(4), thread "blockIdx.x" { A[ramp(i * %[1]d, 1, %[1]d)] = ramp(i, 3, %[1]d) }
}
`, lanes, 4*lanes))
		for name, typ := range map[string]tir.Type{"f": tir.Float32, "g": tir.Int32} {
			out := must.Get(tirrun.New(typ, int64(4*lanes)))(t)
			h.Compare(t, m, name, 0, out)
		}
	}
}

// ExtendedIntegers has minima, maxima and comparisons of integers that are extended to 64 bits.
func (h *Harness) ExtendedIntegers(t *testing.T) {
	in := must.Get(tirrun.From(tir.Int32, []int64{0, 4, -1, 5, -17, 100, -1 << 31, 1<<31 - 1}, 8))(t)
	values := []string{"min(int64(A[i]), int64(4))", "max(int64(A[i]), int64(0))",
		"max(min(int64(A[i]), int64(4)), int64(0))", "min(int64(A[i]), int64(5000000000))",
		"max(int64(int16(A[i])), int64(-4))", "min(int64(uint32(A[i])), int64(4))",
		"select(int64(A[i]) < int64(4), int64(A[i]) * int64(3), int64(4))"}
	body := ""
	for n, v := range values {
		body += fmt.Sprintf("B[%d, i] = %s\n", n, v)
	}
	m := Parsed(t, fmt.Sprintf(`
func f(a: handle, b: handle) {
  buffer A: int32[8], param a
  buffer B: int64[%d, 8], param b
  thread i in range(8), thread "threadIdx.x" { %s }
}
`, len(values), body))
	h.Compare(t, m, "f", 0, in, must.Get(tirrun.New(tir.Int64, int64(len(values)), 8))(t))
}

// SharedTypes has two buffers in shared memory, of which the second can use the memory of the first one if a language
// allows it for their types.
func (h *Harness) SharedTypes(t *testing.T) {
	h.Need(t)
	pairs := [][2]tir.Type{{tir.Bool, tir.Int8}, {tir.Int8, tir.UInt8}, {tir.UInt8, tir.Bool}, {tir.Int16, tir.Float16},
		{tir.Float16, tir.BFloat16}, {tir.BFloat16, tir.Int16}, {tir.Int32, tir.Float32}, {tir.Float32, tir.UInt32},
		{tir.Int64, tir.Float64}, {tir.Float64, tir.Int64}, {tir.Float16, tir.Float32}, {tir.Float32, tir.Int8},
		{tir.Int64, tir.BFloat16}, {tir.Bool, tir.Bool}}
	source := ""
	for n, p := range pairs {
		source += fmt.Sprintf(`
func f%d(a: handle, b: handle) {
  buffer A: %[2]s[8], param a
  buffer B: %[3]s[8], param b
  thread bx in range(1), thread "blockIdx.x" {
    alloc s: %[2]s[8], scope "shared"
    alloc d: %[3]s[8], scope "shared"
    alloc r: %[2]s[1], scope "local"
    thread i in range(8), thread "threadIdx.x" {
      s[i] = A[i]
      storage_sync("shared")
      r[0] = s[7 - i]
      storage_sync("shared")
      d[i] = cast(%[3]s, r[0])
      storage_sync("shared")
      B[i] = d[floormod(i + 1, 8)]
    }
  }
}
`, n, p[0], p[1])
	}
	m := Parsed(t, source)
	lib := h.Library(t, m)
	for n, p := range pairs {
		h.CompareIn(t, lib, m, fmt.Sprintf("f%d", n), 0, Array(t, Random(), p[0], 8),
			must.Get(tirrun.New(p[1], 8))(t))
	}
}
