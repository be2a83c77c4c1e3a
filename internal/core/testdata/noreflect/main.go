// Command noreflect prints the names of all global functions, a line each, and then, after an empty line, the error of
// each function that is an argument.
package main

import (
	"errors"
	"fmt"
	"os"

	"tvmgo/runtime"
)

func main() {
	for _, name := range runtime.GlobalNames() {
		fmt.Println(name)
	}
	fmt.Println()
	for _, name := range os.Args[1:] {
		f, err := runtime.Global(name)
		if err == nil {
			_, err = f.Call(int64(1), int64(1))
		}
		fmt.Println(errors.Is(err, runtime.ErrNotSupported), err)
	}
}
