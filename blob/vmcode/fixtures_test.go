package vmcode_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/blob/vmcode"
	"tvmgo/dlpack"
	"tvmgo/internal/inspect"
)

// program returns an executable with every operation, and every kind of function, operand and constant.
func program() *vmcode.Executable {
	register := func(i vmcode.Register) vmcode.Operand {
		return vmcode.Operand{Kind: vmcode.InRegister, Value: int64(i)}
	}
	constant := func(i int64) vmcode.Operand { return vmcode.Operand{Kind: vmcode.InConstant, Value: i} }
	return &vmcode.Executable{
		Functions: []vmcode.Function{
			{Kind: vmcode.Bytecode, Name: "main", Begin: 2, End: 9, Arity: 2, Registers: 4, Parameters: []string{"x", "y"}},
			{Kind: vmcode.Packed, Name: "vm.builtin.copy"},
			{Kind: vmcode.CompiledVM, Name: "compiled", Arity: 1, Registers: 3, Parameters: []string{"z"}},
			{Kind: vmcode.Bytecode, Name: "first", Begin: 0, End: 2, Arity: 1, Registers: 2},
		},
		Constants: []vmcode.Constant{
			{Kind: vmcode.TensorConstant, Scope: "global.texture",
				Tensor: blob.Tensor{DType: dlpack.Float32, Shape: []int64{1, 2}, Data: []byte("\x00\x00\x80\x3f\x00\x00\x00\x40")}},
			{Kind: vmcode.DTypeConstant, DType: dlpack.Float16},
			{Kind: vmcode.ShapeConstant, Shape: []int64{3, -1}},
			{Kind: vmcode.StringConstant, Text: "global"},
			{Kind: vmcode.IntConstant, Int: -5},
			{Kind: vmcode.FloatConstant, Float: 0.5},
		},
		Code: []vmcode.Instruction{
			{Op: vmcode.Call, Dst: 1, Callee: 1, Args: []vmcode.Operand{register(0)}},
			{Op: vmcode.Ret, Source: 1},

			{Op: vmcode.If, Source: 0, Jump: 3},
			{Op: vmcode.Call, Dst: 2, Callee: 3, Args: []vmcode.Operand{constant(0)}},
			{Op: vmcode.Goto, Jump: 2},
			{Op: vmcode.Call, Dst: vmcode.Void, Callee: 1, Args: []vmcode.Operand{register(vmcode.Context), register(2),
				register(vmcode.Void), {Kind: vmcode.Immediate, Value: -7}, {Kind: vmcode.OfFunction, Value: 2},
				constant(1), constant(2), constant(3), constant(4), constant(5)}},
			{Op: vmcode.Call, Dst: 3, Callee: 2, Args: []vmcode.Operand{register(1)}},
			{Op: vmcode.Goto, Jump: 1},
			{Op: vmcode.Ret, Source: 3},
		},
	}
}

// unscoped returns a program without memory scopes, which every form can express.
func unscoped() *vmcode.Executable {
	e := program()
	e.Constants[0].Scope = ""
	return e
}

// forms are all forms of files.
func forms() []vmcode.Form {
	var list []vmcode.Form
	for _, version := range []int{1, 2} {
		for _, n := range []vmcode.Numbering{vmcode.Modern, vmcode.Version21, vmcode.Classic} {
			list = append(list, vmcode.Form{Version: version, Numbering: n})
		}
	}
	return list
}

// artifact returns the payload of the executable in a library that TVM exported, and the layout of its blob.
func artifact(t testing.TB) ([]byte, blob.Layout) {
	t.Helper()
	var payload []byte
	var layout blob.Layout
	path := filepath.Join("..", "..", "testdata", "artifacts", "modern", "relax_mlp.so")
	require.NoError(t, inspect.WithContents(path, func(c *inspect.Contents) error {
		payload, layout = c.Parsed.Entries[0].Payload, c.Parsed.Layout
		require.Equal(t, "relax.VMExecutable", c.Parsed.Entries[0].Kind)
		return nil
	}))
	return payload, layout
}

// raw is a file in parts, which may be wrong. Its methods of writing check nothing.
type raw struct {
	magic      uint64
	version    string
	functions  []rawFunction
	scopes     []rawScope
	tags       [6]int32
	constants  *vmcode.Executable
	starts     []int64
	words      []int64
	counts     [5]int // added to the numbers of functions, scopes, constants, starts, words
	afterwards []byte
}

type rawFunction struct {
	kind    int32
	name    string
	numbers [4]int64
	params  []string
}

type rawScope struct {
	constant int64
	scope    string
}

// parts returns the parts of [program] in version 2 and the modern numbering, written independently of the encoder.
func parts() *raw {
	const void, machine = 1 << 54, 1<<54 + 1
	r := &raw{
		magic: 0xD225DE2F4214151E, version: "0.14",
		functions: []rawFunction{
			{1, "main", [4]int64{2, 9, 2, 4}, []string{"x", "y"}},
			{0, "vm.builtin.copy", [4]int64{0, 0, -2, 0}, nil},
			{2, "compiled", [4]int64{0, 0, 1, 3}, []string{"z"}},
			{1, "first", [4]int64{0, 2, 1, 2}, nil},
		},
		scopes:    []rawScope{{0, "global.texture"}},
		tags:      [6]int32{70, 5, 69, 65, 1, 3},
		constants: program(),
	}
	for _, in := range [][]int64{
		{1, 1, 1, 1, 0},
		{2, 1},
		{4, 0, 3},
		{1, 2, 3, 1, 2 << 56},
		{3, 2},
		{1, void, 1, 10, machine, 2, void, 1<<56 | (1<<56 - 7), 3<<56 | 2, 2<<56 | 1, 2<<56 | 2, 2<<56 | 3, 2<<56 | 4,
			2<<56 | 5},
		{1, 3, 2, 1, 1},
		{3, 1},
		{2, 3},
	} {
		r.starts = append(r.starts, int64(len(r.words)))
		r.words = append(r.words, in...)
	}
	return r
}

func (r *raw) bytes() []byte {
	var w blob.Writer
	w.U64(r.magic)
	w.Str(r.version)
	w.Count(len(r.functions) + r.counts[0])
	for _, f := range r.functions {
		w.I32(f.kind)
		w.Str(f.name)
		for _, n := range f.numbers {
			w.I64(n)
		}
		w.Strs(f.params)
	}
	if r.magic == 0xD225DE2F4214151E {
		w.Count(len(r.scopes) + r.counts[1])
		for _, s := range r.scopes {
			w.I64(s.constant)
			w.Str(s.scope)
		}
	}
	w.Count(6 + r.counts[2])
	c := r.constants.Constants
	w.I32(r.tags[0])
	if err := w.Tensor(c[0].Tensor); err != nil {
		panic(err)
	}
	w.I32(r.tags[1])
	w.DType(c[1].DType)
	w.I32(r.tags[2])
	w.I64s(c[2].Shape)
	w.I32(r.tags[3])
	w.Str(c[3].Text)
	w.I32(r.tags[4])
	w.I64(c[4].Int)
	w.I32(r.tags[5])
	w.F64(c[5].Float)
	for i, list := range [][]int64{r.starts, r.words} {
		w.Count(len(list) + r.counts[3+i])
		for _, v := range list {
			w.I64(v)
		}
	}
	w.Raw(r.afterwards)
	return w.Data()
}
