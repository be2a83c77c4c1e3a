package blob

import (
	"encoding/hex"
	"strings"
)

// The same library twice: a host library that imports one cuda module, format ptx, with the function k(handle, int32).
// Two hex digits a byte; a line is a field.

var legacyGolden = unhex(`
	d300000000000000 // length
	0300000000000000 // entries
	04000000000000005f6c6962 // "_lib"
	040000000000000063756461 // "cuda"
	0300000000000000707478 // format "ptx"
	0100000000000000 // one function
	01000000000000006b // key "k"
	01000000000000006b // name "k"
	02000000000000000340010000200100 // argument types: handle, int32
	0200000000000000 // tags
	0a00000000000000626c6f636b4964782e78 // "blockIdx.x"
	0b000000000000007468726561644964782e78 // "threadIdx.x"
	05000000000000002f2f505458 // code "//PTX"
	0c000000000000005f696d706f72745f74726565 // "_import_tree"
	0300000000000000000000000000000001000000000000000100000000000000 // row pointers 0, 1, 1
	01000000000000000100000000000000 // children 1
`)

var modernGolden = unhex(`
	cf00000000000000 // length
	0300000000000000000000000000000001000000000000000100000000000000 // row pointers 0, 1, 1
	01000000000000000100000000000000 // children 1
	04000000000000005f6c6962 // "_lib"
	040000000000000063756461 // "cuda"
	7f00000000000000 // payload of 127 bytes
	0300000000000000707478 // format "ptx"
	0100000000000000 // one function
	01000000000000006b // key "k"
	01000000000000006b // name "k"
	02000000000000000340010000200100 // argument types: handle, int32
	0200000000000000 // tags
	0a00000000000000626c6f636b4964782e78 // "blockIdx.x"
	0b000000000000007468726561644964782e78 // "threadIdx.x"
	02000000000000000000000000000000 // extra tags 0, 0
	05000000000000002f2f505458 // code "//PTX"
`)

// unhex drops comments and spaces.
func unhex(text string) []byte {
	var digits strings.Builder
	for line := range strings.Lines(text) {
		code, _, _ := strings.Cut(line, " //")
		digits.WriteString(strings.TrimSpace(code))
	}
	data, err := hex.DecodeString(digits.String())
	if err != nil {
		panic(err)
	}
	return data
}
