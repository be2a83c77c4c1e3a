// Command model writes a small network as tensor expressions, schedules it, and builds it into one library:
//
//	go run ./examples/model -o model.so -tir model.tir        writes the library, and its loops as text
//	go run ./examples/model -run model.so -arrays DIR         runs the library, and writes arguments and results as .npy
//
// expressions.go has the computation; the programs in run call the library from C, C++ and Python.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"tvmgo/codegen"
	"tvmgo/export"
	"tvmgo/target"
)

func main() {
	out := flag.String("o", "", "library to build")
	text := flag.String("tir", "", "file for the loops that the library is built of")
	forTarget := flag.String("target", "c", "what the library is for")
	run := flag.String("run", "", "library to run")
	arrays := flag.String("arrays", "", "folder for the arguments and results of -run, as .npy")
	flag.Parse()
	if (*out == "") == (*run == "") || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "model: say what to build (-o FILE) or what to run (-run FILE)")
		flag.Usage()
		os.Exit(2)
	}
	var err error
	if *run != "" {
		err = runLibrary(context.Background(), *run, *arrays, os.Stdout)
	} else {
		err = build(context.Background(), *forTarget, *out, *text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "model:", err)
		os.Exit(1)
	}
}

// build builds the library, and writes the text of its loops if a name for it is given.
func build(ctx context.Context, forTarget, path, text string) error {
	loops, err := program()
	if err != nil {
		return err
	}
	if text != "" {
		if err := os.WriteFile(text, []byte(loops.String()), 0o666); err != nil {
			return err
		}
	}
	t, err := target.New(forTarget)
	if err != nil {
		return err
	}
	m, err := codegen.Build(loops, t)
	if err != nil {
		return err
	}
	defer m.Close()
	return export.Library(ctx, m, path)
}
