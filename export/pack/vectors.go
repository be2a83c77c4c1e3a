package pack

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"tvmgo/codegen/abi"
	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// Vector is a call of a function with the expected result.
type Vector struct {
	// In has the arguments in their order, except those that are only written: *Array for tensors, int64 for integers,
	// bool and launch parameters, uint64 for integers of type uint64 from 2⁶³ on, float64 (or int64) for floating
	// point.
	In []any
	// Out has the expected content of the tensors that are written: those that the signature marks with out and inout,
	// or, if it marks none, the last ones.
	Out []*Array
}

// Array holds the elements of a tensor: contiguous, row-major and little-endian.
type Array struct {
	DType dlpack.DataType
	Shape []int64
	Data  []byte
}

// vectorsSymbol is the symbol of the function that returns the test vectors. The vectors are data of the library, not a
// module in its tree: Apache TVM cannot load files with an unknown module kind, and its const_loader module without
// imports makes every lookup that reaches it fail.
const vectorsSymbol = abi.FunctionPrefix + vectorsFunction

const vectorsFunction = "_tvmgo_vectors"

// maxVectors bounds the test vectors of a file, which go through the C compiler.
const maxVectors = 16 << 20

// maxIndex bounds their description.
const maxIndex = 4 << 20

// testArg is an argument of a stored vector. Exactly one of Int, Float and Type is set.
type testArg struct {
	Int   *int64   `json:"int,omitempty"`
	Float *float64 `json:"float,omitempty"`
	Type  string   `json:"type,omitempty"` // of a tensor
	Shape []int64  `json:"shape,omitempty"`
	In    *int64   `json:"in,omitempty"`    // where the content begins in the data; absent if it is only written
	Want  *int64   `json:"want,omitempty"`  // where the expected content begins; absent if it is not compared
	Const bool     `json:"const,omitempty"` // the content must not change
	Name  string   `json:"name,omitempty"`
}

// testVector is a stored vector.
type testVector struct {
	Function string    `json:"function"`
	Args     []testArg `json:"args"`

	number int // among those of its function, from 0
	data   []byte
}

type vectorFile struct {
	Version int          `json:"version"`
	Vectors []testVector `json:"vectors"`
}

const vectorVersion = 1

// vectors encodes the test vectors of all functions: the length of an index of 8 bytes, the index in JSON, and the
// arrays' contents.
func (p *packer) vectors(k Kernels) ([]byte, error) {
	file := vectorFile{Version: vectorVersion}
	var data []byte
	for i, f := range p.functions {
		for n := range k.Functions[i].Vectors {
			b := vectorBuilder{sig: f.sig, vector: &k.Functions[i].Vectors[n], data: data, sizes: map[string]int64{}}
			args, err := b.args()
			if err != nil {
				return nil, invalid("test vector %d of %s: %w", n, f.sig.Name, err)
			}
			if data = b.data; len(data) > maxVectors {
				return nil, invalid("the test vectors take more than %d MiB: use smaller arrays", maxVectors>>20)
			}
			file.Vectors = append(file.Vectors, testVector{Function: f.sig.Name, Args: args})
		}
	}
	if len(file.Vectors) == 0 {
		return nil, nil
	}
	index, err := json.Marshal(file)
	if err != nil {
		return nil, err
	}
	if len(index) > maxIndex {
		return nil, invalid("the description of the test vectors takes more than %d MiB: use fewer", maxIndex>>20)
	}
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(index))), index, data), nil
}

// vectorBuilder arranges a vector's values in the order of the arguments.
type vectorBuilder struct {
	sig    *Signature
	vector *Vector
	nIn    int
	nOut   int
	data   []byte
	sizes  map[string]int64 // of names
}

func (b *vectorBuilder) args() ([]testArg, error) {
	outputs := b.outputs()
	args := make([]testArg, b.sig.NumArgs())
	for i := range b.sig.Params { // dimensions refer to scalars, also to later ones
		if p := &b.sig.Params[i]; isInteger(p) && p.Name != "" {
			b.setInteger(i, outputs)
		}
	}
	for i := range b.sig.Params {
		if err := b.param(i, outputs, &args[i]); err != nil {
			return nil, fmt.Errorf("argument %d%s: %w", i, nameOf(b.sig.Params[i].Name), err)
		}
	}
	for k, l := range b.sig.CallerExtents() {
		i := len(b.sig.Params) + k
		v, err := b.nextInteger(0, math.MaxUint32)
		if err != nil {
			return nil, fmt.Errorf("argument %d (%s): %w", i, l.Tag, err)
		}
		args[i] = testArg{Int: &v, Name: l.Tag}
	}
	if left := len(b.vector.In) - b.nIn; left > 0 {
		return nil, fmt.Errorf("%d inputs too many: it has %d, and the function takes %d", left, len(b.vector.In), b.nIn)
	}
	if left := len(b.vector.Out) - b.nOut; left > 0 {
		return nil, fmt.Errorf("%d outputs too many: it has %d, and the function writes %d", left, len(b.vector.Out), b.nOut)
	}
	if b.nOut == 0 {
		return nil, fmt.Errorf("it has no output that could be compared")
	}
	return args, nil
}

func nameOf(name string) string {
	if name == "" {
		return ""
	}
	return " (" + name + ")"
}

// outputs reports for every parameter whether it is compared.
func (b *vectorBuilder) outputs() []bool {
	list := make([]bool, len(b.sig.Params))
	marked := slices.ContainsFunc(b.sig.Params, func(p Param) bool { return p.Role != Unspecified })
	left := len(b.vector.Out)
	for i := len(list) - 1; i >= 0; i-- {
		p := &b.sig.Params[i]
		list[i] = p.Role != Unspecified || !marked && p.Tensor && !p.Const && left > 0
		if list[i] {
			left--
		}
	}
	return list
}

// setInteger records the value of an integer parameter, if it is valid.
func (b *vectorBuilder) setInteger(param int, outputs []bool) {
	at := 0
	for i := range param {
		if !outputs[i] || b.sig.Params[i].Role == InOut {
			at++
		}
	}
	if at < len(b.vector.In) {
		if v, ok := b.vector.In[at].(int64); ok {
			b.sizes[b.sig.Params[param].Name] = v
		}
	}
}

func (b *vectorBuilder) param(i int, outputs []bool, arg *testArg) error {
	p := &b.sig.Params[i]
	arg.Name = p.Name
	switch {
	case p.Tensor:
		return b.tensor(p, outputs[i], arg)
	case p.Type.Code == dlpack.CodeFloat:
		v, err := b.next("a number")
		if err != nil {
			return err
		}
		switch v := v.(type) {
		case float64:
			if arg.Float = &v; math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("%v can't be stored: use a finite number", v)
			}
		case int64:
			f := float64(v)
			arg.Float = &f
		case uint64:
			f := float64(v)
			arg.Float = &f
		default:
			return fmt.Errorf("it is a tensor, expected %v", p.Type)
		}
		return nil
	}
	if p.Type == dlpack.UInt64 && b.nIn < len(b.vector.In) {
		if v, ok := b.vector.In[b.nIn].(uint64); ok {
			b.nIn++
			bits := int64(v) // as the ABI passes it: it has only int64
			arg.Int = &bits
			return nil
		}
	}
	least, most := int64(0), int64(1)
	switch bits := min(int(p.Type.Bits), 63+b2i(p.Type.Code == dlpack.CodeInt)); {
	case p.Type == dlpack.Bool:
	case p.Type.Code == dlpack.CodeInt:
		least, most = math.MinInt64>>(64-bits), math.MaxInt64>>(64-bits)
	default:
		most = math.MaxInt64 >> (63 - bits)
	}
	v, err := b.nextInteger(least, most)
	arg.Int = &v
	return err
}

func (b *vectorBuilder) next(what string) (any, error) {
	if b.nIn == len(b.vector.In) {
		return nil, fmt.Errorf("there is no input left for it, expected %s", what)
	}
	b.nIn++
	return b.vector.In[b.nIn-1], nil
}

func (b *vectorBuilder) nextInteger(least, most int64) (int64, error) {
	v, err := b.next("an integer, as in i:3")
	if err != nil {
		return 0, err
	}
	if big, ok := v.(uint64); ok {
		return 0, fmt.Errorf("%d is out of range: it goes from %d to %d", big, least, most)
	}
	n, ok := v.(int64)
	if !ok {
		return 0, fmt.Errorf("it is a %s, expected an integer, as in i:3", kindOf(v))
	}
	if n < least || n > most {
		return 0, fmt.Errorf("%d is out of range: it goes from %d to %d", n, least, most)
	}
	return n, nil
}

func kindOf(v any) string {
	switch v.(type) {
	case *Array:
		return "tensor"
	case float64:
		return "floating-point number"
	}
	return fmt.Sprintf("%T", v)
}

func (b *vectorBuilder) tensor(p *Param, output bool, arg *testArg) error {
	var in, out *Array
	if output {
		if b.nOut == len(b.vector.Out) {
			return fmt.Errorf("there is no output left for it")
		}
		out = b.vector.Out[b.nOut]
		b.nOut++
	}
	if !output || p.Role == InOut {
		v, err := b.next("a tensor")
		if err != nil {
			return err
		}
		a, ok := v.(*Array)
		if !ok {
			return fmt.Errorf("it is no tensor, expected %s", p.TypeText())
		}
		in = a
	}
	for _, a := range []*Array{in, out} {
		if a == nil {
			continue
		}
		if err := b.checkArray(p, a); err != nil {
			return err
		}
		if arg.Type != "" && (arg.Type != a.DType.String() || !slices.Equal(arg.Shape, a.Shape)) {
			return fmt.Errorf("it goes in as %s%v and comes out as %v%v", arg.Type, arg.Shape, a.DType, a.Shape)
		}
		arg.Type, arg.Shape = a.DType.String(), a.Shape
	}
	arg.In, arg.Want, arg.Const = b.store(in), b.store(out), p.Const && out == nil
	return nil
}

func (b *vectorBuilder) store(a *Array) *int64 {
	if a == nil {
		return nil
	}
	at := int64(len(b.data))
	b.data = append(b.data, a.Data...)
	return &at
}

func (b *vectorBuilder) checkArray(p *Param, a *Array) error {
	size, err := dlpack.DataSize(a.Shape, a.DType)
	if err != nil {
		return err
	}
	if size != int64(len(a.Data)) {
		return fmt.Errorf("%v%v takes %d bytes, not %d", a.DType, a.Shape, size, len(a.Data))
	}
	if p.Any {
		return nil
	}
	if a.DType != p.Type {
		return fmt.Errorf("expected %v, got %v", p.Type, a.DType)
	}
	if len(a.Shape) != len(p.Dims) {
		return fmt.Errorf("expected %s, got the shape %v", p.TypeText(), a.Shape)
	}
	for d, dim := range p.Dims {
		want, known := dim.Size, !dim.Any
		if dim.Name != "" {
			if want, known = b.sizes[dim.Name]; !known {
				b.sizes[dim.Name] = a.Shape[d]
			}
		}
		if known && a.Shape[d] != want {
			return fmt.Errorf("expected %s, got the shape %v: dimension %d must be %d", p.TypeText(), a.Shape, d, want)
		}
	}
	return nil
}

// parseVectors reads the encoding of vectors from a file that is not trusted.
func parseVectors(data []byte) ([]testVector, error) {
	if len(data) < 8 {
		return nil, corrupt("the test vectors are cut off")
	}
	n := binary.LittleEndian.Uint64(data)
	if n > maxIndex {
		return nil, corrupt("the index of the test vectors takes %d bytes, and at most %d are read", n, maxIndex)
	}
	if n > uint64(len(data)-8) {
		return nil, corrupt("the test vectors are cut off: their index takes %d bytes", n)
	}
	index, data := data[8:8+n], data[8+n:]
	var file vectorFile
	if err := json.Unmarshal(index, &file); err != nil {
		return nil, corrupt("the index of the test vectors: %w", err)
	}
	if file.Version != vectorVersion {
		return nil, runtime.Errorf(runtime.ErrNotSupported, "the test vectors are of version %d, and this program knows %d: "+
			"use a newer one", file.Version, vectorVersion)
	}
	numbers := map[string]int{}
	for i := range file.Vectors {
		v := &file.Vectors[i]
		v.number, v.data = numbers[v.Function], data
		numbers[v.Function]++
		for k := range v.Args {
			if err := v.Args[k].check(int64(len(data))); err != nil {
				return nil, corrupt("test vector %d of %s: argument %d: %w", v.number, v.Function, k, err)
			}
		}
	}
	return file.Vectors, nil
}

func (a *testArg) check(size int64) error {
	if b2i(a.Int != nil)+b2i(a.Float != nil)+b2i(a.Type != "") != 1 {
		return fmt.Errorf("it is not one of a tensor, an integer and a number")
	}
	if a.Type == "" {
		return nil
	}
	t, err := dlpack.ParseDataType(a.Type)
	if err != nil {
		return err
	}
	n, err := dlpack.DataSize(a.Shape, t)
	if err != nil {
		return err
	}
	for _, at := range []*int64{a.In, a.Want} {
		if at != nil && (*at < 0 || n > size || *at > size-n) {
			return fmt.Errorf("its content lies outside of the data")
		}
	}
	if a.In == nil && a.Want == nil {
		return fmt.Errorf("it has no content")
	}
	return nil
}
