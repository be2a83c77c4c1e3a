// Package diskcache caches compiled programs on disk for later processes: in folders of TVMGO_CACHE_DIR, or else of
// tvmgo in the user's cache ($XDG_CACHE_HOME). TVMGO_CACHE_DIR=off disables it.
//
// A folder has at most so much as Most says: what was not used for the longest time goes first.
//
// A file is whole or not there, whoever reads and writes at the same time; one that was damaged counts as not there.
package diskcache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tvmgo/internal/atomicfile"
)

// Variable names the folder of all caches; "off" is none.
const Variable = "TVMGO_CACHE_DIR"

// magic begins a file; behind it the SHA-256 of the rest.
var magic = []byte("tvmgoDC1")

// Cache is the folder of one compiler below the folder of all: "opencl". Any goroutine and process may use it at any
// time.
type Cache string

// folder is where files are kept; "" when nothing is kept.
func (c Cache) folder() string {
	switch dir := os.Getenv(Variable); dir {
	case "off":
		return ""
	case "":
		base, err := os.UserCacheDir()
		if err != nil {
			return "" // no home: nothing is kept
		}
		return filepath.Join(base, "tvmgo", string(c))
	default:
		return filepath.Join(dir, string(c))
	}
}

// Key is a name for what a file is made of: every part counts, and where it ends.
func Key(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(p))))
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Read returns what is kept under a key; nil when there is nothing, or when the file was damaged.
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
	_ = os.Chtimes(filepath.Join(dir, key), now, now) // it was used: others go first
	return b[head:]
}

// Write keeps data under a key, in the place of what was there. An error means that nothing changed.
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
	total, looked := written.bytes[dir]
	written.bytes[dir] = total + int64(len(data))
	due := !looked || written.bytes[dir] > Most/16
	if due {
		written.bytes[dir] = 0
	}
	written.Unlock()
	if due {
		trim(dir, key)
	}
	return nil
}

// Most is how many bytes are kept in a folder, about: it is looked at when a process first writes to it, and whenever
// it has written a sixteenth of that.
var Most int64 = 1 << 30

// written is how much this process wrote to folders since it looked at them.
var written = struct {
	sync.Mutex
	bytes map[string]int64
}{bytes: map[string]int64{}}

// trim removes what was not used for the longest time, and what processes left that were killed as they wrote; never
// the file of a key.
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
	slices.SortFunc(all, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range all {
		unfinished := strings.HasPrefix(info.Name(), ".") // a hidden name: keys have no dot
		abandoned := unfinished && time.Since(info.ModTime()) > 24*time.Hour
		if (total > Most && info.Name() != key && !unfinished) || abandoned {
			if os.Remove(filepath.Join(dir, info.Name())) == nil {
				total -= info.Size()
			}
		}
	}
}

// Drop removes what is kept under a key: a driver refused it.
func (c Cache) Drop(key string) {
	if dir := c.folder(); dir != "" {
		os.Remove(filepath.Join(dir, key)) // what stays is tried again the next time
	}
}
