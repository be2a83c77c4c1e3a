//go:build cuda

package cuda

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// Every function of the driver that the C sources call is in the list, unless they ask first whether it is there.
func TestNeeded(t *testing.T) {
	files := must.Get(filepath.Glob("*.c"))(t)
	for _, file := range files {
		text := must.Get(os.ReadFile(file))(t)
		for _, call := range regexp.MustCompile(`\bcu[A-Z]\w+\(`).FindAllString(string(text), -1) {
			name := strings.TrimSuffix(call, "(")
			if strings.Contains(string(text), `tvmgo_dl_has(&tvmgo_dl_cuda, "`+name+`")`) {
				continue
			}
			require.True(t, slices.ContainsFunc(needed, func(n string) bool {
				return n == name || strings.HasPrefix(n, name+"_v")
			}), "%s calls %s", file, name)
		}
	}
}
