package modelcall

import (
	"encoding/binary"

	"tvmgo/dlpack"
)

// Stacked returns which parameters are stacked, by their numbers, when several calls become one: the tensors whose
// first dimension is the symbol that every result begins with. It returns nil if the signature does not allow this: a
// result is no tensor, or begins with another dimension; or the symbol is in any other dimension of a parameter or a
// result, or in a bound parameter; or elements are smaller than a byte, so that rows may share one.
func (f *Function) Stacked() []bool { return f.stacked }

func (f *Function) findStacked() []bool {
	results := []checked{f.result}
	if f.result.Kind == Tuple {
		results = f.result.fields
	}
	if len(results) == 0 {
		return nil
	}
	symbol, ok := results[0].first()
	for i := range results {
		if s, tensor := results[i].first(); !ok || !tensor || s != symbol || results[i].mayDepend(symbol, true) {
			return nil
		}
	}
	stacked, some := make([]bool, len(f.params)), false
	for i := range f.types {
		t := &f.types[i]
		s, tensor := t.first()
		stacked[i] = tensor && s == symbol && !f.params[i].Bound
		some = some || stacked[i]
		if t.mayDepend(symbol, stacked[i]) {
			return nil
		}
	}
	if !some {
		return nil
	}
	return stacked
}

// isPacked reports whether several elements of a type share a byte. An element of type bool has its own.
func isPacked(t dlpack.DataType) bool { return int(t.Bits)*int(t.Lanes)%8 != 0 && !t.IsBool() }

// first returns the symbol that is the first dimension of a tensor.
func (t *checked) first() (symbol int64, ok bool) {
	if t.Kind != Tensor || isPacked(t.DType) || len(t.exprs) == 0 || t.exprs[0] == nil || t.exprs[0].op != 's' {
		return 0, false
	}
	return t.exprs[0].value, true
}

// mayDepend reports whether a dimension depends on a symbol, or on what is not known of it; but the first dimension is
// not looked at if it is stacked.
func (t *checked) mayDepend(symbol int64, stacked bool) bool {
	for i, e := range t.exprs {
		if i == 0 && stacked {
			continue
		}
		if e == nil && t.Dims[i] != "" || e.has(symbol) {
			return true
		}
	}
	for i := range t.fields {
		if t.fields[i].mayDepend(symbol, false) {
			return true
		}
	}
	return false
}

// StackKey returns a text that is equal for calls that can be stacked, and "" for one that cannot: the stacked
// arguments agree in dtype and in all dimensions but the first, and the others are equal.
func (f *Function) StackKey(params []int, args []Argument) string {
	if f.stacked == nil {
		return ""
	}
	key := binary.AppendUvarint(nil, uint64(len(args)))
	dims := func(list []int64) {
		key = binary.AppendUvarint(key, uint64(len(list)))
		for _, n := range list {
			key = binary.AppendVarint(key, n)
		}
	}
	for i := range args {
		switch a := &args[i]; {
		case f.stacked[params[i]]:
			if a.IsFixed || isPacked(a.DType) {
				return ""
			}
			key = append(key, a.DType.Code, a.DType.Bits, byte(a.DType.Lanes), byte(a.DType.Lanes>>8))
			dims(a.Dims[1:])
		case a.Kind == Shape:
			key = append(key, 1)
			dims(a.Dims)
		default:
			key = append(key, 0)
			key = binary.LittleEndian.AppendUint64(key, a.Identity[0])
			key = binary.LittleEndian.AppendUint64(key, a.Identity[1])
		}
	}
	return string(key)
}

// Groups returns the numbers of equal keys together, in the order of the first of each; those of "" are alone.
func Groups(keys []string) (groups [][]int) {
	at := map[string]int{}
	for i, key := range keys {
		g, known := at[key]
		if key == "" || !known {
			g = len(groups)
			groups = append(groups, nil)
			at[key] = g
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}
