package builder

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestName(t *testing.T) {
	require.Regexp(t, `^tvmgo( \S+)?$`, Name())
	other := &debug.Module{Path: "example.com/service", Version: "v9.0.0"}
	for want, info := range map[string]*debug.BuildInfo{
		"tvmgo":         {Main: *other},
		"tvmgo (devel)": {Main: debug.Module{Path: "tvmgo", Version: "(devel)"}},
		"tvmgo v1.2.0":  {Main: *other, Deps: []*debug.Module{other, {Path: "tvmgo", Version: "v1.2.0"}}},
		"tvmgo v1.3.0":  {Main: *other, Deps: []*debug.Module{{Path: "tvmgo", Version: "v1.2.0", Replace: &debug.Module{Path: "example.com/fork", Version: "v1.3.0"}}}},
		"tvmgo v1.4.0":  {Main: *other, Deps: []*debug.Module{{Path: "tvmgo", Version: "v1.4.0", Replace: &debug.Module{Path: "../tvmgo"}}}},
	} {
		require.Equal(t, want, nameOf(info))
	}
}
