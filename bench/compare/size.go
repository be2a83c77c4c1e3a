package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// strippedSize returns the size in bytes of stripped copies of libraries.
func strippedSize(dir string, libs ...string) (float64, error) {
	var total int64
	for _, lib := range libs {
		out := filepath.Join(dir, "stripped-"+filepath.Base(lib))
		if err := run("strip", "--strip-unneeded", "-o", out, lib); err != nil {
			return 0, err
		}
		info, err := os.Stat(out)
		if err != nil {
			return 0, err
		}
		total += info.Size()
	}
	return float64(total), nil
}

// runtimeLibrary is the path of the library without compilers beside ours.
func runtimeLibrary(ours string) string {
	return filepath.Join(filepath.Dir(ours), "libtvmgo_runtime.so")
}

func runtimeSize(dir, ours string) (float64, error) {
	lib := runtimeLibrary(ours)
	if !exists(lib) {
		return 0, fmt.Errorf("there is no %s: make dist builds it", lib)
	}
	return strippedSize(dir, lib)
}

// A program in Go that does nothing, and one that uses fmt and os.
const (
	floorSource = "package main\n\nimport \"C\"\n\n//export tvmgo_floor\nfunc tvmgo_floor() {}\n\nfunc main() {}\n"

	floorFmtSource = `package main

import "C"

import (
	"fmt"
	"os"
)

//export tvmgo_floor
func tvmgo_floor() { fmt.Fprintln(os.Stderr, len(os.Args)) }

func main() {}
`
)

// floorSize returns the size of a program as a library, built with the flags of libtvmgo_runtime.so.
func floorSize(dir, program string) (float64, error) {
	source, lib := filepath.Join(dir, "floor.go"), filepath.Join(dir, "floor.so")
	if err := os.WriteFile(source, []byte(program), 0o666); err != nil {
		return 0, err
	}
	if err := run("make", "floor", "FLOOR="+lib, "FLOOR_SOURCE="+source); err != nil {
		return 0, err
	}
	return strippedSize(dir, lib)
}
