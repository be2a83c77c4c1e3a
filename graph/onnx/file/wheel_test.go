package file

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// dataVariable names the folder of ONNX's test data (onnx/backend/test/data of the wheel).
const dataVariable = "TVMGO_ONNX_DATA"

// testData finds ONNX's test data, in a folder of the environment or in the wheel of onnx, if the Python of the tests
// has it. Without it, the test is skipped; on CI it fails.
func testData(t *testing.T, pattern string) []string {
	t.Helper()
	roots := []string{os.Getenv(dataVariable)}
	if roots[0] == "" {
		roots = must.Get(filepath.Glob(
			"../../../build/.cache/venv/lib/python3*/site-packages/onnx/backend/test/data"))(t)
	}
	var files []string
	for _, root := range roots {
		files = append(files, must.Get(filepath.Glob(filepath.Join(root, pattern)))(t)...)
	}
	if len(files) == 0 {
		require.Empty(t, os.Getenv("CI"), "build/scripts/deps.sh installs the wheel of onnx")
		t.Skip("the wheel of onnx is not installed, and " + dataVariable + " is not set")
	}
	return files
}

func TestWheel_ModelsRoundTrip(t *testing.T) {
	models := append(testData(t, "*/*/model.onnx"), testData(t, "light/*.onnx")...)
	for _, path := range models {
		f, err := Open(path)
		require.NoError(t, err)
		again, err := Parse(f.Model.Encode())
		require.NoError(t, err, path)
		withoutNaN(reflect.ValueOf(f.Model))
		withoutNaN(reflect.ValueOf(again))
		require.Equal(t, f.Model, again, path)
		for _, tensor := range f.Model.Graph.Initializers {
			if tensor.DataType == String {
				_, err = tensor.Strings()
			} else {
				_, err = tensor.Bytes(f.External)
			}
			require.NoError(t, err, path)
		}
		require.NoError(t, f.Close())
	}
	t.Logf("%d models", len(models))
}

// withoutNaN replaces floats that are no numbers, which do not equal themselves.
func withoutNaN(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		withoutNaN(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			withoutNaN(v.Field(i))
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 { // elements of a file
			return
		}
		for i := range v.Len() {
			withoutNaN(v.Index(i))
		}
	case reflect.Float32, reflect.Float64:
		if math.IsNaN(v.Float()) {
			v.SetFloat(12345)
		}
	}
}

func TestWheel_ValuesAreRead(t *testing.T) {
	kinds := map[Kind]int{}
	for _, path := range testData(t, "*/*/model.onnx") {
		m := must.Get(Parse(must.Get(os.ReadFile(path))(t)))(t)
		dir := filepath.Dir(path)
		for _, io := range []struct {
			prefix string
			values []*ValueInfo
		}{{"input_", m.Graph.Inputs}, {"output_", m.Graph.Outputs}} {
			for i, info := range io.values {
				for _, file := range must.Get(filepath.Glob(dir + "/test_data_set_*/" + io.prefix + strconv.Itoa(i) + ".pb"))(t) {
					data := must.Get(os.ReadFile(file))(t)
					v, err := ParseValue(data, info.Type)
					require.NoError(t, err, file)
					kinds[v.Kind]++
					checkValue(t, file, v)
				}
			}
		}
	}
	t.Log(kinds)
}

func checkValue(t *testing.T, file string, v *Value) {
	t.Helper()
	for _, of := range append(v.Sequence, v.Of) {
		if of != nil {
			checkValue(t, file, of)
		}
	}
	if v.Tensor == nil {
		return
	}
	var err error
	if v.Tensor.DataType == String {
		_, err = v.Tensor.Strings()
	} else {
		_, err = v.Tensor.Bytes(nil)
	}
	require.NoError(t, err, file)
	require.False(t, strings.HasPrefix(v.Name, "\x00"))
}
