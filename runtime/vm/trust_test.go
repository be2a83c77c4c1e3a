package vm_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/signing"
	"tvmgo/runtime"
	"tvmgo/runtime/vm"
)

// A file with an executable alone needs its signature, too, also if its loader is called by name. The test runs itself
// with the variable, whose value a process reads once.
func TestTrustedKeys_Executable(t *testing.T) {
	const file = "TVMGO_TEST_FILE"
	open := must.Open(runtime.Global("ffi.Module.load_from_file." + vm.Kind))(t)
	load := must.Open(runtime.Global("ffi.ModuleLoadFromFile"))(t)
	if path := os.Getenv(file); path != "" {
		for _, f := range []func() (any, error){
			func() (any, error) { return open.Call(path, "") },
			func() (any, error) { return load.Call(path, vm.Kind) },
		} {
			err := must.Fail(f())
			require.True(t, errors.Is(err, runtime.ErrUntrusted), "%v", err)
			require.Equal(t, "UntrustedError", runtime.CodeOf(err))
			require.ErrorContains(t, err, "load "+path+": it is not signed")
			require.NoError(t, os.Rename(path+".sig", path+".minisig"))
			m := must.Get(f())(t).(*runtime.Module)
			require.NoError(t, os.Truncate(path, 0)) // a copy was loaded
			require.NotEmpty(t, mainOf(t, session(t, m)))
			require.NoError(t, os.Rename(path+".minisig", path+".sig"))
			require.NoError(t, os.WriteFile(path, must.Get(os.ReadFile(path+".copy"))(t), 0o600))
		}
		return
	}
	path := filepath.Join(t.TempDir(), "model.vm")
	require.NoError(t, loaded(t, program("ffi.Array", 0, weightSize)).SaveToFile(path, ""))
	require.NoError(t, os.WriteFile(path+".copy", must.Get(os.ReadFile(path))(t), 0o600))
	key := signing.NewKey(t)
	signing.Sign(t, key, path)
	require.NoError(t, os.Rename(path+".minisig", path+".sig"))
	cmd := exec.Command(os.Args[0], "-test.run=^TestTrustedKeys_Executable$")
	cmd.Env = append(os.Environ(), file+"="+path, "TVMGO_TRUSTED_KEYS="+signing.PublicFile(t, key))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
