// Package objects recognises object files and archives of them, and links them into shared libraries with the system's
// compiler.
package objects

import (
	"bytes"
	"encoding/binary"
)

// IsArchive reports whether data begin like an archive that archive.Each reads.
func IsArchive(head []byte) bool {
	return bytes.HasPrefix(head, []byte("\x1f\x8b")) || len(head) >= 262 && string(head[257:262]) == "ustar"
}

// relocatable reports whether data begins as an ELF file that is not linked, and its machine.
func relocatable(head []byte) (machine uint16, ok bool) {
	if len(head) < 52 || string(head[:4]) != "\x7fELF" || head[4] != 1 && head[4] != 2 || head[5] != 1 && head[5] != 2 {
		return 0, false
	}
	var order binary.ByteOrder = binary.LittleEndian
	if head[5] == 2 {
		order = binary.BigEndian
	}
	const relocatable = 1
	segments := order.Uint16(head[44:]) // e_phnum of a file of 32 bits
	if head[4] == 2 {
		if len(head) < 64 {
			return 0, false
		}
		segments = order.Uint16(head[56:])
	}
	return order.Uint16(head[18:]), order.Uint16(head[16:]) == relocatable && segments == 0
}
