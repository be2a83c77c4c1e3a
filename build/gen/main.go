// Command gen writes the replacements for a vendor's development files with which this project is compiled and
// linked, from one readable description per driver (*.spec): a header, trampolines that open the vendor's library
// when they are first used, and an empty archive for the linker flag of a Go binding.
//
//	go generate ./build/gen
package main

//go:generate go run .

import (
	"maps"
	"path/filepath"

	"tvmgo/build/gen/internal/output"
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
