package relaxjson

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzUnmarshal(f *testing.F) {
	for _, file := range []string{"testdata/v0.17.json", "testdata/v0.25.json", "testdata/v0.27.json"} {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(_ *testing.T, text []byte) { _, _ = Unmarshal(text) })
}
