package trust

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"strings"

	"aead.dev/minisign"

	"tvmgo/internal/signaturefile"
)

// SignatureSuffix is added to the name of a file to name the file with its signature.
const SignatureSuffix = signaturefile.Suffix

// Why a file is refused, for errors.Is.
var (
	// ErrUnsigned: the file has no signature.
	ErrUnsigned = errors.New("it is not signed")
	// ErrDamagedSignature: its signature is no signature, or was changed.
	ErrDamagedSignature = errors.New("its signature is damaged")
	// ErrUnknownKey: it was signed with a key that is not in the set.
	ErrUnknownKey = errors.New("it is signed with a key that is not trusted")
	// ErrChanged: it is not the file that was signed.
	ErrChanged = errors.New("it is not the file that was signed")
)

// Signed is what a valid signature says.
type Signed struct {
	KeyID   string // the key, as [Keys.IDs] has it
	Comment string // the trusted comment: what the owner of the key wrote, as a rule time and file name
}

// Verify returns nil if signature is one of content by a key of the set. name is the name of the file, for the message
// alone; signature is the content of the file with that name and ".minisig", or nil if there is none. Both kinds of
// minisign's signatures are valid: of the bytes, and of their hash. content is not kept or changed.
//
// The error is one of the Err… values. It does not begin with the name: the caller says what it wanted to do with the
// file, for example "load model.so: ".
func (k *Keys) Verify(name string, content, signature []byte) error {
	_, err := k.check(name, signature, func(key minisign.PublicKey, _ *minisign.Signature) (bool, error) {
		return minisign.Verify(key, content, signature), nil
	})
	return err
}

// VerifyFile checks a file by the signature beside it, and returns what the signature says. It reads the file once, in
// pieces, unless the signature is one of the bytes (minisign -S -l), which needs the whole file in memory. The error is
// one of the Err… values, or one of reading.
//
// Nothing keeps the file as it was when VerifyFile read it: to load a module, use runtime.WithTrust, which loads the
// bytes that it has checked.
func (k *Keys) VerifyFile(path string) (*Signed, error) {
	f, err := open(path)
	if err != nil {
		return nil, fileError("verify", path, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, fileError("verify", path, err)
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("verify %s: it is no ordinary file: give one that was signed", path)
	}
	signature, err := signaturefile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("verify %s: %w: %s%s: %w", path, ErrDamagedSignature, path, SignatureSuffix, err)
	}
	s, err := k.check(path, signature, func(key minisign.PublicKey, s *minisign.Signature) (bool, error) {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return false, err
		}
		// A signature of the bytes must not be checked against their hash: that would be another message.
		if s.Algorithm == minisign.HashEdDSA {
			r := minisign.NewReader(f)
			if _, err := io.Copy(io.Discard, r); err != nil {
				return false, err
			}
			return r.Verify(key, signature), nil
		}
		content, err := io.ReadAll(f)
		return err == nil && minisign.Verify(key, content, signature), err
	})
	if err != nil {
		return nil, fmt.Errorf("verify %s: %w", path, err)
	}
	return &Signed{KeyID: idText(s.KeyID), Comment: s.TrustedComment}, nil
}

// check finds the keys of a signature and calls valid with each; as a rule there is one.
func (k *Keys) check(name string, signature []byte,
	valid func(minisign.PublicKey, *minisign.Signature) (bool, error)) (*minisign.Signature, error) {
	const again = "sign it again (tvmgo sign), or copy its signature again"
	file := name + SignatureSuffix
	if signature == nil {
		return nil, fmt.Errorf("%w: there is no %s: sign it (tvmgo sign), and put the signature beside it", ErrUnsigned, file)
	}
	var s minisign.Signature
	if err := s.UnmarshalText(signature); err != nil {
		return nil, fmt.Errorf("%w: %s: %s: %s", ErrDamagedSignature, file, strings.TrimPrefix(err.Error(), "minisign: "),
			again)
	}
	intact := false
	var of []minisign.PublicKey
	for _, key := range k.set() {
		if key.ID() != s.KeyID {
			continue
		}
		of = append(of, key)
		if ok, err := valid(key, &s); err != nil {
			return nil, err
		} else if ok {
			return &s, nil
		}
		intact = intact || isIntact(key, &s)
	}
	switch {
	case len(of) == 0:
		return nil, fmt.Errorf("%w: key %s: the trusted %s: sign it with such a key, or add the public key of %s to the "+
			"trusted ones", ErrUnknownKey, idText(s.KeyID), k.list(), idText(s.KeyID))
	case !intact:
		return nil, fmt.Errorf("%w: %s: it was changed, or key %s did not make it: %s", ErrDamagedSignature, file,
			idText(s.KeyID), again)
	}
	return nil, fmt.Errorf("%w with key %s (%q): it was changed since, or the signature is that of another file: "+
		"copy both again, or sign it again (tvmgo sign)", ErrChanged, idText(s.KeyID), s.TrustedComment)
}

// isIntact reports whether the key made this signature with its trusted comment, whatever it signed.
func isIntact(key minisign.PublicKey, s *minisign.Signature) bool {
	raw, err := decode(key.String())
	if err != nil || len(raw) < ed25519.PublicKeySize {
		return false
	}
	public := ed25519.PublicKey(raw[len(raw)-ed25519.PublicKeySize:])
	return ed25519.Verify(public, append(s.Signature[:], s.TrustedComment...), s.CommentSignature[:])
}

// list names the keys of the set.
func (k *Keys) list() string {
	const most = 4
	ids := k.IDs()
	switch n := len(ids); {
	case n == 0:
		return "set has no key"
	case n == 1:
		return "key is " + ids[0]
	case n > most:
		return fmt.Sprintf("keys are %s and %d more", strings.Join(ids[:most], ", "), n-most)
	}
	return "keys are " + strings.Join(ids, ", ")
}
