package codegen_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/internal/testing/must"
	"tvmgo/te"
	"tvmgo/tir"
)

// misuse makes, builds and exports a program, and returns the first error.
func misuse(t *testing.T, target string, make func() (*tir.IRModule, error)) error {
	t.Helper()
	m, err := make()
	if err != nil {
		return err
	}
	b, err := codegen.Build(m, kind(t, target))
	if err != nil {
		return err
	}
	defer b.Close()
	f, err := b.Function(m.Funcs[0].Name)
	if err != nil {
		return err
	}
	f.Close()
	return export.Library(context.Background(), b, filepath.Join(t.TempDir(), "library.so"))
}

// doubled computes 2·A in a type, as a function of that name; schedule may be nil.
func doubled(name string, e tir.Type, schedule func(s *te.Schedule, b *te.Tensor)) func() (*tir.IRModule, error) {
	return func() (*tir.IRModule, error) {
		a := te.Placeholder(te.Dims(8, 8), e, "A")
		b := te.Compute(te.Dims(8, 8), "B", func(i ...tir.Expr) tir.Expr { return tir.Add(a.At(i...), a.At(i...)) })
		s, err := te.NewSchedule(b)
		if err != nil {
			return nil, err
		}
		if schedule != nil {
			schedule(s, b)
		}
		return te.Lower(s, []any{a, b}, name)
	}
}

// calls is a function that calls another one of its module.
func calls(name, callee string) *tir.PrimFunc {
	return &tir.PrimFunc{Name: name, Result: tir.Void, Buffers: map[*tir.Var]*tir.Buffer{},
		Body: &tir.Evaluate{Value: tir.NewCall(tir.CallFunc, tir.Void, callee)}}
}

// TestMisuse: each error names the function, or the tensor and the axis, and contains a solution.
func TestMisuse(t *testing.T) {
	nothing := func() (*tir.IRModule, error) { return doubled("f", tir.Float32, nil)() }
	one := func(name string) *tir.PrimFunc {
		m := must.Get(doubled(name, tir.Float32, nil)())(t)
		return m.Funcs[0]
	}
	for _, c := range []struct {
		name, target string
		make         func() (*tir.IRModule, error)
		setup        func(t *testing.T)
		want         []string
	}{
		{name: "no compiler", make: nothing, setup: func(t *testing.T) { t.Setenv("PATH", t.TempDir()); t.Setenv("CC", "") },
			want: []string{"f", "compiler"}},
		{name: "a missing compiler", make: nothing, setup: func(t *testing.T) { t.Setenv("CC", "no-such-cc") },
			want: []string{"f", "no-such-cc"}},
		{name: "a compiler that fails", make: nothing, setup: func(t *testing.T) { t.Setenv("CC", "false") },
			want: []string{"f", "false"}},
		{name: "no identifier", make: doubled("my-function", tir.Float32, nil),
			want: []string{`"my-function"`, "letters, digits"}},
		{name: "an empty name", make: doubled("", tir.Float32, nil), want: []string{"a function has no name"}},
		{name: "two functions of one name",
			make: func() (*tir.IRModule, error) { return &tir.IRModule{Funcs: []*tir.PrimFunc{one("f"), one("f")}}, nil },
			want: []string{"f", "two functions"}},
		{name: "a function that calls itself", make: func() (*tir.IRModule, error) { return tir.NewModule(calls("f", "f")) },
			want: []string{"functions call each other recursively: f calls f"}},
		{name: "functions that call each other",
			make: func() (*tir.IRModule, error) { return tir.NewModule(calls("f", "g"), calls("g", "h"), calls("h", "f")) },
			want: []string{"functions call each other recursively: f calls g calls h calls f"}},
		{name: "out of range", make: func() (*tir.IRModule, error) {
			a := te.Placeholder(te.Dims(8), tir.Float32, "A")
			s, err := te.NewSchedule(te.Compute(te.Dims(8), "B",
				func(i ...tir.Expr) tir.Expr { return a.At(tir.Add(i[0], tir.I32(1))) }))
			require.Nil(t, s)
			return nil, err
		}, want: []string{"compute B", "dimension 0 of tensor A is read from 1 to 8, and has 8 elements"}},
		{name: "one thread axis twice", make: doubled("f", tir.Float32, func(s *te.Schedule, b *te.Tensor) {
			s.Stage(b).Bind(b.Axes()[0], "threadIdx.x")
			s.Stage(b).Bind(b.Axes()[1], "threadIdx.x")
		}), want: []string{"bind of tensor B", "axis i1", "axis i0 is already bound to threadIdx.x"}},
		{name: "an unknown thread axis",
			make: doubled("f", tir.Float32, func(s *te.Schedule, b *te.Tensor) { s.Stage(b).Bind(b.Axes()[0], "threadIdx.q") }),
			want: []string{"bind of tensor B", "axis i0", `"threadIdx.q"`, "threadIdx.x"}},
		{name: "an axis of no tensor", make: doubled("f", tir.Float32, func(s *te.Schedule, b *te.Tensor) {
			s.Stage(b).Split(te.ReduceAxis(tir.I32(0), tir.I32(4), "z"), 2)
		}), want: []string{"split of tensor B", "axis z", "[i0 i1]"}},
		{name: "threads of a device on the CPU",
			make: doubled("f", tir.Float32, func(s *te.Schedule, b *te.Tensor) { s.Stage(b).Bind(b.Axes()[0], "threadIdx.x") }),
			want: []string{"f", "threadIdx.x"}},
		{name: "a type without arithmetic", make: doubled("f", tir.Type{Code: dlpack.CodeComplex, Bits: 64, Lanes: 1}, nil),
			want: []string{"placeholder A", "elements have type", "want integers or floats"}},
		{name: "a type that does not exist", make: doubled("f", tir.Type{Code: dlpack.CodeFloat, Bits: 24, Lanes: 1}, nil),
			want: []string{"A", "float24"}},
		{name: "a shape that differs", make: func() (*tir.IRModule, error) {
			a, b := te.Placeholder(te.Dims(8), tir.Float32, "A"), te.Placeholder(te.Dims(8), tir.Int32, "B")
			_, err := te.NewSchedule(te.Compute(te.Dims(8), "C",
				func(i ...tir.Expr) tir.Expr { return tir.Add(a.At(i[0]), b.At(i[0])) }))
			return nil, err
		}, want: []string{"compute C", "float32", "int32"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.setup != nil {
				c.setup(t)
			}
			if c.target == "" {
				c.target = "c"
			}
			err := misuse(t, c.target, c.make)
			require.Error(t, err)
			t.Log(err)
			for _, part := range c.want {
				require.ErrorContains(t, err, part)
			}
		})
	}
}
