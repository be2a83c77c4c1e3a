package dlpack

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// The rule for numbers of new devices: each unused number between kDLExtDev and MaxDeviceAPI. Headers, docs and the
// example state it in the same words.
func TestFreeDeviceNumbers(t *testing.T) {
	withTable(t)
	taken := map[DeviceType]bool{}
	for _, d := range DeviceTypes() {
		taken[d.Type] = true
	}
	for n := DeviceType(-1); n <= MaxDeviceAPI+1; n++ {
		err := RegisterDeviceType(n, fmt.Sprintf("new%d", n+1))
		if n > ExtDev && n < MaxDeviceAPI && !taken[n] {
			require.NoError(t, err, n)
		} else {
			require.Error(t, err, n)
		}
	}
	for _, file := range []string{"../include/tvm/runtime/c_runtime_api.h", "../include/tvmgo/device_api.h",
		"devicetable.go", "../examples/hello_device/device.go"} {
		text := must.Get(os.ReadFile(file))(t)
		require.Regexp(t, `kDLExtDev( \(12\))? < n < (36|kMaxDeviceAPI)`, string(text), file)
		require.NotRegexp(t, `19 to 31|between kDLTrn`, string(text), file)
	}
}
