//go:build cuda

package dl

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/cu"
)

func TestCUDA_NothingIsLinked(t *testing.T) { requireHidden(t, "cuda", `^cu[A-Z]|^process`) }

// Without a driver the process starts, although the Go binding of CUDA exits when cuInit cannot be called. Every call
// returns an error, and CUDA returns the cause.
func TestCUDA_NoDriver(t *testing.T) {
	if !inChild() {
		child(t, t.Name(), "TVMGO_CUDA_LIBRARY=/no/such/libcuda.so.1")
		return
	}
	require.Empty(t, CUDAPath())
	_, err := cu.NumDevices()
	require.Equal(t, cu.NotSupported, err)
	require.Equal(t, -1, cu.Version())
	err = CUDA()
	var missing *MissingError
	require.ErrorAs(t, err, &missing)
	require.Contains(t, missing.Cause, "/no/such/libcuda.so.1")
	require.Contains(t, err.Error(), "CUDA is not usable: ")
	require.Contains(t, err.Error(), "install NVIDIA's driver")
	require.Empty(t, CUDAPath())
}

// A library that is not a driver does not have the functions; calls return errors.
func TestCUDA_WrongLibrary(t *testing.T) {
	if !inChild() {
		child(t, t.Name(), "TVMGO_CUDA_LIBRARY=libm.so.6")
		return
	}
	_, err := cu.NumDevices()
	require.Equal(t, cu.NotSupported, err)
	require.ErrorContains(t, CUDA(), "has no function cuInit")
}

// The driver is not opened before a function is needed, although the Go binding has already called cuInit.
func TestCUDA_OpensLate(t *testing.T) {
	require.Empty(t, CUDAPath())
}
