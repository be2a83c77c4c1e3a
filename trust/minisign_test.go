//go:build unix

package trust_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/signing"
	"tvmgo/trust"
)

// tool runs the tool minisign in a folder.
func tool(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	return toolTyped(t, dir, "", args...)
}

// toolTyped answers its questions for a password.
func toolTyped(t *testing.T, dir, typed string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(toolPath(t), args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(typed)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func toolPath(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("minisign")
	if err != nil {
		require.Empty(t, os.Getenv("CI"), "build/scripts/deps.sh installs minisign")
		t.Skip("minisign is not installed: build/scripts/deps.sh installs it")
	}
	return path
}

// Files of the tool are read here.
func TestMinisign_ToolSigns(t *testing.T) {
	dir := t.TempDir()
	must.Get(tool(t, dir, "-G", "-W", "-p", "k.pub", "-s", "k.key"))(t)
	keys := must.Get(trust.ReadKeys(filepath.Join(dir, "k.pub")))(t)
	path := write(t, dir, "m.so", "the bytes of a module")
	for name, args := range map[string][]string{"hash": nil, "bytes": {"-l"}} {
		out, err := tool(t, dir, append([]string{"-S", "-W", "-s", "k.key", "-m", "m.so", "-t", "version 3"}, args...)...)
		require.NoError(t, err, out)
		signed := must.Get(keys.VerifyFile(path))(t)
		require.Equal(t, &trust.Signed{KeyID: keys.IDs()[0], Comment: "version 3"}, signed, name)
		content := []byte("the bytes of a modulf")
		signature := must.Get(os.ReadFile(path + trust.SignatureSuffix))(t)
		require.ErrorIs(t, keys.Verify("m.so", content, signature), trust.ErrChanged, name)
	}
	public := must.Get(os.ReadFile(filepath.Join(dir, "k.pub")))(t)
	require.Contains(t, string(public), " public key "+strings.TrimLeft(keys.IDs()[0], "0")+"\n", "the same number")

	secret := must.Get(trust.ReadSecretKey(filepath.Join(dir, "k.key"), nil))(t)
	require.Equal(t, keys.IDs(), secret.Public().IDs())
	// What the tool calls the signed file, and when, without a comment of the user.
	signature := must.Get(os.ReadFile(path + trust.SignatureSuffix))(t)
	require.Contains(t, string(signature), "untrusted comment: ")
	must.Get(tool(t, dir, "-S", "-W", "-s", "k.key", "-m", "m.so"))(t)
	theirs := must.Get(keys.VerifyFile(path))(t).Comment
	signing.Sign(t, secret, path)
	ours := must.Get(keys.VerifyFile(path))(t).Comment
	form := func(comment string) string {
		fields := strings.Split(comment, "\t")
		require.Regexp(t, `^timestamp:\d+$`, fields[0])
		return strings.Join(fields[1:], "\t")
	}
	require.Equal(t, form(theirs), form(ours))
}

// The tool reads our files.
func TestMinisign_ToolVerifies(t *testing.T) {
	key, dir := signing.NewKey(t), t.TempDir()
	write(t, dir, "k.pub", string(key.PublicText()))
	path := write(t, dir, "m.so", "the bytes of a module")
	signing.Sign(t, key, path)
	out, err := tool(t, dir, "-V", "-p", "k.pub", "-m", "m.so")
	require.NoError(t, err, out)
	require.Contains(t, out, "Signature and comment signature verified")
	require.Contains(t, out, "file:m.so")

	write(t, dir, "k.key", string(must.Get(key.Text(""))(t)))
	out, err = tool(t, dir, "-S", "-W", "-s", "k.key", "-m", "m.so")
	require.NoError(t, err, out)
	must.Get(key.Public().VerifyFile(path))(t)

	write(t, dir, "m.so", "other bytes")
	out, err = tool(t, dir, "-V", "-p", "k.pub", "-m", "m.so")
	require.Error(t, err, out)
}

// Secret keys with a password, in both directions. Each use takes seconds, because the format wants it.
func TestMinisign_Password(t *testing.T) {
	dir := t.TempDir()
	out, err := toolTyped(t, dir, "theirs\ntheirs\n", "-G", "-p", "k.pub", "-s", "k.key")
	require.NoError(t, err, out)
	password := func() (string, error) { return "theirs", nil }
	theirs := must.Get(trust.ReadSecretKey(filepath.Join(dir, "k.key"), password))(t)
	require.Equal(t, must.Get(trust.ReadKeys(filepath.Join(dir, "k.pub")))(t).IDs(), theirs.Public().IDs())

	key := signing.NewKey(t)
	path := write(t, dir, "m.so", "the bytes of a module")
	write(t, dir, "ours.key", string(must.Get(key.Text("ours"))(t)))
	out, err = toolTyped(t, dir, "ours\n", "-S", "-s", "ours.key", "-m", "m.so")
	require.NoError(t, err, out)
	must.Get(key.Public().VerifyFile(path))(t)
}
