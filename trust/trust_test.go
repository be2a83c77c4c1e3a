//go:build unix

package trust_test

import (
	"bytes"
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"aead.dev/minisign"
	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/signing"
	"tvmgo/trust"
)

var signedAt = time.Unix(1700000000, 0)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestVerify(t *testing.T) {
	key, other := signing.NewKey(t), signing.NewKey(t)
	content := []byte("the bytes of a module")
	sign := func(k *trust.SecretKey, name string, content []byte) string {
		return string(must.Get(k.Sign(name, bytes.NewReader(content), signedAt, ""))(t))
	}
	good := sign(key, "dir/m.so", content)
	lines := strings.Split(good, "\n")
	edited := func(line int, old, new string) string {
		l := append([]string{}, lines...)
		require.Contains(t, l[line], old)
		l[line] = strings.Replace(l[line], old, new, 1)
		return strings.Join(l, "\n")
	}
	raw := must.Get(base64.StdEncoding.DecodeString(lines[1]))(t)
	flipped := func(at int) string {
		b := bytes.Clone(raw)
		b[at] ^= 1
		l := append([]string{}, lines...)
		l[1] = base64.StdEncoding.EncodeToString(b)
		return strings.Join(l, "\n")
	}
	changed := bytes.Clone(content)
	changed[3] ^= 1
	id, otherID := key.Public().IDs()[0], other.Public().IDs()[0]
	for _, c := range []struct {
		name      string
		keys      *trust.Keys
		content   []byte
		signature string
		kind      error
		says      []string
	}{
		{"valid", key.Public(), content, good, nil, nil},
		{"one of two keys", must.Get(trust.ParseKeys(append(other.PublicText(), key.PublicText()...)))(t), content, good, nil,
			nil},
		{"lines end as on Windows", key.Public(), content, strings.ReplaceAll(good, "\n", "\r\n"), nil, nil},
		{"another untrusted comment", key.Public(), content, edited(0, "signature", "whatever"), nil, nil},
		{"one byte changed", key.Public(), changed, good, trust.ErrChanged,
			[]string{id, "timestamp:1700000000", "file:m.so", "copy both again"}},
		{"one byte more", key.Public(), append(bytes.Clone(content), 0), good, trust.ErrChanged, nil},
		{"empty file", key.Public(), nil, good, trust.ErrChanged, nil},
		{"signature of another file", key.Public(), content, sign(key, "b.so", []byte("other")), trust.ErrChanged,
			[]string{"file:b.so", "that of another file"}},
		{"another key", key.Public(), content, sign(other, "m.so", content), trust.ErrUnknownKey,
			[]string{otherID, "the trusted key is " + id, "add the public key"}},
		{"no keys", &trust.Keys{}, content, good, trust.ErrUnknownKey, []string{id, "the trusted set has no key"}},
		{"nil", nil, content, good, trust.ErrUnknownKey, nil},
		{"empty signature", key.Public(), content, "", trust.ErrDamagedSignature, []string{"m.so.minisig", "sign it again"}},
		{"truncated", key.Public(), content, good[:len(good)-20], trust.ErrDamagedSignature, nil},
		{"three lines", key.Public(), content, strings.Join(lines[:3], "\n"), trust.ErrDamagedSignature, nil},
		{"text", key.Public(), content, "not a signature\n\n\n\n", trust.ErrDamagedSignature, nil},
		{"a key", key.Public(), content, string(key.PublicText()), trust.ErrDamagedSignature, nil},
		{"bit of the signature", key.Public(), content, flipped(20), trust.ErrDamagedSignature, []string{"it was changed"}},
		{"bit of the algorithm", key.Public(), content, flipped(0), trust.ErrDamagedSignature, nil},
		{"bit of the key's number", key.Public(), content, flipped(4), trust.ErrUnknownKey, nil},
		{"another trusted comment", key.Public(), content, edited(2, "m.so", "n.so"), trust.ErrDamagedSignature, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := write(t, dir, "m.so", string(c.content))
			write(t, dir, "m.so.minisig", c.signature)
			err := c.keys.Verify("m.so", c.content, []byte(c.signature))
			signed, fileErr := c.keys.VerifyFile(path)
			if c.kind == nil {
				require.NoError(t, err)
				require.NoError(t, fileErr)
				require.Equal(t, &trust.Signed{KeyID: id, Comment: "timestamp:1700000000\tfile:m.so\thashed"}, signed)
				return
			}
			for _, err := range []error{err, fileErr} {
				require.ErrorIs(t, err, c.kind)
				for _, s := range c.says {
					require.ErrorContains(t, err, s)
				}
			}
			require.ErrorContains(t, fileErr, "verify "+path+": ")
		})
	}
}

func TestVerify_Unsigned(t *testing.T) {
	key := signing.NewKey(t)
	err := key.Public().Verify("m.so", nil, nil)
	require.ErrorIs(t, err, trust.ErrUnsigned)
	require.EqualError(t, err, "it is not signed: there is no m.so.minisig: sign it (tvmgo sign), and put the signature "+
		"beside it")
	path := write(t, t.TempDir(), "m.so", "x")
	require.ErrorIs(t, must.Fail(key.Public().VerifyFile(path)), trust.ErrUnsigned)
	require.ErrorIs(t, must.Fail(key.Public().VerifyFile(path+"x")), fs.ErrNotExist)
	require.ErrorContains(t, must.Fail(key.Public().VerifyFile(filepath.Dir(path))), "no ordinary file")

	// What cannot be a signature is not read.
	require.NoError(t, os.WriteFile(path+trust.SignatureSuffix, make([]byte, 1<<20), 0o600))
	require.ErrorContains(t, must.Fail(key.Public().VerifyFile(path)), "longer than 32 KiB")
	require.NoError(t, os.Remove(path+trust.SignatureSuffix))
	require.NoError(t, syscall.Mkfifo(path+trust.SignatureSuffix, 0o600))
	require.ErrorContains(t, must.Fail(key.Public().VerifyFile(path)), "no ordinary file")
}

// A signature of the bytes is not one of a file whose hash these bytes are.
func TestVerify_BytesAndHash(t *testing.T) {
	_, private, err := minisign.GenerateKey(nil)
	require.NoError(t, err)
	public := must.Get(private.Public().(minisign.PublicKey).MarshalText())(t)
	keys := must.Get(trust.ParseKeys(public))(t)
	content := "the bytes of a module"
	path := write(t, t.TempDir(), "m.so", content)

	legacy := minisign.Sign(private, []byte(content))
	require.NoError(t, os.WriteFile(path+trust.SignatureSuffix, legacy, 0o600))
	require.NoError(t, keys.Verify("m.so", []byte(content), legacy))
	must.Get(keys.VerifyFile(path))(t)

	hash := minisign.NewReader(strings.NewReader(content))
	must.Get(new(bytes.Buffer).ReadFrom(hash))(t)
	var s minisign.Signature
	require.NoError(t, s.UnmarshalText(hash.Sign(private)))
	s.Algorithm = minisign.EdDSA // valid for a file whose 64 bytes are the hash, and for no other
	asBytes := must.Get(s.MarshalText())(t)
	require.NoError(t, os.WriteFile(path+trust.SignatureSuffix, asBytes, 0o600))
	require.ErrorIs(t, keys.Verify("m.so", []byte(content), asBytes), trust.ErrChanged)
	require.ErrorIs(t, must.Fail(keys.VerifyFile(path)), trust.ErrChanged)
}

func TestSign_Comment(t *testing.T) {
	key := signing.NewKey(t)
	dir := t.TempDir()
	path := write(t, dir, "m.so", "content")
	signed := func(comment string) string {
		signature := must.Get(key.SignFile(path, signedAt, comment))(t)
		require.NoError(t, os.WriteFile(path+trust.SignatureSuffix, signature, 0o600))
		return must.Get(key.Public().VerifyFile(path))(t).Comment
	}
	require.Equal(t, "version 3 of the model", signed("version 3 of the model"))
	require.Equal(t, "Größe\t5", signed("Größe\t5"))
	require.Len(t, signed(strings.Repeat("a", 7936)), 7936)
	require.ErrorContains(t, must.Fail(key.SignFile(path, signedAt, strings.Repeat("a", 7937))), "at most 7936")
	for _, bad := range []string{"a\nb", "a\r", "\x00"} {
		require.ErrorContains(t, must.Fail(key.SignFile(path, signedAt, bad)), "in one line")
	}
	signature := string(must.Get(key.Sign("dir/a\nb.so", strings.NewReader(""), signedAt, ""))(t))
	require.Contains(t, signature, "\tfile:a?b.so\thashed\n")
	require.ErrorIs(t, must.Fail(key.SignFile(path+"x", signedAt, "")), fs.ErrNotExist)
	require.ErrorContains(t, must.Fail(key.SignFile(dir, signedAt, "")), "no ordinary file")
}

func TestSignFile_Pipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	require.ErrorContains(t, must.Fail(signing.NewKey(t).SignFile(path, signedAt, "")), "no ordinary file")
	require.ErrorContains(t, must.Fail(signing.NewKey(t).Public().VerifyFile(path)), "no ordinary file")
}
