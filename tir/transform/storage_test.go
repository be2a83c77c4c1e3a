package transform_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/testseed"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
	"tvmgo/tir/transform"
)

var storageTypes = []tir.Type{tir.Int32, tir.Float32, tir.Float64, tir.Int8, tir.UInt16, tir.Float16, tir.Int64}

// eachStorageProgram runs a test with random programs.
func eachStorageProgram(t *testing.T, test func(f *tir.PrimFunc, p *storageProgram)) {
	programs := 120
	if testing.Short() {
		programs = 60
	}
	seed := testseed.Of(t)
	seen := map[string]int{}
	for k := range programs {
		p := &storageProgram{Rand: rand.New(rand.NewPCG(seed, uint64(k))), types: storageTypes, seen: seen}
		f := p.function(fmt.Sprintf("f%d", k))
		require.NoError(t, tir.Check(&tir.IRModule{Funcs: []*tir.PrimFunc{f}}), text.Print(f))
		test(f, p)
	}
	for _, what := range []string{"symbolic", "strides", "vectors", "parallel", "double buffers", "lets"} {
		require.Greater(t, seen[what], 10, "programs hardly have %s", what)
	}
}

func oneFunc(t testing.TB, pass transform.Pass, f *tir.PrimFunc) *tir.PrimFunc {
	t.Helper()
	before := text.Print(f)
	m, err := pass(&tir.IRModule{Funcs: []*tir.PrimFunc{f}}, nil)
	require.NoError(t, err, before)
	require.Equal(t, before, text.Print(f), "the pass has changed its argument")
	require.NoError(t, tir.Check(m), text.Print(m))
	return m.Funcs[0]
}

// Flattened programs compute the same as before, and every access has one index.
func TestFlattenStorage_Random(t *testing.T) {
	eachStorageProgram(t, func(f *tir.PrimFunc, p *storageProgram) {
		g := oneFunc(t, transform.FlattenStorage, f)
		tir.Walk(g, func(node any) bool {
			switch n := node.(type) {
			case *tir.BufferLoad:
				require.Len(t, n.Indices, 1)
			case *tir.BufferStore:
				require.Len(t, n.Indices, 1)
			case *tir.Alloc:
				require.Len(t, n.Buffer.Shape, 1)
				require.Nil(t, n.Buffer.Strides)
			}
			return true
		})
		require.Equal(t, f.Buffers, g.Buffers, "the buffers of parameters stay")
		for _, n := range []int64{1, 3} {
			require.Equal(t, results(t, f, n), results(t, g, n), "%s\n%s", text.Print(f), text.Print(g))
		}
	})
}

// allocated returns the sum of all constant allocations of a function, the peak, and their number.
func allocated(s tir.Stmt) (sum, most int64, count int) {
	add := func(parts ...tir.Stmt) {
		for _, x := range parts {
			if x == nil {
				continue
			}
			a, b, n := allocated(x)
			sum, most, count = sum+a, max(most, b), count+n
		}
	}
	switch s := s.(type) {
	case *tir.Alloc:
		add(s.Body)
		count++
		last := int64(1)
		for d, n := range s.Buffer.Shape {
			size, ok := n.(*tir.IntImm)
			if !ok {
				return sum, most, count
			}
			step := int64(1)
			for _, m := range s.Buffer.Shape[d+1:] {
				k, ok := m.(*tir.IntImm)
				if !ok {
					return sum, most, count
				}
				step *= k.Value
			}
			if s.Buffer.Strides != nil {
				step = folded(s.Buffer.Strides[d])
			}
			last += (size.Value - 1) * step
		}
		bytes := last * int64(s.Buffer.DType.Bits) / 8
		return sum + bytes, most + bytes, count
	case *tir.Seq:
		add(s.Stmts...)
	case *tir.For:
		add(s.Body)
	case *tir.While:
		add(s.Body)
	case *tir.If:
		add(s.Then, s.Else)
	case *tir.LetStmt:
		add(s.Body)
	case *tir.AttrStmt:
		add(s.Body)
	}
	return sum, most, count
}

// folded returns the value of a constant expression.
func folded(e tir.Expr) int64 {
	c, ok := arith.NewAnalyzer().Simplify(e).(*tir.IntImm)
	if !ok {
		panic(text.Print(e))
	}
	return c.Value
}

// Programs with shared memory compute the same as before, and use less memory.
func TestReuseStorage_Random(t *testing.T) {
	var before, after, fewer int64
	views := 0
	eachStorageProgram(t, func(f *tir.PrimFunc, p *storageProgram) {
		g := oneFunc(t, transform.ReuseStorage, f)
		for _, n := range []int64{1, 3} {
			require.Equal(t, results(t, f, n), results(t, g, n), "%s\n%s", text.Print(f), text.Print(g))
		}
		sum, most, count := allocated(f.Body)
		less, least, remain := allocated(g.Body)
		require.LessOrEqual(t, less, sum, "%s\n%s", text.Print(f), text.Print(g))
		require.LessOrEqual(t, least, most, "%s\n%s", text.Print(f), text.Print(g))
		before, after, fewer = before+sum, after+less, fewer+int64(count-remain)
		tir.Walk(g, func(node any) bool {
			if s, ok := node.(*tir.AttrStmt); ok && s.Key == tir.AttrView {
				views++
			}
			return true
		})
	})
	t.Logf("%d bytes became %d, %d allocations less, %d views", before, after, fewer, views)
	require.Less(t, after, before)
	require.Greater(t, fewer, int64(100))
	require.Greater(t, views, 100)
}
