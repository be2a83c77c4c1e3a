package modelcall_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	. "tvmgo/internal/modelcall"
	"tvmgo/internal/testing/must"
)

func floats(dims ...string) Type {
	return Type{Kind: Tensor, DType: dlpack.Float32, NDim: len(dims), Dims: dims}
}

func shape(dims ...string) Type { return Type{Kind: Shape, NDim: len(dims), Dims: dims} }

func tuple(fields ...Type) Type { return Type{Kind: Tuple, Fields: fields} }

func number(t dlpack.DataType) Type { return Type{Kind: Number, DType: t} }

func function(result Type, params ...Type) *Function {
	names := []string{"a", "b", "c", "d"}
	var list []Parameter
	for i, p := range params {
		list = append(list, Parameter{Name: names[i], Type: p})
	}
	return New(list, result)
}

func given(dims ...int64) Argument { return Argument{Kind: Tensor, DType: dlpack.Float32, Dims: dims} }

func dims(dims ...int64) Argument { return Argument{Kind: Shape, Dims: dims} }

func items(list ...Argument) Argument { return Argument{Kind: Tuple, Items: list} }

func TestCheck(t *testing.T) {
	anyTensor := Type{Kind: Tensor, NDim: -1}
	for _, c := range []struct {
		params []Type
		args   []Argument
		says   string // "" if they match
	}{
		{[]Type{floats("n", "4"), floats("n")}, []Argument{given(3, 4), given(3)}, ""},
		{[]Type{floats("n", "4"), floats("n")}, []Argument{given(3, 4), given(2)},
			"parameter b: expected float32[n], got float32[2]: dimension 0 must be 3, because n is 3 in parameter a"},
		{[]Type{floats("n", "4")}, []Argument{given(3, 5)},
			"parameter a: expected float32[n, 4], got float32[3, 5]: dimension 1 must be 4"},
		{[]Type{floats("n", "4")}, []Argument{given(3)}, "got float32[3]: 1 dimensions, not 2"},
		{[]Type{floats()}, []Argument{given()}, ""},
		{[]Type{floats()}, []Argument{given(1)}, "expected float32[], got float32[1]"},
		{[]Type{floats("n")}, []Argument{{Kind: Tensor, DType: dlpack.Int8, Dims: []int64{3}}},
			"expected float32[n], got int8[3]: the dtype differs"},
		{[]Type{{Kind: Tensor, DType: dlpack.Bool, NDim: -1}}, []Argument{{Kind: Tensor,
			DType: dlpack.DataType{Code: dlpack.CodeUInt, Bits: 1, Lanes: 1}}}, ""},
		{[]Type{anyTensor, floats("", "?x", "2")}, []Argument{given(1, 2, 3), given(7, 8, 2)}, ""},
		{[]Type{anyTensor}, []Argument{{Kind: None}}, "expected tensor, got None"},
		{[]Type{anyTensor}, []Argument{dims(1)}, "expected tensor, got shape[1]"},
		{[]Type{anyTensor}, []Argument{{Kind: Other, What: "str"}}, "got str"},
		{[]Type{shape("n", "m"), floats("m", "n")}, []Argument{dims(2, 3), given(3, 2)}, ""},
		{[]Type{shape("n", "m"), floats("m", "n")}, []Argument{dims(2, 3), given(2, 3)},
			"parameter b: expected float32[m, n], got float32[2, 3]: dimension 0 must be 3, because m is 3 in parameter a"},
		{[]Type{tuple(floats("n"), number(dlpack.Int64)), floats("n")}, []Argument{items(given(2), Argument{Kind: Int}),
			given(2)}, ""},
		{[]Type{tuple(floats("n"), number(dlpack.Int64)), floats("n")}, []Argument{items(given(2), Argument{Kind: Float}),
			given(2)}, "parameter a, field 1: expected int64, got float"},
		{[]Type{floats("n"), tuple(tuple(floats("n")))}, []Argument{given(2), items(items(given(3)))},
			"parameter b, field 0, field 0: expected float32[n], got float32[3]: dimension 0 must be 2"},
		{[]Type{tuple(floats("n"))}, []Argument{items()}, "expected (float32[n]), got (): 0 fields, not 1"},
		{[]Type{number(dlpack.Float32), number(dlpack.Bool), number(dlpack.Int8)}, []Argument{{Kind: Int}, {Kind: Int},
			{Kind: Int}}, ""},
		{[]Type{number(dlpack.Float32)}, []Argument{{Kind: Float}}, ""},
		{[]Type{number(dlpack.Float32)}, []Argument{given(1)}, "expected float32, got float32[1]"},
		{[]Type{number(dlpack.Handle)}, []Argument{{Kind: Other, What: "ptr"}}, ""},
		{[]Type{{}}, []Argument{{Kind: Other, What: "str"}}, ""},
		{[]Type{{Kind: Callable}}, []Argument{{Kind: Callable}}, ""},
		{[]Type{{Kind: Callable}}, []Argument{{Kind: Int}}, "expected function, got int"},
		// A symbol may be known only by a later parameter.
		{[]Type{floats("n * 2"), floats("n")}, []Argument{given(6), given(3)}, ""},
		{[]Type{floats("n * 2"), floats("n")}, []Argument{given(7), given(3)},
			"parameter a: expected float32[n * 2], got float32[7]: dimension 0 must be 6, because n is 3 in parameter b"},
		{[]Type{floats("n * 2")}, []Argument{given(7)}, ""}, // not known
		{[]Type{floats("n", "m"), floats("n + m")}, []Argument{given(2, 3), given(6)},
			"dimension 0 must be 5, because n is 2 in parameter a and m is 3 in parameter a"},
	} {
		f := function(Type{}, c.params...)
		params := must.Get(f.Parameters(len(c.args)))(t)
		err := f.Check(params, c.args)
		if c.says == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.says)
		}
	}
}

// Expressions are those that TVM prints.
func TestCheck_Expressions(t *testing.T) {
	for text, want := range map[string]int64{ // n is 7, m is 2
		"n * 2": 14, "T.int64(2) * n": 14, "n*2 + m": 16, "2 + n * m": 16, "(2 + n) * m": 18, "n - 1 - m": 4, "n // 2": 3,
		"n % 4": 3, "(m - n) // 2": -3, "(m - n) % 3": 1, "T.max(n, m)": 7, "T.min(n, m + 1)": 3, "max(n, m)": 7,
		"T.int32(5)": 5, "n + -1": 6, "((n))": 7,
	} {
		f := function(Type{}, floats("n", "m", text))
		args := []Argument{given(7, 2, want)}
		require.NoError(t, f.Check([]int{0}, args), text)
		args[0].Dims[2]++
		require.Error(t, f.Check([]int{0}, args), text)
	}
	for _, text := range []string{"n // (m - 2)", "n % 0", "T.where(n)", "n +", "(n", "n)", "2n", "", "n $ m", "T.max(n)",
		"k * 2", strings.Repeat("(", 1000) + "n", strings.Repeat("T.max(", 1000)} { // not compared
		f := function(Type{}, floats("n", "m", text))
		require.NoError(t, f.Check([]int{0}, []Argument{given(7, 2, 100)}), text)
	}
}

// Further symbols are not compared.
func TestCheck_ManySymbols(t *testing.T) {
	var names []string
	var sizes []int64
	for i := range 40 {
		names, sizes = append(names, "s"+strings.Repeat("x", i)), append(sizes, int64(i))
	}
	f := function(Type{}, floats(names...), floats(names...))
	require.NoError(t, f.Check([]int{0, 1}, []Argument{given(sizes...), given(sizes...)}))
	other := append([]int64{5}, sizes[1:]...)
	require.Error(t, f.Check([]int{0, 1}, []Argument{given(sizes...), given(other...)}))
}

func TestOrder(t *testing.T) {
	f := New([]Parameter{{Name: "x"}, {Name: "weight", Bound: true}, {Name: "y"}}, Type{})
	for _, c := range []struct {
		named map[string]any
		want  []any
		says  string
	}{
		{map[string]any{"y": 2, "x": 1}, []any{1, 2}, ""},
		{map[string]any{"y": 2, "x": 1, "weight": 3}, []any{1, 3, 2}, ""},
		{map[string]any{"y": nil, "x": 1}, []any{1, nil}, ""},
		{map[string]any{"y": 2}, nil, "missing inputs: x"},
		{nil, nil, "missing inputs: x, y"},
		{map[string]any{"y": 2, "weight": 1}, nil, "missing inputs: x"},
		{map[string]any{"y": 2, "x": 1, "wieght": 3}, nil,
			`there is no parameter "wieght"; did you mean "weight"?: it has x, weight, y`},
		{map[string]any{"y": 2, "x": 1, "zzzzzzzz": 3, "aaaaaaaa": 3}, nil, `there is no parameter "aaaaaaaa": it has x`},
		{map[string]any{"": 2}, nil, "an input has no name"},
	} {
		list, err := f.Order(c.named)
		if c.says == "" {
			require.NoError(t, err)
			require.Equal(t, c.want, list)
		} else {
			require.ErrorContains(t, err, c.says)
		}
	}
	two := New([]Parameter{{Name: "x"}, {Name: "v", Bound: true}, {Name: "w", Bound: true}}, Type{})
	require.ErrorContains(t, must.Fail(two.Order(map[string]any{"x": 1, "v": 2})),
		"some inputs are for bound parameters: leave these out, or give all, also w")
	require.ErrorContains(t, must.Fail(New([]Parameter{{Name: "x"}, {}}, Type{}).Order(map[string]any{"x": 1})),
		"parameters have no names (1): give the inputs in order")
}

func TestParameters(t *testing.T) {
	f := New([]Parameter{{Name: "x"}, {Name: "v", Bound: true}, {Name: "w", Bound: true}, {}}, Type{})
	require.Equal(t, []int{0, 3}, must.Get(f.Parameters(2))(t))
	require.Equal(t, []int{0, 1, 2, 3}, must.Get(f.Parameters(4))(t))
	for n, says := range map[int]string{
		0: "missing inputs: expected 2 (x, 3), or all 4 with the bound ones, got 0",
		3: "surplus or missing inputs: expected 2 (x, 3), or all 4 with the bound ones, got 3",
		5: "surplus inputs: expected 2",
	} {
		require.ErrorContains(t, must.Fail(f.Parameters(n)), says)
	}
	require.Empty(t, must.Get(New(nil, Type{}).Parameters(0))(t))
	require.ErrorContains(t, must.Fail(New(nil, Type{}).Parameters(1)), "surplus inputs: expected none, got 1")
	require.Equal(t, "parameter 3", f.Label(3))
}

// of is a tensor of a dtype.
func of(dtype string, dims ...string) Type {
	t := floats(dims...)
	t.DType, _ = dlpack.ParseDataType(dtype)
	return t
}

func TestStacked(t *testing.T) {
	for _, c := range []struct {
		result Type
		params []Type
		want   []bool
	}{
		{floats("n", "8"), []Type{floats("n", "16"), floats("16", "8")}, []bool{true, false}},
		{tuple(floats("n"), floats("n", "m")), []Type{floats("n", "m"), floats("n"), {}}, []bool{true, true, false}},
		{floats("n", "m"), []Type{floats("n", "m"), floats("m")}, []bool{true, false}},
		{floats("8"), []Type{floats("8")}, nil},                              // fixed
		{floats("n"), []Type{floats("m")}, nil},                              // another symbol
		{floats(), []Type{floats("n")}, nil},                                 // no dimension
		{tuple(), []Type{floats("n")}, nil},                                  // no result
		{Type{}, []Type{floats("n")}, nil},                                   // not known
		{tuple(floats("n"), floats("m")), []Type{floats("n")}, nil},          // one of several results
		{tuple(floats("n"), number(dlpack.Int64)), []Type{floats("n")}, nil}, // a result that is no tensor
		{floats("n"), []Type{floats("n", "n")}, nil},                         // twice
		{floats("n", "n"), []Type{floats("n")}, nil},
		{floats("n"), []Type{floats("n"), floats("m", "n")}, nil},
		{floats("n"), []Type{floats("n"), shape("n")}, nil},
		{floats("n"), []Type{floats("n"), tuple(floats("n"))}, nil},
		{floats("n"), []Type{floats("n"), floats("n * 2")}, nil}, // in an expression
		{floats("n"), []Type{floats("n", "n + 1")}, nil},
		{floats("n", "n + 1"), []Type{floats("n")}, nil},
		{floats("n * 2"), []Type{floats("n")}, nil},
		{floats("n"), []Type{floats("n"), floats("f(n)")}, nil}, // perhaps in an expression
		{floats("n", "f(n)"), []Type{floats("n")}, nil},
		{floats("n", ""), []Type{floats("n", "")}, []bool{true}},
		{floats("n"), []Type{{Kind: Tensor, DType: dlpack.Float32, NDim: -1}}, nil},
		{floats("n"), []Type{of("int4", "n", "3")}, nil}, // rows that share bytes
		{of("int4", "n", "3"), []Type{floats("n")}, nil},
		{of("bool", "n"), []Type{of("bool", "n"), of("int4", "8")}, []bool{true, false}},
	} {
		require.Equal(t, c.want, function(c.result, c.params...).Stacked(), "%v %v", c.params, c.result)
	}
	bound := New([]Parameter{{Name: "x", Type: floats("n")}, {Name: "w", Type: floats("n"), Bound: true}}, floats("n"))
	require.Nil(t, bound.Stacked())
}

func TestStackKey(t *testing.T) {
	f := function(floats("n"), floats("n", "m"), floats("m"), shape("k"), number(dlpack.Int64))
	args := func() []Argument {
		return []Argument{given(1, 2), {Kind: Tensor, Dims: []int64{2}, Identity: [2]uint64{70, 1000}}, dims(5),
			{Kind: Int, Identity: [2]uint64{1, 3}}}
	}
	all := []int{0, 1, 2, 3}
	key := f.StackKey(all, args())
	require.NotEmpty(t, key)
	for name, change := range map[string]func(a []Argument){
		"trailing": func(a []Argument) { a[0].Dims[1]++ },
		"rank":     func(a []Argument) { a[0].Dims = append(a[0].Dims, 1) },
		"dtype":    func(a []Argument) { a[0].DType = dlpack.Float16 },
		"object":   func(a []Argument) { a[1].Identity[1]++ },
		"shape":    func(a []Argument) { a[2].Dims[0]++ },
		"number":   func(a []Argument) { a[3].Identity[1]++ },
		"kind":     func(a []Argument) { a[3].Identity[0]++ },
	} {
		changed := args()
		change(changed)
		require.NotEqual(t, key, f.StackKey(all, changed), name)
	}
	same := args()
	same[0].Dims[0], same[0].Identity[1], same[2].Identity[1] = 9, 7, 8
	require.Equal(t, key, f.StackKey(all, same))
	same[0].IsFixed = true
	require.Empty(t, f.StackKey(all, same))
	same[0].IsFixed, same[0].DType = false, of("int4").DType
	require.Empty(t, f.StackKey(all, same))
	require.Empty(t, function(floats("1"), floats("1")).StackKey([]int{0}, []Argument{given(1)}))
	require.Equal(t, [][]int{{0, 2}, {1}, {3}, {4, 5}}, Groups([]string{"a", "", "a", "", "b", "b"}))
}

func TestLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Left
		ctx := t.Context()
		require.NoError(t, l.Wait(ctx))
		l.Add(2)
		ended, cancel := context.WithCancel(ctx)
		cancel()
		require.ErrorIs(t, l.Wait(ended), context.Canceled)
		var returned atomic.Int64
		for range 3 {
			go func() {
				require.NoError(t, l.Wait(ctx))
				returned.Add(1)
			}()
		}
		synctest.Wait()
		l.Add(-1)
		synctest.Wait()
		require.Zero(t, returned.Load())
		l.Add(-1)
		synctest.Wait()
		require.Equal(t, int64(3), returned.Load())
	})
}
