package target_test

import (
	"errors"
	"fmt"

	"tvmgo/target"
)

// The host is the target of the code that launches kernels. NewWithHost replaces a host that the target names itself.
func ExampleNewWithHost() {
	t, err := target.NewWithHost("cuda -arch=sm_90 -host=c", "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1")
	if err != nil {
		fmt.Println(err)
		return
	}
	cpu, err := target.Get[string](t.Host(), "mcpu")
	fmt.Println(t.Kind(), t.Host().Kind(), cpu, err)
	fmt.Println(t.Host().HasKey("arm_cpu"), t.Host().HasCPUFeature("dotprod"))
	// Output:
	// cuda llvm neoverse-n1 <nil>
	// true true
}

// An error names the position in the configuration, and the nearest name that is known.
func ExampleError() {
	_, err := target.New(`{"kind": "cuda", "host": {"kind": "lvm"}}`)
	var wrong *target.Error
	if !errors.As(err, &wrong) {
		fmt.Println(err)
		return
	}
	fmt.Println(errors.Is(err, target.ErrUnknown), wrong.Path, wrong.Nearest)
	// Output: true $.host.kind llvm
}

// Two targets with the same meaning are equal, however they are written; Hash is the same in every process.
func ExampleTarget_Equal() {
	a, err := target.New("cuda -arch=sm_90 -max_num_threads=1024")
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := target.New(map[string]any{"kind": "cuda", "arch": "sm_90"}) // 1024 is the default
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(a.Equal(b), a.Hash() == b.Hash())
	// Output: true true
}
