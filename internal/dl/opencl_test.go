//go:build opencl

package dl

import (
	"os"
	"testing"

	"github.com/go-gl/cl/v1.2/cl"
	"github.com/stretchr/testify/require"
)

func TestOpenCL_NothingIsLinked(t *testing.T) { requireHidden(t, "OpenCL", `^cl[A-Z]`) }

// Without a loader every call returns an OpenCL error, and OpenCL returns the cause.
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

// A library that is not a loader does not have the functions; calls return errors.
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
	require.Empty(t, OpenCLPath(), "the loader is opened when it is first needed")
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
