package operators_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"tvmgo/graph"
	_ "tvmgo/graph/operators"
	"tvmgo/internal/testing/testseed"
	"tvmgo/tir"
)

var someTypes = []tir.Type{tir.Float32, tir.Float32, tir.Float32, tir.Int64, tir.Int64, tir.Int32, tir.Bool,
	tir.Float16, tir.UInt8, tir.Float64}

// randomValue makes a parameter or a constant with up to 4 dimensions, of which some have no element or are not known.
func randomValue(r *rand.Rand, f *graph.Function, i int) *graph.Value {
	t := someTypes[r.IntN(len(someTypes))]
	name := fmt.Sprintf("x%d", i)
	if r.IntN(3) == 0 {
		values := make([]int64, r.IntN(5))
		for k := range values {
			values[k] = []int64{-1, 0, 1, 2, 3, 100, -9, 1 << 40, -1 << 62}[r.IntN(9)]
		}
		if r.IntN(3) > 0 {
			return f.Ints(name, values...)
		}
		v, err := f.Scalar(t, float64(r.IntN(2)))
		if err != nil {
			panic(err) // all these types have constants
		}
		return v
	}
	shape := make([]tir.Expr, r.IntN(6))
	for d := range shape {
		shape[d] = tir.I32([]int32{0, 1, 1, 2, 2, 3, 3, 4, 1 << 30}[r.IntN(9)])
		if r.IntN(8) == 0 {
			shape[d] = f.Symbol("n")
		}
	}
	return f.Param(name, t, shape...)
}

func randomAttrs(r *rand.Rand, op *graph.Op) graph.Attrs {
	attrs := graph.Attrs{}
	number := func() int64 { return []int64{-1, 0, 1, 2, 3, 7, -5, 1 << 40, -1 << 63}[r.IntN(9)] }
	for _, a := range op.Attrs {
		if r.IntN(3) == 0 {
			continue
		}
		switch a.Default.(type) {
		case int64:
			attrs[a.Name] = number()
		case float64:
			attrs[a.Name] = []float64{0, 1, -1, 0.5, 1e30}[r.IntN(5)]
		case string:
			attrs[a.Name] = []string{"", "nearest", "add", "linear", "NOTSET", "SAME_UPPER", "ij,jk->ik", "x"}[r.IntN(8)]
		case bool:
			attrs[a.Name] = r.IntN(2) == 0
		case []int64:
			list := make([]int64, r.IntN(5))
			for k := range list {
				list[k] = number()
			}
			attrs[a.Name] = list
		case []float64:
			attrs[a.Name] = make([]float64, r.IntN(4))
		case tir.Type:
			attrs[a.Name] = someTypes[r.IntN(len(someTypes))]
		}
	}
	return attrs
}

// Operands and attributes that make no sense are errors with a message of the operator.
func TestOperators_WrongOperands(t *testing.T) {
	seed := testseed.Of(t)
	cases := 100
	if os.Getenv("TVMGO_TEST_ALL") != "" {
		cases = 1000
	}
	for _, name := range graph.OpNames() {
		op := graph.LookupOp(name)
		if op.Control != graph.Formula {
			continue
		}
		r := rand.New(rand.NewPCG(seed, 1))
		shown := map[string]bool{}
		for range cases {
			f := graph.NewFunction("main")
			most := op.In[1]
			if most < 0 {
				most = 3
			}
			in := make([]*graph.Value, op.In[0]+r.IntN(most-op.In[0]+1))
			for i := range in {
				if i < op.In[0] || r.IntN(4) > 0 {
					in[i] = randomValue(r, f, i)
				}
			}
			attrs := randomAttrs(r, op)
			_, err := f.Add(name, attrs, in...)
			if text := fmt.Sprint(err); errors.Is(err, graph.ErrOperands) && !shown[text] && len(shown) < 4 {
				shown[text] = true
				var list []string
				for _, v := range in {
					if v == nil {
						list = append(list, "nil")
					} else {
						list = append(list, fmt.Sprint(v, v.Elements() != nil))
					}
				}
				t.Errorf("%s\n\t%v %s", err, attrs, strings.Join(list, "  "))
			}
		}
	}
}
