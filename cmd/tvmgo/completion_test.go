//go:build cgo

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// completed returns what a shell offers for the last word of a command line.
func completed(t *testing.T, args ...string) (list []string, directive string) {
	t.Helper()
	status, stdout, stderr := cli(append([]string{"__completeNoDesc"}, args...)...)
	require.Zero(t, status, stderr)
	lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	return lines[:len(lines)-1], lines[len(lines)-1]
}

// The directives of cobra.
const (
	orFiles = ":0"
	noSpace = ":6"
	noFiles = ":4"
)

// completion is a command line, with some words that complete it and some that do not.
type completion struct {
	args      []string
	has       []string
	hasNot    []string
	directive string
}

func completes(t *testing.T, rows []completion) {
	t.Helper()
	for _, c := range rows {
		list, directive := completed(t, c.args...)
		require.Subset(t, list, c.has, "%v", c.args)
		for _, name := range c.hasNot {
			require.NotContains(t, list, name, "%v", c.args)
		}
		require.Equal(t, c.directive, directive, "%v", c.args)
	}
}

func TestCompletion(t *testing.T) {
	multi, gpu := filepath.Join(artifacts, "modern/multi_c.so"), filepath.Join(artifacts, "modern/gpu_opencl.so")
	completes(t, []completion{
		{[]string{""}, []string{"build", "run", "verify", "target"}, []string{describeCommand, vectorCommand, runCommand},
			noFiles},
		{[]string{"run", ""}, nil, []string{"vadd"}, orFiles},
		{[]string{"run", multi, ""}, []string{"addone", "matmul", "softmax", "vadd"}, nil, noFiles},
		{[]string{"run", multi, "v"}, []string{"vadd"}, []string{"addone"}, noFiles},
		{[]string{"run", gpu, "vadd_"}, []string{"vadd_kernel"}, nil, noFiles},
		{[]string{"run", "none.so", ""}, nil, nil, noFiles},
		{[]string{"run", multi, "vadd", ""}, nil, []string{"vadd"}, noFiles},
		{[]string{"run", multi, "vadd", "--device", ""}, []string{"cpu:0"}, nil, noFiles},
		{[]string{"verify", multi, "--device", "c"}, []string{"cpu:0"}, nil, noFiles},
		{[]string{"run", multi, "vadd", "--like", "float"}, []string{"float32[", "float64["}, []string{"int8["}, noSpace},
		{[]string{"run", artifacts + "/modern/relax_mlp.so", ""}, []string{"forward", "matmul"}, nil, noFiles},
		{[]string{"run", artifacts + "/classic/graph_mlp.so", "d"}, []string{"default"}, nil, noFiles},
		{[]string{"run", multi, "vadd", "--in", ""}, nil, nil, orFiles},
		{[]string{"build", "p.tir", "--target", ""}, []string{"c", "llvm", "cuda", "nvidia/nvidia-h100"}, nil, noFiles},
		{[]string{"pack", "k.c", "--target", "nvidia/nvidia-h"}, []string{"nvidia/nvidia-h100"}, []string{"c"}, noFiles},
		{[]string{"build", "p.tir", "--emit", ""}, []string{"tir", "c", "ll", "s"}, nil, noFiles},
		{[]string{"target", ""}, []string{"list", "show", "tags"}, nil, noFiles},
		{[]string{"target", "show", "open"}, []string{"opencl"}, nil, orFiles},
		{[]string{"target", "check", "cuda", "--json", ""}, nil, []string{"cuda"}, orFiles},
		{[]string{"target", "list", ""}, []string{"c", "opencl"}, []string{"nvidia/nvidia-h100"}, noFiles},
		{[]string{"target", "tags", "nvidia/nvidia-h"}, []string{"nvidia/nvidia-h100"}, nil, noFiles},
		{[]string{"target", "tags", "--key", "ma"}, []string{"mali"}, nil, noFiles},
		{[]string{"help", "ta"}, []string{"target"}, nil, noFiles},
		{[]string{"devices", ""}, nil, nil, noFiles},
		{[]string{"bench", ""}, nil, nil, orFiles},
		{[]string{"bench", multi, "v"}, []string{"vadd"}, []string{"addone"}, orFiles},
		{[]string{"bench", "--suite", ""}, []string{"launch", "bandwidth", "compute", "kernels", "all"}, nil, noFiles},
		{[]string{"bench", "--compare", "c"}, []string{"cpu:0"}, nil, noFiles},
		{[]string{"bench", "--format", "j"}, []string{"json"}, []string{"md"}, noFiles},
	})
}
