// Package include has the C headers of this module: DLPack, the tvm-ffi C ABI, the classic TVM C ABI, the interface of
// devices, and the C++ classes over the classic ABI.
//
// C and C++ programs compile with this directory on their include path. Embedding the files makes them part of the
// package, so that `go mod vendor` copies them and `tvmgo env` can write them out for programs that have only the
// binary.
package include

import (
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"sync"
)

// Files has the headers under the paths by which C programs include them, such as "tvm/runtime/c_runtime_api.h". It is
// read-only.
//
//go:embed dlpack/*.h tvm/ffi/*.h tvm/ffi/extra/*.h tvm/runtime/*.h tvmgo/*.h tvmgo/*.hpp
var Files embed.FS

// CPUNote is the header that notes the CPU's instructions in an object.
const CPUNote = "tvmgo/cpu_note.h"

// ID identifies the contents of the headers: it changes with every change of a header.
var ID = sync.OnceValue(func() string {
	h := sha256.New()
	// embedded files can always be read
	_ = fs.WalkDir(Files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(Files, path)
		fmt.Fprintf(h, "%q %d\n%s", path, len(text), text)
		return err
	})
	return fmt.Sprintf("%x", h.Sum(nil))
})
