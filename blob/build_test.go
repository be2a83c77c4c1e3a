package blob

import "encoding/binary"

// bld builds test input; each method appends.
type bld struct{ b []byte }

func (x *bld) raw(b ...byte) *bld { x.b = append(x.b, b...); return x }
func (x *bld) u32(v uint32) *bld  { x.b = binary.LittleEndian.AppendUint32(x.b, v); return x }
func (x *bld) str(s string) *bld  { return x.u64(uint64(len(s))).raw([]byte(s)...) }
func (x *bld) strs(s ...string) *bld {
	x.u64(uint64(len(s)))
	for _, v := range s {
		x.str(v)
	}
	return x
}

func (x *bld) u64(v ...uint64) *bld {
	for _, v := range v {
		x.b = binary.LittleEndian.AppendUint64(x.b, v)
	}
	return x
}

func (x *bld) vec(v ...uint64) *bld { return x.u64(uint64(len(v))).u64(v...) }

// fn appends the table entry of a function without arguments.
func (x *bld) fn(key string, layout Layout) *bld {
	x.str(key).str(key).u64(0).strs("blockIdx.x")
	if layout != Legacy {
		x.u64(0)
	}
	return x
}

// tensor appends a float32 vector.
func (x *bld) tensor(n int) *bld {
	x.u64(tensorMagic, 0).u32(1).u32(0).u32(1).raw(2, 32, 1, 0).u64(uint64(n), uint64(4*n))
	return x.raw(make([]byte, 4*n)...)
}

// done prefixes the length.
func (x *bld) done() []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(x.b))), x.b...)
}

func build() *bld { return &bld{} }
