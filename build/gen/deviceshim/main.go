// Command deviceshim writes the table by which C calls a device that is written in Go (internal/deviceshim), and what
// makes one of a runtime.DeviceAPI, from the functions that include/tvmgo/device_api.h declares and from the interfaces
// of runtime/deviceapi.go.
//
//	go run ./build/gen/deviceshim
package main

import (
	"os"
	"path/filepath"

	"tvmgo/build/gen/internal/output"
)

// rendered has the text of the files by their paths in the repository.
func rendered(root string) (map[string][]byte, error) {
	header, err := os.ReadFile(filepath.Join(root, "include/tvmgo/device_api.h"))
	if err != nil {
		return nil, err
	}
	functions, err := parse(header)
	if err != nil {
		return nil, err
	}
	source, err := os.ReadFile(filepath.Join(root, "runtime/deviceapi.go"))
	if err != nil {
		return nil, err
	}
	if err := resolve(functions, source); err != nil {
		return nil, err
	}
	goText, err := renderGo(functions)
	if err != nil {
		return nil, err
	}
	adapter, err := renderAdapter(functions)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{"internal/deviceshim/table_gen.go": goText,
		"internal/deviceshim/table_gen.c": renderC(functions), "runtime/deviceapi_gen.go": adapter}, nil
}

func main() { output.Main("deviceshim", ".", rendered) }
