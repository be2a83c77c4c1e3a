package nearest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestName(t *testing.T) {
	names := []string{"num-cores", "mcpu", "mattr", "nvidia/nvidia-h200", "nvidia/nvidia-h100", "opencl"}
	for name, want := range map[string]string{"num_cores": "num-cores", "NUM-CORES": "num-cores", "mcqu": "mcpu", "mtatr": "mattr", "opncl": "opencl",
		"h200": "nvidia/nvidia-h200", "nvidia/nvidia-h101": "nvidia/nvidia-h100", "quite another": "", "": "", strings.Repeat("m", 300): ""} {
		require.Equal(t, want, Name(name, names), name)
	}
}
