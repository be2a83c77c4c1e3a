//go:build cuda

package dl

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/cu"
)

func TestCUDA_NothingIsLinked(t *testing.T) { requireHidden(t, "cuda", `^cu[A-Z]|^process`) }

// Without a driver the binding, which ends the process where it cannot begin, starts all the same; every call
// answers an error, and dl says why.
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

// A library that is no driver lacks the functions; calls answer errors all the same.
func TestCUDA_WrongLibrary(t *testing.T) {
	if !inChild() {
		child(t, t.Name(), "TVMGO_CUDA_LIBRARY=libm.so.6")
		return
	}
	_, err := cu.NumDevices()
	require.Equal(t, cu.NotSupported, err)
	require.ErrorContains(t, CUDA(), "has no function cuInit")
}

// Nothing is opened before a function is called, though the binding has called cuInit by then.
func TestCUDA_OpensLate(t *testing.T) {
	require.Empty(t, CUDAPath())
}
