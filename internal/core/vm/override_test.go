package vm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// Programs that are loaded later call the function that replaces a builtin; so does everybody who looks it up.
func TestBuiltins_RegisteredAgain(t *testing.T) {
	const name = "vm.builtin.null_value"
	original := must.Open(runtime.Global(name))(t)
	mine := must.Open(runtime.NewFunction(func(...any) (any, error) { return "mine", nil }))(t)
	require.ErrorContains(t, runtime.RegisterGlobal(name, mine, false), "register with override")
	require.NoError(t, runtime.RegisterGlobal(name, mine, true))
	t.Cleanup(func() { require.NoError(t, runtime.RegisterGlobal(name, original, true)) })
	require.Equal(t, "mine", must.Get(must.Open(runtime.Global(name))(t).Call())(t))
	require.Nil(t, must.Get(original.Call())(t))
}
