package tir

import "sync/atomic"

// typeMemo keeps the type of an expression that is as deep as its parts are, so that the types of a chain are not found
// by going down all of it each time. It may be asked by many at once.
type typeMemo struct{ bits uint32 } // 0: not known yet

// of is the type that find gives; Void, which something that lacks has, is not kept.
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
