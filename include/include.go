// Package include holds the C headers of this module: DLPack, the tvm-ffi C ABI, the classic TVM C ABI, the C view of a
// device, and the C++ classes over the classic ABI.
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

// Files has the headers under the paths that C programs include them by, such as "tvm/runtime/c_runtime_api.h".
// Read-only.
//
//go:embed dlpack/*.h tvm/ffi/*.h tvm/ffi/extra/*.h tvm/runtime/*.h tvmgo/*.h tvmgo/*.hpp
var Files embed.FS

// ID is another text whenever a header changes.
var ID = sync.OnceValue(func() string {
	h := sha256.New()
	// which are part of the program, and can be read
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
