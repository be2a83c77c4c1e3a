// Command gen writes the replacements for a vendor's development files with which this project is compiled and
// linked, from one readable description per driver (*.spec): a header, trampolines that open the vendor's library
// when they are first used, and an empty archive for the linker flag of a Go binding.
//
//	go generate ./build/gen
package main

//go:generate go run .

import (
	"fmt"
	"os"
	"path/filepath"
)

// root is the folder of the repository, seen from here, where go generate and go test run.
const root = "../.."

// specs are the drivers.
var specs = []string{"cuda.spec", "opencl.spec", "vulkan.spec"}

// outputs are the files that a spec stands for, by their paths in the repository.
func outputs(s *spec) map[string][]byte {
	files := map[string][]byte{
		"build/include/" + s.header:          header(s),
		"internal/dl/" + s.driver + "_gen.c": trampolines(s),
	}
	if s.archive != "" {
		files["internal/dl/"+s.archive] = []byte("!<arch>\n")
	}
	return files
}

func run() error {
	for _, name := range specs {
		s, err := readSpec(name)
		if err != nil {
			return err
		}
		for path, text := range outputs(s) {
			path = filepath.Join(root, filepath.FromSlash(path))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(path, text, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}
