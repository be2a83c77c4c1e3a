//go:build cuda

package cuda_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/fakecuda"
	"tvmgo/runtime"
	"tvmgo/runtime/cuda"
)

// If the driver does not have a function, the report and the errors of calls that need it name the function.
func TestLacks(t *testing.T) {
	lacks := os.Getenv("CUDA_TEST_LACKS")
	if !inChild() {
		needFake(t) // only in the parent, because some children have no device
		for _, function := range []string{"cuMemAlloc_v2", "cuDriverGetVersion", "cuDeviceGetCount"} {
			child(t, "TestLacks", "CUDA_TEST_LACKS="+function, "FAKECUDA_LIBRARY="+fakecuda.Build(t, fakecuda.Without(function)))
		}
		return
	}
	x, err := runtime.NewTensor(dlpack.Float32, []int64{64}, first)
	if err == nil {
		require.Contains(t, cuda.Loaded().Lacks, lacks)
		err = runtime.CopyFrom(x, make([]float32, 64))
		require.NoError(t, x.Close())
	}
	require.ErrorContains(t, err, " has no function "+lacks)
	require.ErrorContains(t, err, "install ")
}
