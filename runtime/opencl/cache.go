//go:build opencl

package opencl

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
)

// cacheVariable names the folder of the cache; "off" is none.
const cacheVariable = "TVMGO_CACHE_DIR"

// cacheMagic begins a file of the cache; behind it the SHA-256 of the rest.
var cacheMagic = []byte("tvmgoCL1")

// cacheFolder is where programs are kept; "" for nowhere.
func cacheFolder() string {
	switch dir := os.Getenv(cacheVariable); dir {
	case "off":
		return ""
	case "":
		base, err := os.UserCacheDir()
		if err != nil {
			return "" // no home: nothing is kept
		}
		return filepath.Join(base, "tvmgo", "opencl")
	default:
		return filepath.Join(dir, "opencl")
	}
}

// cacheKey is a name for what a program is made of: every part counts, and where it ends.
func cacheKey(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(p))))
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// readCache returns a kept program; nil when there is none, or when the file was damaged.
func readCache(key string) []byte {
	dir := cacheFolder()
	if dir == "" {
		return nil
	}
	b, err := os.ReadFile(filepath.Join(dir, key))
	head := len(cacheMagic) + sha256.Size
	if err != nil || len(b) <= head || !bytes.HasPrefix(b, cacheMagic) {
		return nil
	}
	if sum := sha256.Sum256(b[head:]); !bytes.Equal(sum[:], b[len(cacheMagic):head]) {
		return nil
	}
	return b[head:]
}

// writeCache keeps a program. Others may write or read the same at the same time: a file is whole or not there.
func writeCache(key string, program []byte) error {
	dir := cacheFolder()
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".new*")
	if err != nil {
		return err
	}
	sum := sha256.Sum256(program)
	_, err = f.Write(bytes.Join([][]byte{cacheMagic, sum[:], program}, nil))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, key))
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// dropCache removes a kept program that the driver does not take.
func dropCache(key string) {
	if dir := cacheFolder(); dir != "" {
		os.Remove(filepath.Join(dir, key)) // what stays is tried again the next time
	}
}
