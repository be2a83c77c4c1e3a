// Command gen writes replacements for the development files of vendors, with which this project is compiled and linked.
// It reads one description per driver (*.spec) and writes a header, functions that open the vendor's library on first
// use and call it, and an empty archive for the linker flag of a Go binding.
//
//	go generate ./build/gen
package main

//go:generate go run .

import (
	"maps"
	"path/filepath"

	"tvmgo/build/gen/internal/output"
)

// root is the path of the repository from this folder, where go generate and go test run.
const root = "../.."

// specs are the descriptions of the drivers.
var specs = []string{"cuda.spec", "opencl.spec", "vulkan.spec"}

// outputs returns the files that are generated from a spec, by their paths in the repository.
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

// rendered has the text of the files of all drivers.
func rendered(root string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, name := range specs {
		s, err := readSpec(filepath.Join(root, "build/gen", name))
		if err != nil {
			return nil, err
		}
		maps.Copy(files, outputs(s))
	}
	return files, nil
}

func main() { output.Main("gen", root, rendered) }
