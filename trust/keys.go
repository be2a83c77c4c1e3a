package trust

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"aead.dev/minisign"

	"tvmgo/internal/signaturefile"
)

// Keys is a set of trusted public keys. It implements runtime.Verifier. A set without keys trusts nothing. It does not
// change, so that any goroutine may use it.
type Keys struct {
	keys []minisign.PublicKey
}

// keySuffix is that of the files that ReadKeys reads in a folder.
const keySuffix = ".pub"

// maxKeyFile bounds what is read of a file of keys: thousands of them.
const maxKeyFile = 1 << 20

// ReadKeys reads the public keys of a file, or those of all files of a folder whose names end in ".pub". It does not
// read folders in it. A file has any number of keys as minisign writes them: a line of base64, perhaps after a line
// that begins with "untrusted comment:". Empty lines, and lines that begin with #, are skipped.
//
// A file or folder without a key is an error, and so is a line that is no public key: it never yields a smaller set
// than the author of the file wanted. errors.Is finds fs.ErrNotExist and fs.ErrPermission.
func ReadKeys(path string) (*Keys, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fileError("read keys", path, err)
	}
	files := []string{path}
	if info.IsDir() {
		if files, err = keyFiles(path); err != nil {
			return nil, err
		}
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read keys %s: it is no ordinary file: give a file or a folder with public keys", path)
	}
	all := &Keys{}
	for _, name := range files {
		text, err := readFile("read keys", name)
		if err != nil {
			return nil, err
		}
		k, err := ParseKeys(text)
		if err != nil {
			return nil, fmt.Errorf("read keys %s: %w", name, err)
		}
		all.add(k.keys...)
	}
	return all, nil
}

func keyFiles(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fileError("read keys", folder, err)
	}
	var files []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), keySuffix) {
			files = append(files, filepath.Join(folder, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("read keys %s: no file of this folder has a name that ends in %s: put the public keys there, "+
			"as files of such names", folder, keySuffix)
	}
	return files, nil
}

// ParseKeys reads keys from a text, as [ReadKeys] does from a file.
func ParseKeys(text []byte) (*Keys, error) {
	k := &Keys{}
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "untrusted comment:") {
			continue
		}
		var key minisign.PublicKey
		if err := key.UnmarshalText([]byte(line)); err != nil {
			return nil, fmt.Errorf("line %d: %s", i+1, notAKey(line))
		}
		k.add(key)
	}
	if len(k.keys) == 0 {
		return nil, errors.New("it has no key: put a public key there, such as the .pub file that " +
			"\"tvmgo sign --generate\" writes")
	}
	return k, nil
}

// notAKey says what a line is instead of a public key.
func notAKey(line string) string {
	const want = ": give a minisign public key, such as the .pub file that \"tvmgo sign --generate\" writes"
	data, err := decode(line)
	switch {
	case err == nil && len(data) == secretKeySize:
		return "this is a secret key, which does not belong here" + want
	case err == nil && len(data) == signatureSize:
		return "this is a signature" + want
	case strings.HasPrefix(line, "-----BEGIN"), strings.HasPrefix(line, "ssh-"):
		return "this is a key of another tool" + want
	}
	return "this is no public key" + want
}

// Sizes of what minisign writes in base64.
const (
	secretKeySize = 158
	signatureSize = 74
)

func decode(line string) ([]byte, error) {
	return base64.StdEncoding.DecodeString(strings.TrimSpace(line))
}

// Package runtime reads the keys that the environment names.
func init() {
	signaturefile.ReadKeys = func(path string) (signaturefile.Verifier, error) { return ReadKeys(path) }
}

// add adds keys that are not in the set.
func (k *Keys) add(keys ...minisign.PublicKey) {
	for _, key := range keys {
		if !slices.ContainsFunc(k.keys, func(have minisign.PublicKey) bool { return have.Equal(key) }) {
			k.keys = append(k.keys, key)
		}
	}
}

// IDs returns the numbers of the keys, in the order of the files, as minisign prints them: 16 hexadecimal digits.
func (k *Keys) IDs() []string {
	var ids []string
	for _, key := range k.set() {
		ids = append(ids, idText(key.ID()))
	}
	return ids
}

func (k *Keys) set() []minisign.PublicKey {
	if k == nil {
		return nil
	}
	return k.keys
}

func idText(id uint64) string { return fmt.Sprintf("%016X", id) }

// readFile reads a file of keys.
func readFile(op, path string) ([]byte, error) {
	f, err := open(path)
	if err != nil {
		return nil, fileError(op, path, err)
	}
	defer f.Close()
	var text bytes.Buffer
	if _, err := io.Copy(&text, io.LimitReader(f, maxKeyFile+1)); err != nil {
		return nil, fileError(op, path, err)
	}
	if text.Len() > maxKeyFile {
		return nil, fmt.Errorf("%s %s: the file is longer than 1 MiB: give a file of keys", op, path)
	}
	return text.Bytes(), nil
}

// open opens a file for reading. A pipe does not block.
func open(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) }

// fileError describes what the system refused, with a remedy.
func fileError(op, path string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	way := ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		way = ": check the path"
	case errors.Is(err, fs.ErrPermission):
		way = ": make it readable"
	}
	return fmt.Errorf("%s %s: %w%s", op, path, err, way)
}
