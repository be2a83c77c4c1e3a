//go:build cgo

package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"tvmgo/internal/testing/must"
	"tvmgo/trust"
)

// signDir makes a folder with the files a.so and b.so, and the keys k and other without passwords, and enters it.
func signDir(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, name := range []string{"a.so", "b.so"} {
		require.NoError(t, os.WriteFile(name, []byte("bytes of "+name), 0o600))
	}
	for _, name := range []string{"k", "other"} {
		status, _, stderr := cli("sign", "--generate", name, "--no-password")
		require.Zero(t, status, stderr)
	}
}

func TestSign(t *testing.T) {
	signDir(t)
	status, stdout, stderr := cli("sign", "a.so", "b.so", "--key", "k.key")
	require.Zero(t, status, stderr)
	require.Equal(t, "wrote a.so.minisig\nwrote b.so.minisig\n", stdout)

	keys := must.Get(trust.ReadKeys("k.pub"))(t)
	require.Regexp(t, "^timestamp:[0-9]+\tfile:b.so\thashed$", must.Get(keys.VerifyFile("b.so"))(t).Comment)
	for _, by := range []string{"k.pub", "."} { // the folder has other.pub, too
		status, stdout, stderr = cli("sign", "--verify", "a.so", "b.so", "--trusted-keys", by)
		require.Zero(t, status, stderr)
		require.Regexp(t, "^a.so: signed with key "+keys.IDs()[0]+": timestamp:.*\nb.so: .*\n$", stdout)
	}

	status, stdout, stderr = cli("sign", "a.so", "--key", "other.key", "-o", "a.other", "--comment", "release 5")
	require.Zero(t, status, stderr)
	require.Equal(t, "wrote a.other\n", stdout)
	require.Contains(t, string(must.Get(os.ReadFile("a.other"))(t)), "\ntrusted comment: release 5\n")
}

func TestSign_Refused(t *testing.T) {
	signDir(t)
	verify := func(file string) string {
		status, stdout, stderr := cli("sign", "--verify", file, "--trusted-keys", "k.pub")
		require.Equal(t, statusFailure, status)
		require.Empty(t, stdout)
		require.Equal(t, 1, strings.Count(stderr, "\n"), "one line: %s", stderr)
		require.True(t, strings.HasPrefix(stderr, "tvmgo: verify "+file+": "), stderr)
		return stderr
	}
	require.Contains(t, verify("a.so"), "it is not signed: there is no a.so.minisig")
	status, _, stderr := cli("sign", "a.so", "--key", "other.key")
	require.Zero(t, status, stderr)
	require.Contains(t, verify("a.so"), "it is signed with a key that is not trusted")
	status, _, stderr = cli("sign", "a.so", "--key", "k.key")
	require.Zero(t, status, stderr)
	require.NoError(t, os.WriteFile("a.so", []byte("bytes of A.so"), 0o600))
	require.Contains(t, verify("a.so"), "it is not the file that was signed")
	require.NoError(t, os.Rename("a.so.minisig", "b.so.minisig"))
	require.Contains(t, verify("b.so"), "the signature is that of another file")
}

func TestSign_Generate(t *testing.T) {
	signDir(t)
	require.EqualValues(t, 0o600, must.Get(os.Stat("k.key"))(t).Mode().Perm())
	for _, name := range []string{"k.key", "k.pub"} {
		before := must.Get(os.ReadFile(name))(t)
		other := map[string]string{"k.key": "k.pub", "k.pub": "k.key"}[name]
		require.NoError(t, os.Rename(other, "kept"))
		status, _, stderr := cli("sign", "--generate", "k", "--no-password")
		require.Equal(t, statusFailure, status)
		require.Contains(t, stderr, "write "+name+": it exists already, and a key that is lost cannot be made again")
		require.Equal(t, before, must.Get(os.ReadFile(name))(t))
		require.NoFileExists(t, other)
		require.NoError(t, os.Rename("kept", other))
	}
	status, _, stderr := cli("sign", "--generate", "none/k", "--no-password")
	require.Equal(t, statusFailure, status)
	require.Contains(t, stderr, "write none/k.key: there is no such folder: create it")
}

// Key generation with a password takes seconds, because the format wants it.
func TestSign_GenerateEncrypted(t *testing.T) {
	signDir(t)
	require.NoError(t, os.WriteFile("password", []byte("secret\r\nsecond line\n"), 0o600))
	status, stdout, stderr := cli("sign", "--generate", "locked", "--password-file", "password")
	require.Zero(t, status, stderr)
	require.Regexp(t, `^wrote locked.key: keep it secret\nwrote locked.pub: key [0-9A-F]{16}, for those`, stdout)
	status, _, stderr = cli("sign", "a.so", "--key", "locked.key", "--password-file", "password")
	require.Zero(t, status, stderr)
	must.Get(must.Get(trust.ReadKeys("locked.pub"))(t).VerifyFile("a.so"))(t)
}

// The tests have no terminal.
func TestSign_Password(t *testing.T) {
	must.Get(buildOnce())(t) // from this folder
	key := must.Get(filepath.Abs("../../trust/testdata/encrypted.key"))(t)
	signDir(t)
	require.NoError(t, os.WriteFile("password", []byte("secret\r\nsecond line\n"), 0o600))
	require.NoError(t, os.WriteFile("empty", []byte("\nsecret\n"), 0o600))
	for file, says := range map[string]string{
		"a.so":  "read secret key " + key + ": the password is wrong, or the file is damaged: try again",
		"none":  "read password none: no such file or directory",
		"empty": "read password empty: its first line is empty: write the password there",
	} {
		status, _, stderr := cli("sign", "a.so", "--key", key, "--password-file", file)
		require.Equal(t, statusFailure, status)
		require.Contains(t, stderr, says)
	}
	status, _, stderr := built(t, ".", "sign", "a.so", "--key", key)
	require.Equal(t, statusFailure, status)
	require.Contains(t, stderr, "standard input is no terminal: give the password in a file (--password-file)")
	status, _, stderr = built(t, ".", "sign", "--generate", "asked")
	require.Equal(t, statusFailure, status)
	require.Contains(t, stderr, "(--password-file), or make a key without one (--no-password)")
	require.NoFileExists(t, "a.so.minisig")
	require.NoFileExists(t, "asked.pub")
	status, _, stderr = cli("sign", "a.so", "--key", key, "--password-file", "password")
	require.Zero(t, status, stderr)
}

func TestSign_CommandLines(t *testing.T) {
	signDir(t)
	exits(t, []exit{
		{"sign", 2, "name the files"},
		{"sign a.so", 2, "--key is missing"},
		{"sign --verify a.so", 2, "--verify needs --trusted-keys"},
		{"sign --verify --trusted-keys k.pub", 2, "name the files"},
		{"sign --verify a.so --trusted-keys k.pub --key k.key", 2, "--key has no meaning with --verify: leave it out"},
		{"sign a.so --key k.key --trusted-keys k.pub", 2, "--trusted-keys has no meaning without --generate and --verify"},
		{"sign a.so --key k.key --no-password", 2, "--no-password has no meaning without"},
		{"sign a.so b.so --key k.key -o s", 2, "-o is for one file"},
		{"sign a.so.minisig --key k.key", 2, "a.so.minisig is a signature"},
		{"sign --generate n a.so", 2, "1 argument instead of 0"},
		{"sign --generate n --verify", 2, "--verify has no meaning with --generate"},
		{"sign --generate=", 2, "give the name of the key"},
		{"sign --generate dir/", 2, "give the name of the key"},
		{"sign --generate n --no-password --password-file f", 2, "not both"},
		{"sign none.so --key k.key", 1, "sign none.so: no such file or directory: check the path"},
		{"sign a.so --key none.key", 1, "read secret key none.key: no such file"},
		{"sign a.so --key k.pub", 1, "read secret key k.pub: it is a public key, which cannot sign"},
		{"sign a.so --key k.key -o none/s", 1, "write none/s: there is no such folder"},
		{"sign a.so none.so --key k.key", 1, "sign none.so: no such file"},
		{"sign --verify a.so --trusted-keys k.key", 1, "read keys k.key: line 2: this is a secret key"},
	})
	require.NoFileExists(t, "a.so.minisig", "all signatures appear together")
	completes(t, []completion{
		{[]string{"sign", ""}, nil, nil, orFiles},
		{[]string{"sign", "a.so", "--key", ""}, nil, nil, orFiles},
		{[]string{"sign", "--pass"}, []string{"--password-file"}, []string{"--key"}, noFiles},
	})
}

func echoes(t *testing.T, terminal *os.File) bool {
	t.Helper()
	return must.Get(unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS))(t).Lflag&unix.ECHO != 0
}

func TestAskPassword(t *testing.T) {
	user, program := terminal(t)
	must.Get(user.WriteString("sec ret\n"))(t)
	var out strings.Builder
	password, err := askPassword(t.Context(), program, &out, "password of k.key")
	require.NoError(t, err)
	require.Equal(t, "sec ret", password)
	require.Equal(t, "password of k.key: \n", out.String())
	require.True(t, echoes(t, program))

	must.Get(user.WriteString("\n"))(t)
	require.ErrorContains(t, must.Fail(askPassword(t.Context(), program, io.Discard, "p")), "the password is empty: type")

	file := must.Open(os.Open(filepath.Join(artifacts, "modern/multi_c.so")))(t)
	require.ErrorContains(t, must.Fail(askPassword(t.Context(), file, io.Discard, "p")), "standard input is no terminal")
}

// cancelWhenHidden cancels a context after the prompt, when the terminal no longer shows what is typed.
type cancelWhenHidden struct {
	t       *testing.T
	program *os.File
	cancel  context.CancelFunc
	done    bool
}

func (c *cancelWhenHidden) Write(p []byte) (int, error) {
	if !c.done {
		c.done = true
		go func() {
			for echoes(c.t, c.program) {
				runtime.Gosched()
			}
			c.cancel()
		}()
	}
	return len(p), nil
}

// A signal in the middle leaves the terminal as it was.
func TestAskPassword_Interrupted(t *testing.T) {
	user, program := terminal(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := askPassword(ctx, program, &cancelWhenHidden{t: t, program: program, cancel: cancel}, "p")
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, echoes(t, program))
	must.Get(user.WriteString("\n"))(t) // the read ends
}
