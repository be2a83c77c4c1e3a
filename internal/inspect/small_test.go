package inspect

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// smallest are modules of about a kilobyte, of both ELF classes (testdata/small/small.s describes how they are made).
var smallest = []string{"small32.so", "small64.so"}

func loadSmall(t testing.TB, name string) []byte {
	t.Helper()
	return must.Get(os.ReadFile(filepath.Join("testdata/small", name)))(t)
}

func TestRead_BothClasses(t *testing.T) {
	for _, name := range smallest {
		report, err := inspectBytes(name, loadSmall(t, name))
		require.NoError(t, err, name)
		require.Empty(t, report.Problems)
		require.Equal(t, map[string]string{"small32.so": "x86", "small64.so": "x86-64"}[name], report.Architecture)
		require.Equal(t, Modern, report.Generation)
		require.Equal(t, []Function{{Name: "f", Symbol: "__tvm_ffi_f", Convention: SafeCall, Metadata: true,
			Doc: true}}, report.Functions)
		require.Equal(t, []string{"__tvm_ffi__library_ctx"}, report.ContextSlots)
		require.Equal(t, []string{"TVMFFIFunctionCall"}, report.RuntimeImports)
		require.Equal(t, []string{"expf"}, report.OtherImports)
		require.Empty(t, report.Libraries)
		require.Equal(t, &Blob{Symbol: "__tvm_ffi__library_bin", Layout: "modern", Size: 215, Modules: []Module{
			{Kind: "library", Imports: []int{1}},
			{Index: 1, Kind: "cuda", PayloadSize: 127, Imports: []int{}, Loader: "tvmgo/runtime/cuda",
				Device: &Device{Format: "ptx", CodeSize: 5,
					Functions: []DeviceFunction{{Name: "k", Args: []string{"handle", "int32"},
						LaunchTags: []string{"blockIdx.x", "threadIdx.x"}}}}},
		}}, report.Blob)
	}
}

// Every byte of a module is set to several values.
func TestRead_EveryByte(t *testing.T) {
	for _, name := range smallest {
		data := loadSmall(t, name)
		for i := range data {
			old := data[i]
			for _, v := range []byte{0, 1, old + 1, old - 1, old ^ 0x80, 0x7f, 0xff} {
				data[i] = v
				requireSound(t, data)
			}
			data[i] = old
		}
	}
}

func TestRead_EveryTruncationOfSmall(t *testing.T) {
	for _, name := range smallest {
		data := loadSmall(t, name)
		for n := range data {
			report, err := inspectBytes(name, bytes.Clone(data[:n]))
			if err == nil && len(report.Problems) == 0 {
				t.Fatalf("%s cut to %d of %d bytes passed", name, n, len(data))
			}
		}
	}
}
