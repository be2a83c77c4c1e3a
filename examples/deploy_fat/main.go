// Command deploy_fat builds one library for every kind of device, and runs it on every device found:
//
//	go run -tags cuda,opencl ./examples/deploy_fat -o fat.so       writes the library
//	go run -tags cuda,opencl ./examples/deploy_fat -run fat.so     runs it, and compares the results of the devices
//
// The library has two functions, dense (relu(a·b + bias)) and softmax, each with a variant for each target. A caller
// does not choose: the device of the arguments does. The program run/fat.c calls the same file from C.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	out := flag.String("o", "", "library to build")
	targets := flag.String("targets", "", "targets to build for, separated by semicolons; by default all that this "+
		"program generates code for")
	run := flag.String("run", "", "library to run")
	flag.Parse()
	if (*out == "") == (*run == "") || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "deploy_fat: say what to build (-o FILE) or what to run (-run FILE)")
		flag.Usage()
		os.Exit(2)
	}
	var err error
	if *run != "" {
		err = runLibrary(context.Background(), *run, os.Stdout)
	} else {
		list := defaultTargets()
		if *targets != "" {
			list = strings.Split(*targets, ";")
		}
		err = build(context.Background(), list, *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "deploy_fat:", err)
		os.Exit(1)
	}
}
