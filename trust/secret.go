package trust

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"aead.dev/minisign"
)

// SecretKey makes signatures. Keep it where only those can read it who may sign.
type SecretKey struct {
	key minisign.PrivateKey
}

// Generate makes a new key from the system's random numbers.
func Generate() (*SecretKey, error) {
	_, key, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate key: %w", err)
	}
	return &SecretKey{key}, nil
}

// ErrPassword is the error for a password that does not decrypt a key.
var ErrPassword = errors.New("the password is wrong, or the file is damaged")

// ReadSecretKey reads the file of a secret key as minisign writes it. If it is encrypted, password is called for the
// password, else it is not called and may be nil. Decrypting takes seconds and up to 1 GiB of memory, as the format
// wants it, so that trying many passwords is expensive.
func ReadSecretKey(path string, password func() (string, error)) (*SecretKey, error) {
	const op = "read secret key"
	text, err := readFile(op, path)
	if err != nil {
		return nil, err
	}
	if err := checkSecret(text); err != nil {
		return nil, fmt.Errorf("%s %s: %w", op, path, err)
	}
	if !minisign.IsEncrypted(text) {
		s := &SecretKey{}
		if err := s.key.UnmarshalText(text); err != nil {
			return nil, fmt.Errorf("%s %s: %s: generate another one (tvmgo sign --generate)", op, path,
				strings.TrimPrefix(err.Error(), "minisign: "))
		}
		return s, nil
	}
	if password == nil {
		return nil, fmt.Errorf("%s %s: it is encrypted: give its password", op, path)
	}
	secret, err := password()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", op, path, err)
	}
	key, err := minisign.DecryptKey(secret, text)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: try again", op, path, ErrPassword)
	}
	return &SecretKey{key}, nil
}

// checkSecret says what a file is if it is no secret key.
func checkSecret(text []byte) error {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	data, err := decode(lines[len(lines)-1])
	const want = "give the .key file that \"tvmgo sign --generate\" writes, or one of minisign"
	if err == nil && len(data) == secretKeySize && len(lines) <= 2 {
		return nil
	}
	if _, err := ParseKeys(text); err == nil {
		return errors.New("it is a public key, which cannot sign: " + want)
	}
	return errors.New("it is no secret key: " + want)
}

// Public returns the set with the public key alone.
func (s *SecretKey) Public() *Keys {
	return &Keys{keys: []minisign.PublicKey{s.key.Public().(minisign.PublicKey)}}
}

// PublicText returns the public key as a file: what [ReadKeys] and minisign read.
func (s *SecretKey) PublicText() []byte {
	text, err := s.Public().keys[0].MarshalText()
	if err != nil {
		panic(err) // it never returns one
	}
	return append(text, '\n')
}

// Text returns the secret key as a file: what [ReadSecretKey] and minisign read. With an empty password it is not
// encrypted, as minisign -W does it; then only the permissions of the file protect the key. Encrypting takes seconds
// and 1 GiB of memory.
func (s *SecretKey) Text(password string) ([]byte, error) {
	if password == "" {
		text, err := s.key.MarshalText()
		return append(text, '\n'), err
	}
	text, err := minisign.EncryptKey(password, s.key)
	if err != nil {
		return nil, fmt.Errorf("encrypt secret key: %w", err)
	}
	return append(text, '\n'), nil
}

// maxComment is what minisign reads of a trusted comment.
const maxComment = 8192 - 256

// Sign returns a signature of content, which it reads once, in pieces. The signature is the file that belongs beside
// the signed one, under its name and ".minisig". comment becomes the trusted comment, which [Signed] returns; if it is
// empty, it is time and file name as minisign writes them. It has at most 7936 bytes and no line breaks.
func (s *SecretKey) Sign(name string, content io.Reader, at time.Time, comment string) ([]byte, error) {
	if comment == "" {
		comment = fmt.Sprintf("timestamp:%d\tfile:%s\thashed", at.Unix(), printable(filepath.Base(name)))
	}
	if strings.ContainsFunc(comment, func(r rune) bool { return unicode.IsControl(r) && r != '\t' }) {
		return nil, fmt.Errorf("sign %s: the comment has a line break or another control character: "+
			"write it in one line", name)
	}
	if len(comment) > maxComment {
		return nil, fmt.Errorf("sign %s: the comment has %d bytes, and at most %d are possible", name, len(comment),
			maxComment)
	}
	r := minisign.NewReader(content)
	if _, err := io.Copy(io.Discard, r); err != nil {
		return nil, fileError("sign", name, err)
	}
	return r.SignWithComments(s.key, comment, "signature from tvmgo secret key "+idText(s.key.ID())), nil
}

// SignFile is Sign for the content of a file. It refuses a file that changes while it is read.
func (s *SecretKey) SignFile(path string, at time.Time, comment string) ([]byte, error) {
	f, err := open(path)
	if err != nil {
		return nil, fileError("sign", path, err)
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return nil, fileError("sign", path, err)
	}
	if !before.Mode().IsRegular() {
		return nil, fmt.Errorf("sign %s: it is no ordinary file: give one", path)
	}
	signature, err := s.Sign(path, f, at, comment)
	if err != nil {
		return nil, err
	}
	after, err := f.Stat()
	if err != nil {
		return nil, fileError("sign", path, err)
	}
	if before.Size() != after.Size() || !before.ModTime().Equal(after.ModTime()) {
		return nil, fmt.Errorf("sign %s: it changed while it was read: sign it when it is complete", path)
	}
	return signature, nil
}

// printable replaces the characters that a comment cannot have.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, name)
}
