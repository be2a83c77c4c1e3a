package tir_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	. "tvmgo/tir"
	"tvmgo/tir/compare"
	"tvmgo/tir/json"
	"tvmgo/tir/text"
)

// viewed writes a matrix as rows, and reads it as one row.
func viewed(lines int32) (f *PrimFunc, matrix, row *Buffer) {
	a := NewVar("a", Handle)
	matrix = NewBuffer("A", Float32, I32(lines), I32(4))
	row = &Buffer{Name: "A_row", Data: matrix.Data, DType: Int32, Shape: []Expr{I32(lines * 4)}}
	body := View(row, &BufferStore{row, I32(1), []Expr{I32(3)}})
	return &PrimFunc{Name: "f", Params: []*Var{a}, Buffers: map[*Var]*Buffer{a: matrix}, Result: Void, Body: body},
		matrix, row
}

// A view is another buffer over memory that is there: it is well-formed, comes back from text and JSON, and is the same
// by its place.
func TestView(t *testing.T) {
	f, _, _ := viewed(2)
	m := &IRModule{Funcs: []*PrimFunc{f}}
	require.NoError(t, Check(m))
	data := must.Get(json.Marshal(m))(t)
	read := must.Get(json.Unmarshal(data))(t)
	require.Equal(t, "", compare.Difference(m, read))
	parsed := must.Get(text.Parse(m.String()))(t)
	require.NoError(t, Check(parsed))
	require.Contains(t, m.String(), `attr "buffer_view" buffer A_row = `)

	g, _, row := viewed(2)
	require.Equal(t, "", compare.Difference(f, g))
	require.Equal(t, compare.Hash(f), compare.Hash(g))
	row.DType = Float32
	require.Contains(t, compare.Difference(f, g), "buffer A_row of type int32 is not of type float32")
	require.NotEqual(t, compare.Hash(f), compare.Hash(g))

	// Of what comes from outside, two views are the same only if they are of one memory.
	x, y, z := NewBuffer("x", Int8, I32(1)), NewBuffer("x", Int8, I32(1)), NewBuffer("x", Int8, I32(1))
	y.Data = x.Data
	nothing := &Evaluate{I32(0)}
	require.True(t, compare.Equal(View(x, nothing), View(y, nothing)))
	require.False(t, compare.Equal(View(x, nothing), View(z, nothing)))
}

// What is no view is refused, with the place.
func TestView_Malformed(t *testing.T) {
	for want, spoil := range map[string]func(f *PrimFunc, matrix, row *Buffer){
		"f.body.attr(buffer_view).node.data: variable stray is not defined": func(_ *PrimFunc, _, row *Buffer) {
			row.Data = NewVar("stray", Handle)
			row.Name = "A_row"
		},
		"the address of buffer A_row is not the memory that it is a view of": func(f *PrimFunc, _,
			_ *Buffer) {
			f.Body.(*AttrStmt).Value = I32(1)
		},
		`the attribute "buffer_view" is of a *tir.Var`: func(f *PrimFunc, m,
			_ *Buffer) {
			f.Body.(*AttrStmt).Node = m.Data
		},
		"buffer A is defined twice": func(f *PrimFunc, m, _ *Buffer) {
			f.Body = View(m,
				&Evaluate{I32(0)})
		},
		"buffer A_row is used outside of its scope": func(f *PrimFunc, _, row *Buffer) {
			f.Body = Sequence(f.Body, &BufferStore{row, I32(1), []Expr{I32(3)}})
		},
		"buffer A_row has no address": func(_ *PrimFunc, _, row *Buffer) { row.Data = nil },
		"variable k is not defined": func(_ *PrimFunc, _, row *Buffer) {
			row.Shape = []Expr{NewVar("k",
				Int32)}
		},
		"buffer A_row: alignment 3 is no power of": func(_ *PrimFunc, _, row *Buffer) { row.Alignment = 3 },
	} {
		f, matrix, row := viewed(2)
		spoil(f, matrix, row)
		require.ErrorContains(t, Check(&IRModule{Funcs: []*PrimFunc{f}}), want)
	}
}
