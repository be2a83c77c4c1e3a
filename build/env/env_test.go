//go:build unix

package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

func TestWithHeaders(t *testing.T) {
	old := "/c/" + folder + "/0123"
	for _, c := range []struct{ flags, dir, want string }{
		{"-O2 -g", "/c/" + folder + "/1", "-I/c/" + folder + "/1 -fsigned-char -O2 -g"},
		{"", "/c/" + folder + "/1", "-I/c/" + folder + "/1 -fsigned-char"},
		{"-I" + old + " -O2 -fsigned-char  -g", "/c/" + folder + "/1", "-I/c/" + folder + "/1 -fsigned-char -O2 -g"},
		{"-I" + old + " -O2  -g", "/c/" + folder + "/1", "-I/c/" + folder + "/1 -fsigned-char -O2 -g"},
		{"'-I/a b/" + folder + "/0' \"-DX=a b\"", "/c d/" + folder + "/1",
			"'-I/c d/" + folder + "/1' -fsigned-char \"-DX=a b\""},
	} {
		require.Equal(t, c.want, withHeaders(c.flags, c.dir))
	}
}

func TestRun_RefusesWhatItDoesNotKnow(t *testing.T) {
	for _, args := range [][]string{{"--"}, {"-x"}, {"build"}, {"-w", "y"}} {
		require.EqualError(t, run(args, nil), usage)
	}
}

func TestRun_GivesTheHeadersToGo(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for range 2 { // the second time the files exist
		var out bytes.Buffer
		require.NoError(t, run([]string{"--", "env", "CGO_CFLAGS"}, &out))
		dir := string(bytes.TrimPrefix(bytes.Fields(out.Bytes())[0], []byte("-I")))
		require.Contains(t, string(must.Get(os.ReadFile(filepath.Join(dir, "CL", "opencl.h")))(t)), "clCreateContext")
	}
}

func TestRun_PrintsALineForShells(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", filepath.Join(t.TempDir(), "with a space"))
	t.Setenv("CGO_CFLAGS", "-O1 '-DIT=a b'")
	var out bytes.Buffer
	require.NoError(t, run(nil, &out))
	shown := must.Get(exec.Command("sh", "-c", out.String()+`printf %s "$CGO_CFLAGS"`).Output())(t)
	require.Regexp(t, `^'-I.*/with a space/`+folder+`/[0-9a-f]{16}' -fsigned-char -O1 '-DIT=a b'$`, string(shown))
}

func TestRun_RemembersThePath(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	settings := filepath.Join(t.TempDir(), "env")
	t.Setenv("GOENV", settings)
	t.Setenv("CGO_CFLAGS", "") // independent of the settings of this process
	os.Unsetenv("CGO_CFLAGS")
	require.NoError(t, run([]string{"-w"}, nil))
	text := must.Get(os.ReadFile(settings))(t)
	require.Contains(t, string(text), "CGO_CFLAGS=-I")
	require.Contains(t, string(text), folder)
}

// All users may read a header, whatever the umask is, and a header that has changed is replaced.
func TestWriteFile(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	path := filepath.Join(t.TempDir(), "CL", "a.h")
	for _, text := range []string{"old", "new"} {
		require.NoError(t, writeFile(path, []byte(text)))
		require.Equal(t, text, string(must.Get(os.ReadFile(path))(t)))
		info := must.Get(os.Stat(path))(t)
		require.Equal(t, fs.FileMode(0o644), info.Mode())
	}
	require.Len(t, must.Get(os.ReadDir(filepath.Dir(path)))(t), 1)
	require.ErrorContains(t, writeFile(filepath.Dir(path), nil), "write "+filepath.Dir(path)+": ")
}
