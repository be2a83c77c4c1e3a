package codegen_test

import (
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/target"
)

// A processor that no table knows is an error of Build, which names the option and suggests a valid value. Names for
// other machines are accepted, and without a compiler every name is.
func TestBuild_UnknownCPU(t *testing.T) {
	if !gputest.HasCompiler(t) {
		t.Skip("there is no C compiler")
	}
	t.Setenv("CC", "cc")
	build := func(text string) error {
		made := must.Get(target.New(text))(t)
		m, err := codegen.Build(dense(t, 4, 4, 8), made)
		m.Close()
		return err
	}
	for option, text := range map[string]string{"march": "c -march=zen99", "mcpu": "c -mcpu=zen99"} {
		err := build(text)
		require.ErrorIs(t, err, runtime.ErrInvalidArgument)
		require.ErrorContains(t, err, "target option "+option+` "zen99": the C compiler knows no such processor`)
		require.ErrorContains(t, err, "it takes ")
		require.NotContains(t, err.Error(), "-fsyntax-only")
	}
	if goruntime.GOARCH == "amd64" {
		require.ErrorContains(t, build("c -march=sapphirerapid"), `did you mean "sapphirerapids"?`)
	}
	for _, text := range []string{"c -march=armv8.2-a", "c -mcpu=neoverse-n1", "c -march=rv64gcv", "c -march=x86-64-v3",
		"c -march=native"} {
		require.NoError(t, build(text), text)
	}
	t.Setenv("CC", "/no/such/compiler")
	require.NoError(t, build("c -march=zen99"))
}
