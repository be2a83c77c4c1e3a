package tir

import "sync/atomic"

// typeMemo caches the type of an expression, so that finding the types of a deeply nested expression does not visit all
// of its parts each time. It is safe for concurrent use.
type typeMemo struct{ bits uint32 } // 0: not known yet

// of returns the cached type, or that which find returns. Void, the type of an incomplete expression, is not cached.
func (m *typeMemo) of(find func() Type) Type {
	if b := atomic.LoadUint32(&m.bits); b != 0 {
		return Type{Code: uint8(b), Bits: uint8(b >> 8), Lanes: uint16(b >> 16)}
	}
	t := find()
	if t != Void {
		atomic.StoreUint32(&m.bits, uint32(t.Code)|uint32(t.Bits)<<8|uint32(t.Lanes)<<16)
	}
	return t
}
