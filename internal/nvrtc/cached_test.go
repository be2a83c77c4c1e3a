package nvrtc

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/diskcache"
	"tvmgo/internal/testing/must"
)

func cacheFiles(t *testing.T, dir string) []string {
	t.Helper()
	return must.Get(filepath.Glob(filepath.Join(dir, "nvrtc", "*")))(t)
}

// CompileCached returns the result on the disk: the test replaces the file, and gets the replacement. When the file is
// damaged, the source is compiled again.
func TestCompileCached_ReadsAndReplaces(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(diskcache.Variable, dir)
	c := opened(t)
	s := Source{Name: "f", Code: "code", Arch: "sm_80", Names: []string{"a"}}
	want := Result{Image: []byte("code"), Names: map[string]string{"a": "a"}}
	compile := func(want Result) {
		t.Helper()
		require.Equal(t, want, must.Get(c.CompileCached(t.Context(), s))(t))
	}
	compile(want)
	files := cacheFiles(t, dir)
	require.Equal(t, []string{filepath.Join(dir, "nvrtc", c.key(s))}, files)
	good := must.Get(os.ReadFile(files[0]))(t)

	planted := []byte(`{"Image":"cGxhbnRlZA==","Kind":0,"Log":"a warning","Names":{"a":"b"}}`)
	require.NoError(t, results.Write(c.key(s), planted))
	compile(Result{Image: []byte("planted"), Log: "a warning", Names: map[string]string{"a": "b"}})

	damaged := slices.Clone(good)
	damaged[len(damaged)-1] ^= 1
	for _, b := range [][]byte{nil, good[:20], damaged, append(slices.Clone(good), 0)} {
		require.NoError(t, os.WriteFile(files[0], b, 0o600))
		compile(want)
		require.Equal(t, good, must.Get(os.ReadFile(files[0]))(t))
	}
	// Undamaged files with other contents.
	for _, b := range []string{"no JSON", `{}`, `{"Image":"cGxhbnRlZA==","Kind":1}`} {
		require.NoError(t, results.Write(c.key(s), []byte(b)))
		compile(want)
	}
	require.Len(t, cacheFiles(t, dir), 1)

	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, noFolder := range []string{"off", file} {
		t.Setenv(diskcache.Variable, noFolder)
		compile(want)
	}
}

// Failures are not cached.
func TestCompileCached_Failure(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(diskcache.Variable, dir)
	_, err := opened(t, "-DFAIL=3").CompileCached(t.Context(), Source{Name: "f", Code: "code", Arch: "sm_80"})
	require.Error(t, err)
	require.Empty(t, cacheFiles(t, dir))
}

// When any input of a compilation changes, so does the key.
func TestKey_EveryPartCounts(t *testing.T) {
	s := Source{Name: "f", Code: "code", Arch: "sm_80"}
	c := Compiler{major: 12, minor: 4}
	seen := map[string]int{c.key(s): -1}
	for i, change := range []func(c *Compiler, s *Source){
		func(c *Compiler, s *Source) { c.major = 13 },
		func(c *Compiler, s *Source) { c.minor = 5 },
		func(c *Compiler, s *Source) { c.size = 1 },
		func(c *Compiler, s *Source) { c.include = []string{"/usr/local/cuda/include"} },
		func(c *Compiler, s *Source) { s.Name = "g" },
		func(c *Compiler, s *Source) { s.Code = "other" },
		func(c *Compiler, s *Source) { s.Arch = "sm_80a" },
		func(c *Compiler, s *Source) { s.Want = CUBIN },
		func(c *Compiler, s *Source) { s.Options = []string{"-a", "-b"} },
		func(c *Compiler, s *Source) { s.Options = []string{"-b", "-a"} },
		func(c *Compiler, s *Source) { s.Names = []string{"a"} },
		func(c *Compiler, s *Source) { s.Headers = map[string]string{"a": "b"} },
		func(c *Compiler, s *Source) { s.Headers = map[string]string{"a": "c"} },
		func(c *Compiler, s *Source) { s.Headers = map[string]string{"b": "b"} },
	} {
		c, s := c, s
		change(&c, &s)
		key := c.key(s)
		require.Equal(t, key, c.key(s))
		require.NotContains(t, seen, key, "changes %d and %d have the same key", i, seen[key])
		seen[key] = i
	}
}
