package transform

import "tvmgo/tir/arith"

// ForC is what runs before C is generated: guards of splits that do not divide are cut off, vectors are made, turns written out;
// then types that C has not become others, and memory is shared.
func ForC() []Pass {
	return []Pass{arith.Simplify, LoopPartition, arith.Simplify, Vectorize, Unroll, LegalizeTypes, arith.Simplify, ReuseStorage}
}
