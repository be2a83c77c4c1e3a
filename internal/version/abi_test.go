package version

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// The versions are those that the headers define.
func TestABI(t *testing.T) {
	defined := func(header string, names ...string) string {
		text := must.Get(os.ReadFile("../../include/" + header))(t)
		var values []string
		for _, name := range names {
			found := regexp.MustCompile(`(?m)^#define ` + name + ` "?([0-9.]+)"?$`).FindSubmatch(text)
			require.NotNil(t, found, name)
			values = append(values, string(found[1]))
		}
		return strings.Join(values, ".")
	}
	require.Equal(t, defined("tvm/runtime/c_runtime_api.h", "TVM_VERSION"), Classic)
	require.Equal(t, defined("tvm/ffi/c_api.h", "TVM_FFI_VERSION_MAJOR", "TVM_FFI_VERSION_MINOR",
		"TVM_FFI_VERSION_PATCH"), TVMFFI)
	require.Equal(t, defined("dlpack/dlpack.h", "DLPACK_MAJOR_VERSION", "DLPACK_MINOR_VERSION"), DLPack)
}
