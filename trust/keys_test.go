//go:build unix

package trust_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/signing"
	"tvmgo/trust"
)

func TestReadKeys(t *testing.T) {
	a, b := signing.NewKey(t), signing.NewKey(t)
	both := []string{a.Public().IDs()[0], b.Public().IDs()[0]}
	bare := strings.Split(string(b.PublicText()), "\n")[1]
	dir := t.TempDir()
	several := write(t, dir, "several", "# the keys of our team\n\n"+string(a.PublicText())+"\r\n  "+bare+"  \r\n"+
		string(a.PublicText()))
	require.Equal(t, both, must.Get(trust.ReadKeys(several))(t).IDs(), "a key that is there twice counts once")

	folder := filepath.Join(dir, "keys")
	require.NoError(t, os.Mkdir(folder, 0o700))
	require.ErrorContains(t, must.Fail(trust.ReadKeys(folder)), "no file of this folder has a name that ends in .pub")
	write(t, folder, "b.pub", bare)
	write(t, folder, "a.pub", string(a.PublicText()))
	write(t, folder, "README", "this is no key")
	require.Equal(t, both, must.Get(trust.ReadKeys(folder))(t).IDs(), "in the order of the names")
	write(t, folder, "c.pub", "")
	require.ErrorContains(t, must.Fail(trust.ReadKeys(folder)), filepath.Join(folder, "c.pub")+": it has no key")
}

func TestReadKeys_Errors(t *testing.T) {
	key := signing.NewKey(t)
	signature := string(must.Get(key.Sign("m.so", strings.NewReader(""), signedAt, ""))(t))
	good := string(key.PublicText())
	for text, says := range map[string]string{
		"":                     "it has no key: put a public key there",
		"\n# nothing\n\n":      "it has no key",
		"untrusted comment: x": "it has no key",
		string(must.Get(key.Text(""))(t)): "line 2: this is a secret key, which does not belong here: give a minisign " +
			"public key",
		signature:                              "line 2: this is a signature: give",
		"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 me":  "line 1: this is a key of another tool",
		good + "-----BEGIN PUBLIC KEY-----\n":  "line 3: this is a key of another tool",
		good + "RWQ\n":                         "line 3: this is no public key: give",
		good + strings.Repeat("QUJD", 14) + "": "line 3: this is no public key",
		good + "\x00\xff":                      "line 3: this is no public key",
		strings.Repeat("#", 1<<20+1):           "longer than 1 MiB",
	} {
		path := write(t, t.TempDir(), "keys.pub", text)
		err := must.Fail(trust.ReadKeys(path))
		require.ErrorContains(t, err, "read keys "+path+": ")
		require.ErrorContains(t, err, says)
	}
	err := must.Fail(trust.ReadKeys("none.pub"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.EqualError(t, err, "read keys none.pub: no such file or directory: check the path")
	require.ErrorContains(t, must.Fail(trust.ReadKeys("/dev/null")), "no ordinary file")
}

func TestReadSecretKey(t *testing.T) {
	key := signing.NewKey(t)
	plain := write(t, t.TempDir(), "plain.key", string(must.Get(key.Text(""))(t)))
	read := must.Get(trust.ReadSecretKey(plain, nil))(t)
	require.Equal(t, key.PublicText(), read.PublicText())

	const path = "testdata/encrypted.key"
	asked := 0
	password := func(s string, err error) func() (string, error) {
		return func() (string, error) { asked++; return s, err }
	}
	read = must.Get(trust.ReadSecretKey(path, password("secret", nil)))(t)
	require.Equal(t, must.Get(os.ReadFile("testdata/encrypted.pub"))(t), read.PublicText())
	require.ErrorIs(t, must.Fail(trust.ReadSecretKey(path, password("wrong", nil))), trust.ErrPassword)
	require.ErrorIs(t, must.Fail(trust.ReadSecretKey(path, password("", os.ErrDeadlineExceeded))), os.ErrDeadlineExceeded)
	require.ErrorContains(t, must.Fail(trust.ReadSecretKey(path, nil)), "it is encrypted: give its password")
	require.Equal(t, 3, asked)

	for text, says := range map[string]string{
		string(key.PublicText()):            "it is a public key, which cannot sign: give the .key file",
		"":                                  "it is no secret key: give the .key file",
		"something":                         "it is no secret key",
		strings.Repeat("AAAA", 52) + "AAA=": "invalid private key: invalid key type '0': generate another one",
	} {
		path := write(t, t.TempDir(), "bad.key", text)
		err := must.Fail(trust.ReadSecretKey(path, password("secret", nil)))
		require.ErrorContains(t, err, "read secret key "+path+": ")
		require.ErrorContains(t, err, says)
	}
	require.ErrorIs(t, must.Fail(trust.ReadSecretKey("none.key", nil)), fs.ErrNotExist)
}
