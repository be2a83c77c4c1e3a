// Package diskcache caches compiled programs on disk for later processes. The caches are subfolders of
// TVMGO_CACHE_DIR, or, where it is not set, of "tvmgo" in the user's cache folder ($XDG_CACHE_HOME).
// TVMGO_CACHE_DIR=off disables all caches.
//
// A folder holds about MaxBytes bytes; beyond that, the files that were not used for the longest time are removed.
//
// Concurrent readers and writers see a file either complete or not at all. A damaged file counts as absent.
package diskcache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"tvmgo/internal/atomicfile"
	"tvmgo/internal/sorting"
)

// Variable is the environment variable that names the folder of all caches; its value "off" disables them.
const Variable = "TVMGO_CACHE_DIR"

// magic is the beginning of each file; the SHA-256 of the data and the data follow.
var magic = []byte("tvmgoDC1")

// Cache is the name of one compiler's subfolder, such as "opencl". Goroutines and processes may use it concurrently.
type Cache string

// folder returns the path of the cache's folder; "" when nothing is cached.
func (c Cache) folder() string {
	switch dir := os.Getenv(Variable); dir {
	case "off":
		return ""
	case "":
		base, err := os.UserCacheDir()
		if err != nil {
			return "" // the user has no cache folder
		}
		return filepath.Join(base, "tvmgo", string(c))
	default:
		return filepath.Join(dir, string(c))
	}
}

// Key returns the key of data that was made from these parts. Different parts, or parts that are divided differently,
// have different keys.
func Key(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(p))))
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Read returns the data stored under a key; nil when there is none, or when the file is damaged.
func (c Cache) Read(key string) []byte {
	dir := c.folder()
	if dir == "" {
		return nil
	}
	b, err := os.ReadFile(filepath.Join(dir, key))
	head := len(magic) + sha256.Size
	if err != nil || len(b) <= head || !bytes.HasPrefix(b, magic) {
		return nil
	}
	if sum := sha256.Sum256(b[head:]); !bytes.Equal(sum[:], b[len(magic):head]) {
		return nil
	}
	now := time.Now()
	_ = os.Chtimes(filepath.Join(dir, key), now, now) // the time of the last use, for trim
	return b[head:]
}

// Write stores data under a key and replaces earlier data. After an error, the cache is unchanged.
func (c Cache) Write(key string, data []byte) error {
	dir := c.folder()
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	path := filepath.Join(dir, key)
	err := atomicfile.Write(path, bytes.Join([][]byte{magic, sum[:], data}, nil), 0o600, atomicfile.ReplaceLinks)
	if err != nil {
		return &fs.PathError{Op: "write", Path: path, Err: err}
	}
	written.Lock()
	total, known := written.bytes[dir]
	written.bytes[dir] = total + int64(len(data))
	due := !known || written.bytes[dir] > MaxBytes/16
	if due {
		written.bytes[dir] = 0
	}
	written.Unlock()
	if due {
		trim(dir, key)
	}
	return nil
}

// MaxBytes is the approximate maximum size of a folder. A process checks the size at its first write to the folder, and
// each time it has written a sixteenth of MaxBytes to it.
var MaxBytes int64 = 1 << 30

// written has, for each folder, the number of bytes that this process wrote to it since the last check of its size.
var written = struct {
	sync.Mutex
	bytes map[string]int64
}{bytes: map[string]int64{}}

// trim removes the files that were not used for the longest time, and old unfinished files of processes that were
// killed while they wrote. It does not remove the file of the given key.
func trim(dir, key string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	var all []fs.FileInfo
	total := int64(0)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			all = append(all, info)
			total += info.Size()
		}
	}
	sorting.By(all, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range all {
		unfinished := strings.HasPrefix(info.Name(), ".") // a temporary file of atomicfile: keys have no dot
		abandoned := unfinished && time.Since(info.ModTime()) > 24*time.Hour
		if (total > MaxBytes && info.Name() != key && !unfinished) || abandoned {
			if os.Remove(filepath.Join(dir, info.Name())) == nil {
				total -= info.Size()
			}
		}
	}
}

// Drop removes the data under a key, after a driver rejected it.
func (c Cache) Drop(key string) {
	if dir := c.folder(); dir != "" {
		os.Remove(filepath.Join(dir, key)) // where this fails, the driver rejects the data again
	}
}
