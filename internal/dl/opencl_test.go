//go:build opencl

package dl

import (
	"debug/elf"
	"os"
	"os/exec"
	"testing"

	"github.com/go-gl/cl/v1.2/cl"
	"github.com/stretchr/testify/require"
)

// child runs one test of this binary in a process of its own, where a library is opened anew.
func child(t *testing.T, name string, env ...string) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^"+name+"$", "-test.v")
	c.Env = append(append(os.Environ(), "TVMGO_DL_CHILD=1"), env...)
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+name)
}

func inChild() bool { return os.Getenv("TVMGO_DL_CHILD") != "" }

func TestOpenCL_NothingIsLinked(t *testing.T) {
	f, err := elf.Open(os.Args[0])
	require.NoError(t, err)
	defer f.Close()
	libs, err := f.ImportedLibraries()
	require.NoError(t, err)
	for _, l := range libs {
		require.NotContains(t, l, "OpenCL")
	}
	names, err := f.DynamicSymbols()
	require.NoError(t, err)
	for _, n := range names {
		require.NotRegexp(t, `^cl[A-Z]`, n.Name, "trampolines are hidden")
	}
}

// Without a loader every call answers an error of OpenCL, and dl says why.
func TestOpenCL_NoLoader(t *testing.T) {
	if !inChild() {
		child(t, t.Name(), "TVMGO_OPENCL_LIBRARY=/no/such/libOpenCL.so")
		return
	}
	var n uint32
	require.Equal(t, cl.ErrorCode(-1001), cl.GetPlatformIDs(0, nil, &n))
	var code cl.ErrorCode
	cl.CreateContext(nil, 0, nil, nil, nil, &code)
	require.Equal(t, cl.ErrorCode(cl.INVALID_OPERATION), code)
	require.Equal(t, cl.ErrorCode(cl.INVALID_OPERATION), cl.Finish(nil))
	require.Equal(t, cl.ErrorCode(cl.INVALID_OPERATION), cl.BuildProgram(nil, 0, nil, nil, nil, nil))
	err := OpenCL()
	var missing *MissingError
	require.ErrorAs(t, err, &missing)
	require.Contains(t, missing.Cause, "/no/such/libOpenCL.so")
	require.Contains(t, err.Error(), "install the OpenCL loader")
	require.Empty(t, OpenCLPath())
}

// A library that is no loader lacks the functions; calls answer errors all the same.
func TestOpenCL_WrongLibrary(t *testing.T) {
	if !inChild() {
		child(t, t.Name(), "TVMGO_OPENCL_LIBRARY=libm.so.6")
		return
	}
	require.Equal(t, cl.ErrorCode(-1001), cl.GetPlatformIDs(0, nil, nil))
	require.ErrorContains(t, OpenCL(), "has no function clGetPlatformIDs")
}

func TestOpenCL_Opens(t *testing.T) {
	if !inChild() {
		child(t, t.Name())
		return
	}
	require.Empty(t, OpenCLPath(), "nothing is opened before it is needed")
	if err := OpenCL(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	require.Contains(t, OpenCLPath(), "/libOpenCL.so")
	var n uint32
	require.Contains(t, []cl.ErrorCode{cl.SUCCESS, -1001}, cl.GetPlatformIDs(0, nil, &n))
}
