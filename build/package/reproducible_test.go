package package_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// Another folder, time zone, umask, user's folder and other settings of Go give the same bits. A build takes minutes.
func TestReproducible(t *testing.T) {
	if os.Getenv("TVMGO_TEST_ALL") == "" {
		t.Skip("a second build takes minutes: set TVMGO_TEST_ALL")
	}
	want := must.Get(os.ReadFile(filepath.Join(release(t), "SHA256SUMS")))(t)
	clone := filepath.Join(t.TempDir(), "another", "folder")
	run(t, "", nil, "git", "clone", "--quiet", must.Get(filepath.Abs(root))(t), clone)
	require.Empty(t, run(t, root, nil, "git", "status", "--porcelain"), "the release is not of a commit")
	cache := must.Get(filepath.Abs(filepath.Join(root, "build", ".cache")))(t)
	require.NoError(t, os.MkdirAll(filepath.Join(clone, "build", ".cache"), 0o755))
	for _, tool := range []string{"zig", "venv"} {
		require.NoError(t, os.Symlink(filepath.Join(cache, tool), filepath.Join(clone, "build", ".cache", tool)))
	}
	modules := run(t, "", nil, "go", "env", "GOMODCACHE")
	env := []string{"TZ=Asia/Tokyo", "LANG=C", "HOME=" + t.TempDir(), "GOMODCACHE=" + modules[:len(modules)-1],
		"GOCACHE=" + filepath.Join(t.TempDir(), "cache"), "MAKEFLAGS=", "MFLAGS=",
		"GOFLAGS=-buildvcs=true", "GOAMD64=v2", "GOARM64=v8.2"}
	run(t, clone, env, "sh", "-c", "umask 027 && make release RELEASE=release GOARCH="+arch)
	got := must.Get(os.ReadFile(filepath.Join(clone, "release", "SHA256SUMS")))(t)
	require.Equal(t, string(want), string(got))
}
