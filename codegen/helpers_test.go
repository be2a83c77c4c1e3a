package codegen_test

import (
	"encoding/binary"
	"math"
)

// bytesOf are the bytes of numbers, as memory has them.
func bytesOf(x []float32) []byte {
	var b []byte
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}
