package vmrun

import (
	"math/rand/v2"
	"slices"

	"tvmgo/dlpack"
)

// base is the type of the values of a kind.
type base int

const (
	anything base = iota // every value but a heap
	integer
	boolean
	float
	text
	dataType
	shape
	tensor
	tuple
	closure
	heap
)

// kind is what the generator knows about the value in a register.
type kind struct {
	base   base
	dtype  dlpack.DataType // of a tensor
	dims   []int64         // of a shape or tensor; nil: unknown
	small  bool            // of a shape: no dimension is negative or large
	owned  bool            // of a tensor: the program may write it, because it is no constant
	items  []*kind         // of a tuple
	params []*kind         // of a closure
	result *kind           // of a closure
}

var (
	anyKind   = &kind{}
	intKind   = &kind{base: integer}
	boolKind  = &kind{base: boolean}
	floatKind = &kind{base: float}
	textKind  = &kind{base: text}
	typeKind  = &kind{base: dataType}
)

// fits reports whether a value of kind k can be used where one of kind want is expected.
func (k *kind) fits(want *kind) bool {
	switch {
	case k == nil:
		return want.base == anything // a register that was never written holds None
	case want.base == anything:
		return k.base != heap
	case k.base != want.base:
		return false
	}
	switch k.base {
	case shape:
		return (want.dims == nil || slices.Equal(k.dims, want.dims)) && (k.small || !want.small)
	case tensor:
		return k.dtype == want.dtype && (want.dims == nil || k.dims != nil && slices.Equal(k.dims, want.dims)) &&
			(k.owned || !want.owned)
	case tuple:
		return slices.EqualFunc(k.items, want.items, (*kind).fits)
	case closure:
		return slices.EqualFunc(want.params, k.params, (*kind).fits) && k.result.fits(want.result)
	}
	return true
}

// dtypes are the element types of tensors of random programs.
var dtypes = []dlpack.DataType{dlpack.Int64, dlpack.Int32, dlpack.Int16, dlpack.Int8, dlpack.UInt8, dlpack.UInt32,
	dlpack.Bool, dlpack.Float16, dlpack.Float32, dlpack.Float64}

func pickOne[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

// randomDims returns the dimensions of a small tensor, sometimes with none or with a zero.
func randomDims(r *rand.Rand) []int64 {
	dims := make([]int64, r.IntN(4))
	for i := range dims {
		if dims[i] = 1 + r.Int64N(3); r.IntN(20) == 0 {
			dims[i] = 0
		}
	}
	return dims
}

// randomKind returns a kind of parameters, results and items.
func randomKind(r *rand.Rand, depth int) *kind {
	switch r.IntN(12) {
	case 0, 1, 2:
		return intKind
	case 3:
		return pickOne(r, []*kind{boolKind, floatKind, textKind, typeKind})
	case 4, 5, 6:
		k := &kind{base: tensor, dtype: pickOne(r, dtypes), owned: r.IntN(2) == 0}
		if r.IntN(2) == 0 {
			k.dims = randomDims(r)
		}
		return k
	case 7:
		return &kind{base: shape, small: true}
	case 8, 9:
		if depth < 3 {
			k := &kind{base: tuple}
			for range r.IntN(4) {
				k.items = append(k.items, randomKind(r, depth+1))
			}
			return k
		}
	}
	return anyKind
}

// randomValue returns a value of a kind, for an argument of main or a constant.
func randomValue(r *rand.Rand, k *kind) Value {
	switch k.base {
	case integer:
		return randomInt(r)
	case boolean:
		return r.IntN(2) == 0
	case float:
		return pickOne(r, []float64{0, 1.5, -2.25, 1e300})
	case text:
		return pickOne(r, []string{"", "x", "seven b", "a string that is not short"})
	case dataType:
		return pickOne(r, dtypes)
	case shape:
		if k.dims != nil {
			return Shape(k.dims)
		}
		return Shape(randomDims(r))
	case tensor:
		dims := k.dims
		if dims == nil {
			dims = randomDims(r)
		}
		m := &Memory{Bytes: make([]byte, size(dims, k.dtype))}
		for i := range m.Bytes {
			m.Bytes[i] = byte(r.IntN(3)) // small: shapes and conditions are read from tensors
		}
		return &Tensor{m, 0, dims, k.dtype}
	case tuple:
		t := &Tuple{}
		for _, item := range k.items {
			t.Items = append(t.Items, randomValue(r, item))
		}
		return t
	default:
		return pickOne(r, []Value{nil, int64(7), "any", Shape{2, 3}, 0.5})
	}
}

func randomInt(r *rand.Rand) int64 {
	switch r.IntN(10) {
	case 0:
		return 1<<55 - 1
	case 1:
		return -1<<55 + 1
	case 2:
		return -r.Int64N(1 << 40)
	}
	return r.Int64N(8)
}
