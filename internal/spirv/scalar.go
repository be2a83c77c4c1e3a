package spirv

// maxParts is the maximum number of parts of a block that are read; a kernel has fewer arguments.
const maxParts = 1024

// scalars appends the scalars that a type consists of; the first one has the offset `at`. left is the number of parts
// that may still be read.
func (r *reader) scalars(list []Scalar, of id, at uint64, left *int) []Scalar {
	t := r.values[of]
	each := func(part id, n, step uint64) []Scalar {
		for i := uint64(0); i < n && *left > 0; i++ {
			*left--
			list = r.scalars(list, part, add(at, mul(i, step)), left)
		}
		return list
	}
	switch t.op {
	case OpTypeInt, OpTypeFloat:
		return append(list, Scalar{Offset: at, Bits: t.words[0], Float: t.op == OpTypeFloat})
	case OpTypeVector:
		return each(t.words[0], uint64(t.words[1]), r.values[t.words[0]].size)
	case OpTypeArray:
		if stride, ok := r.decorated[of][DecorationArrayStride]; ok {
			return each(t.words[0], r.length(t.words[1]), uint64(stride))
		}
	case OpTypeStruct:
		for i, part := range t.words {
			if offset, ok := r.members[member{of, uint32(i)}][DecorationOffset]; ok && *left > 0 {
				*left--
				list = r.scalars(list, part, add(at, uint64(offset)), left)
			}
		}
	}
	return list
}
