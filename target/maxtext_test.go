package target_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/target"
)

// Text that is longer than any target is rejected without parsing, in every form, so that input whose parsing takes
// long is rejected at once.
func TestNew_MaxText(t *testing.T) {
	long := `{"kind": "c", ` + strings.Repeat(`"a": 1, `, target.MaxText/8) + `"a": 1}`
	for _, x := range []any{long, []byte(long), "c " + strings.Repeat(" -keys=x", target.MaxText/8),
		map[string]any{"kind": "llvm", "host": long}} {
		_, err := target.New(x)
		require.ErrorContains(t, err, fmt.Sprintf("the text has more than %d bytes, which is too long for a "+
			"target", target.MaxText))
	}
	must.Get(target.New(`{"kind": "c"` + strings.Repeat(" ", target.MaxText-100) + "}"))(t)
}
