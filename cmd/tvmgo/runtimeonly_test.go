//go:build cgo

package main

import (
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/must"
)

// Builds that lack a part know the names of exactly the commands in it.
func TestParts(t *testing.T) {
	for _, p := range []*part{&targets, &modules, &compilers} {
		require.NotNil(t, p.commands)
		var names []string
		for _, command := range p.commands {
			if c := command(); !c.Hidden {
				names = append(names, c.Name())
			}
		}
		require.Equal(t, names, p.names)
	}
}

// The build for deployment runs functions; the commands that it lacks are errors that say what has them.
func TestRuntimeOnly(t *testing.T) {
	machine.Need(t, multiC)
	program := filepath.Join(t.TempDir(), "tvmgo-runtime")
	said, err := exec.Command("go", "build", "-tags", buildTags+",runtimeonly", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", said)
	run := func(args ...string) (status int, said string) {
		cmd := exec.Command(program, args...)
		out, err := cmd.CombinedOutput()
		if _, exited := err.(*exec.ExitError); err != nil && !exited {
			require.NoError(t, err)
		}
		return cmd.ProcessState.ExitCode(), string(out)
	}
	file := filepath.Join(artifacts, "modern/addone_llvm.so")
	in := npyFile(t, []int64{1001}, make([]byte, 4*1001))
	status, out := run("run", file, "addone", "--in", in,
		"--out", filepath.Join(t.TempDir(), "y.npy"), "--like", "float32[1001]")
	require.Zero(t, status, "%s", out)
	status, out = run("inspect", file)
	require.Zero(t, status, "%s", out)
	require.Contains(t, out, "addone")
	leftOut := slices.Concat(targets.names, compilers.names)
	for _, name := range leftOut {
		status, out = run(name, "--what", "x")
		require.Equal(t, statusFailure, status)
		require.Equal(t, "tvmgo: "+name+": this build of tvmgo is for deployment and has no compiler and no targets: "+
			"use the full tvmgo (make program)\n", out)
	}
	_, help := run("--help")
	for _, c := range newRootCommand(io.Discard, io.Discard).Commands() {
		if !c.Hidden && !slices.Contains(leftOut, c.Name()) {
			require.Contains(t, help, "\n  "+c.Name()+" ")
		}
	}
	deps := string(must.Get(exec.Command("go", "list", "-deps", "-tags", buildTags+",runtimeonly", ".").Output())(t))
	require.NotRegexp(t, `(?m)^tvmgo/(te|tir|target|codegen|compile)$`, deps)
}
