package opencl_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/internal/testing/gpuprograms"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
	"tvmgo/tir/text"
)

func TestComposite_BadInput(t *testing.T) {
	for _, c := range []struct{ soc, old, new, want string }{
		{`{"kind": "composite", "devices": ["opencl"]}`, "", "",
			`no member accepts operation "add" (function) (and 1 more): opencl (member 0): ` +
				"it has no loop over threads: bind one"},
		{`{"kind": "composite", "devices": ["c"]}`, "", "",
			`no member accepts operation "scale" (function): c (member 0): it has loops over threads, which only a ` +
				"device has"},
		{`{"kind": "composite", "devices": ["c", "opencl"]}`, "func add(H, n)", "func add(D, n)",
			"function both passes tensor d to scale, which takes it on opencl, and to add, which takes it on cpu: copy it in " +
				"between"},
		{`{"kind": "composite", "devices": ["c", "opencl"]}`, "func add(H, n)", "d[0] = 1.0",
			"function both reads or writes tensor d, and passes it to scale, which takes it on opencl: the host cannot see " +
				"the device's memory"},
	} {
		m := must.Get(text.Parse(strings.Replace(gpuprograms.Mixed, c.old, c.new, 1)))(t)
		to := must.Get(target.New(c.soc))(t)
		require.ErrorContains(t, must.Fail(codegen.Build(m, to)), c.want)
	}
}
