package spirv

import "math"

// The sizes of types in bytes. A type is declared after the types that it consists of, so its size is computed when it
// is declared. Unknown sizes and runtime arrays count as 0; a size that overflows is `unlimited`.

const unlimited = math.MaxUint64

func add(a, b uint64) uint64 {
	if a > unlimited-b {
		return unlimited
	}
	return a + b
}

func mul(a, b uint64) uint64 {
	if b != 0 && a > unlimited/b {
		return unlimited
	}
	return a * b
}

// length returns the value of a constant; 0 when it is not a constant.
func (r *reader) length(of id) uint64 {
	n, _ := r.number(of, maxNested)
	return uint64(n)
}

// sizeOf returns the size of a type that is being declared.
func (r *reader) sizeOf(of id, t value) uint64 {
	switch t.op {
	case OpTypeBool:
		return 4
	case OpTypeInt, OpTypeFloat:
		return uint64(t.words[0]) / 8
	case OpTypeVector, OpTypeMatrix:
		return mul(r.values[t.words[0]].size, uint64(t.words[1]))
	case OpTypeArray:
		each := r.values[t.words[0]].size
		if stride, ok := r.decorated[of][DecorationArrayStride]; ok {
			each = uint64(stride)
		}
		return mul(each, r.length(t.words[1]))
	case OpTypeStruct:
		return r.structSize(of, t.words)
	case OpTypePointer:
		return 8
	}
	return 0
}

// structSize returns the end of the last member. Members without an offset follow the member before them.
func (r *reader) structSize(of id, members []uint32) uint64 {
	var end uint64
	for i, m := range members {
		d, t := r.members[member{of, uint32(i)}], r.values[m]
		size := t.size
		if stride, ok := d[DecorationMatrixStride]; ok && t.op == OpTypeMatrix {
			size = mul(uint64(stride), uint64(t.words[1]))
		}
		at := end
		if offset, ok := d[DecorationOffset]; ok {
			at = uint64(offset)
		}
		end = max(end, add(at, size))
	}
	return end
}
