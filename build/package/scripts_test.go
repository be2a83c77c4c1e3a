package package_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the scripts cannot do ends with an error that says what to give, and without files in the output folder.
func TestScripts_BadInput(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	good := []string{"DIST=" + t.TempDir(), "OUT=" + out, "GOARCH=amd64", "VERSION=1.2.3", "SOVERSION=0",
		"TRIPLET=x86_64-linux-gnu", "GLIBC=2.28", "SOURCE_DATE_EPOCH=1000000000"}
	for _, c := range []struct {
		command, env []string
		says         string
	}{
		{[]string{"release.sh"}, nil, "usage: release.sh tarball|deb|all"},
		{[]string{"release.sh", "rpm"}, nil, "rpm: it is tarball, deb or all"},
		{[]string{"release.sh", "tarball"}, []string{"VERSION="}, "VERSION"},
		{[]string{"release.sh", "tarball"}, []string{"SOURCE_DATE_EPOCH=today"}, "today: it is a number of seconds"},
		{[]string{"release.sh", "tarball"}, nil, "bin/tvmgo: no such file"},
		{[]string{"deb.sh"}, nil, "usage: deb.sh FROM OUT"},
		{[]string{"deb.sh", t.TempDir(), out}, []string{"DEB_MAINTAINER=me"}, "=me: it is a name and an address"},
		{[]string{"portable-cc.sh", "--version"}, []string{"GOARCH=riscv64"}, "GOARCH=riscv64: it can be amd64 or arm64"},
		{[]string{"arm64.sh"}, []string{"TVMGO_ARM64="}, "usage: arm64.sh COMMAND"},
	} {
		script := filepath.Join(root, "build", "scripts", c.command[0])
		cmd := exec.Command("sh", append([]string{script}, c.command[1:]...)...)
		cmd.Env = append(append(os.Environ(), good...), c.env...)
		text, err := cmd.CombinedOutput()
		require.Error(t, err, "%v: %s", c.command, text)
		require.Contains(t, string(text), c.says)
		files, err := os.ReadDir(out)
		require.True(t, os.IsNotExist(err) || err == nil)
		require.Empty(t, files, "%v", c.command)
	}
}
