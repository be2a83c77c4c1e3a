//go:build unix

package diskcache

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

const cache Cache = "test"

func TestKey_EveryPartCounts(t *testing.T) {
	seen := map[string]bool{}
	for _, parts := range [][]string{{"a", "b"}, {"ab", ""}, {"", "ab"}, {"b", "a"}, {"a", "b", ""}} {
		key := Key(parts...)
		require.Regexp(t, "^[0-9a-f]{64}$", key)
		require.False(t, seen[key])
		seen[key] = true
	}
}

// Data that was written can be read until it is dropped. A cache of another name does not see it.
func TestCache_KeepsAndDrops(t *testing.T) {
	t.Setenv(Variable, t.TempDir())
	data := []byte("a built program")
	require.Nil(t, cache.Read("key"))
	require.NoError(t, cache.Write("key", data))
	require.Equal(t, data, cache.Read("key"))
	require.Nil(t, Cache("other").Read("key"))
	require.NoError(t, cache.Write("key", data[:3]))
	require.Equal(t, data[:3], cache.Read("key"))
	cache.Drop("key")
	require.Nil(t, cache.Read("key"))
	cache.Drop("key")
}

// A file of which any byte was changed, or which was truncated or extended, counts as absent and can be written again.
func TestCache_Damage(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(Variable, dir)
	data := []byte("a built program")
	require.NoError(t, cache.Write("key", data))
	path := filepath.Join(dir, "test", "key")
	good := must.Get(os.ReadFile(path))(t)
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 1
		require.NoError(t, os.WriteFile(path, bad, 0o600))
		require.Nil(t, cache.Read("key"), "byte %d", i)
		require.NoError(t, os.WriteFile(path, good[:i], 0o600))
		require.Nil(t, cache.Read("key"), "%d bytes", i)
	}
	require.NoError(t, os.WriteFile(path, append(slices.Clone(good), 0), 0o600))
	require.Nil(t, cache.Read("key"))
	require.NoError(t, cache.Write("key", data))
	require.Equal(t, data, cache.Read("key"))
}

func TestCache_NoFolder(t *testing.T) {
	t.Setenv(Variable, "off")
	require.NoError(t, cache.Write("key", []byte("x")))
	require.Nil(t, cache.Read("key"))
	cache.Drop("key")

	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	t.Setenv(Variable, file)
	require.Error(t, cache.Write("key", []byte("x")))
	require.Nil(t, cache.Read("key"))

	home := t.TempDir()
	t.Setenv(Variable, "")
	t.Setenv("XDG_CACHE_HOME", home)
	require.NoError(t, cache.Write("key", []byte("x")))
	require.FileExists(t, filepath.Join(home, "tvmgo", "test", "key"))

	// A folder has the file's name: the write fails and leaves no temporary file.
	dir := t.TempDir()
	t.Setenv(Variable, dir)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "test", "key"), 0o700))
	require.Error(t, cache.Write("key", []byte("x")))
	require.Len(t, must.Get(os.ReadDir(filepath.Join(dir, "test")))(t), 1)
}

// Concurrent readers and writers of one key see only complete files.
func TestCache_ManyAtOnce(t *testing.T) {
	t.Setenv(Variable, t.TempDir())
	var wg sync.WaitGroup
	for i := range 8 {
		data := bytes.Repeat([]byte{byte(i)}, 1<<16)
		wg.Go(func() {
			for range 20 {
				if err := cache.Write("key", data); err != nil {
					t.Error(err)
				}
				got := cache.Read("key")
				if len(got) != 1<<16 || !bytes.Equal(got, bytes.Repeat(got[:1], 1<<16)) {
					t.Error("a mixed file was read")
				}
			}
		})
	}
	wg.Wait()
}

// When a folder exceeds MaxBytes, the files that were not used for the longest time are removed.
func TestCache_Bounded(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(Variable, dir)
	defer func(n int64) { MaxBytes = n }(MaxBytes)
	MaxBytes = 1 << 16
	data := make([]byte, 1<<14)
	old := time.Now().Add(-time.Hour)
	for i, key := range []string{"a", "b", "c"} {
		require.NoError(t, cache.Write(key, data))
		at := old.Add(time.Duration(i) * time.Minute)
		require.NoError(t, os.Chtimes(filepath.Join(dir, "test", key), at, at))
	}
	require.NotNil(t, cache.Read("a")) // now b is the oldest
	for _, key := range []string{"d", "e"} {
		require.NoError(t, cache.Write(key, data))
	}
	require.Nil(t, cache.Read("b"))
	require.NotNil(t, cache.Read("a"))
	require.NotNil(t, cache.Read("e"))
	for i := range 20 {
		require.NoError(t, cache.Write(strings.Repeat("k", i+1), data))
	}
	left := must.Get(os.ReadDir(filepath.Join(dir, "test")))(t)
	require.LessOrEqual(t, len(left), 4)
}

// Files with hidden names are being written. After a day they count as left by a process that was killed.
func TestCache_HiddenFiles(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(Variable, dir)
	defer func(n int64) { MaxBytes = n }(MaxBytes)
	MaxBytes = 1
	dir = filepath.Join(dir, "test")
	require.NoError(t, os.Mkdir(dir, 0o700))
	for name, hours := range map[string]time.Duration{".key.1-0": 23, ".key.1-1": 25, ".new1": 25, "old": 1} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte("half"), 0o600))
		at := time.Now().Add(-hours * time.Hour)
		require.NoError(t, os.Chtimes(path, at, at))
	}
	require.NoError(t, cache.Write("key", []byte("x")))
	left := must.Get(os.ReadDir(dir))(t)
	require.Len(t, left, 2)
	require.Equal(t, ".key.1-0", left[0].Name())
	require.Equal(t, "key", left[1].Name())
}

// Other users cannot read the files, and a symbolic link with a file's name is replaced, not followed.
func TestCache_FileOfThisUser(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	dir := t.TempDir()
	t.Setenv(Variable, dir)
	path, other := filepath.Join(dir, "test", "key"), filepath.Join(dir, "other")
	require.NoError(t, os.WriteFile(other, []byte("mine"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
	require.NoError(t, os.Symlink(other, path))
	require.NoError(t, cache.Write("key", []byte("x")))
	info := must.Get(os.Lstat(path))(t)
	require.Equal(t, fs.FileMode(0o600), info.Mode())
	require.Equal(t, "mine", string(must.Get(os.ReadFile(other))(t)))
}
