package target_test

import (
	"errors"
	"fmt"

	"tvmgo/dlpack"
	"tvmgo/target"
)

// A tag names a whole configuration; your options override it.
func ExampleNew() {
	t, err := target.New(map[string]any{"tag": "nvidia/h100", "libs": []string{"cublas"},
		"host": "llvm -mtriple=aarch64-linux-gnu"})
	if err != nil {
		fmt.Println(err)
		return
	}
	arch, err := target.Get[string](t, "arch")
	fmt.Println(t.Kind(), t.Tag(), arch, err)
	fmt.Println(t.Libs(), t.Host().Keys())

	_, err = target.New(`{"kind": "cuda", "arch": "sm_90", "host": {"kind": "llvm", "num_cores": "4"}}`)
	var wrong *target.Error
	fmt.Println(errors.As(err, &wrong), wrong.Path, wrong.Nearest)
	// Output:
	// cuda nvidia/nvidia-h100 sm_90a <nil>
	// [cublas] [arm_cpu cpu]
	// true $.host.num_cores num-cores
}

// A kind of your own: options with types, ranges and defaults, and a parser that derives further values.
func ExampleRegisterKind() {
	_, err := target.RegisterKind("example_npu", dlpack.ExtDev,
		target.DefaultKeys("example_npu"),
		target.Option("lanes", target.Int, target.Default(8), target.Min(1), target.Max(64)),
		target.Option("sram", target.Int, target.Help("bytes")),
		target.WithParser(func(c *target.Config) error {
			if _, given := c.Value("sram"); given {
				return nil
			}
			c.Warn("example_npu without sram: 1 MiB is assumed")
			return c.Set("sram", 1<<20)
		}))
	if err != nil {
		fmt.Println(err)
		return
	}
	t, err := target.New("example_npu -lanes=16 -sram=65536")
	fmt.Println(t, err)
	_, err = target.New("example_npu -lanes=65")
	fmt.Println(err)
	// Output:
	// example_npu -keys=example_npu -lanes=16 -sram=65536 <nil>
	// target: $.lanes: value out of range: expected an int from 1 to 64, found int 65
}

// A tag of your own, with a version and an alias.
func ExampleRegisterTag() {
	config := map[string]any{"kind": "opencl", "device": "mali", "model": "board"}
	err := target.RegisterTag("example/board:1", config, "example/b")
	if err != nil {
		fmt.Println(err)
		return
	}
	t, err := target.New("example/b")
	fmt.Println(t.Tag(), t.Keys(), err)
	config["model"] = "another"
	err = target.RegisterTag("example/board:1", config)
	fmt.Println(err != nil)
	// Output:
	// example/board:1 [mali opencl gpu] <nil>
	// true
}

// A code generator of your own, attached to an existing kind and looked up through a target's kind.
func ExampleSetAttr() {
	type generator func(t *target.Target, function string) (code string)
	err := target.SetAttr("stackvm", "example.generator", generator(func(t *target.Target, function string) string {
		return "code of " + function + " for " + t.Kind().Name()
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	t, err := target.New("stackvm")
	if err != nil {
		fmt.Println(err)
		return
	}
	if generate, ok := target.Attr[generator](t.Kind(), "example.generator"); ok {
		fmt.Println(generate(t, "add"))
	}
	_, ok := target.Attr[generator](t.Host().Kind(), "example.generator")
	fmt.Println(ok)
	// Output:
	// code of add for stackvm
	// false
}
