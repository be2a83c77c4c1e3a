package relax

import (
	"archive/zip"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/graph"
	_ "tvmgo/graph/operators"
	"tvmgo/internal/testing/must"
)

// untested are the operators that no module of testdata has: they return their operand, or are others by another name.
var untested = []string{"relax.call_tir_with_grad", "relax.hint_on_device", "relax.memory.ensure_zero_offset",
	"relax.to_vdevice", "relax.wrap_param"}

// Each rule has a module in testdata that TVM's own code has executed.
func TestRules_AreTested(t *testing.T) {
	require.Greater(t, len(rules), 150)
	archive := must.Open(zip.OpenReader("testdata/saved.zip"))(t)
	text := string(must.Get(io.ReadAll(must.Open(archive.Open("v0.27.json"))(t)))(t))
	missing := []string{}
	for name := range rules {
		if !strings.Contains(text, `\"`+name+`\"`) {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	require.Equal(t, untested, missing)
	require.NotNil(t, graph.LookupOp("sizes"))
}
