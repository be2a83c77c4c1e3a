package schedule

import (
	"tvmgo/te"
	"tvmgo/tir"
)

// beyondCaches is the size in bytes of a result from which the operator that reads it would not find it in the caches.
const beyondCaches = 16 << 20

// BytesOf returns the size in bytes of a tensor, at most 1 TiB; 0 if it is not known.
func BytesOf(t *te.Tensor) int64 {
	bytes := int64(max(1, t.ProducerDType().Bits/8))
	for _, n := range t.ProducerShape() {
		size, known := n.(*tir.IntImm)
		if !known {
			return 0
		}
		if bytes > 0 && size.Value > 1<<40/bytes {
			return 1 << 40
		}
		bytes *= size.Value
	}
	return bytes
}

// NonTemporal makes the stores of a result bypass the caches if it is larger than they are: see [te.Stage.NonTemporal].
// It reports whether they do.
func NonTemporal(s *te.Schedule, result *te.Tensor) bool {
	st := s.Stage(result)
	if !st.IsOutput() || len(st.ReduceAxes()) > 0 || len(st.Formulas()) != 1 || BytesOf(result) < beyondCaches {
		return false
	}
	st.NonTemporal()
	return true
}
