package confined

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each option removes what it says, and nothing else.
func TestOptions(t *testing.T) {
	h := New(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	for _, c := range []struct{ options, script, out string }{
		{"", "test -d /proc/self && test -c /dev/null && echo yes", "yes\n"},
		{"noproc", "ls /proc; test -e /tmp && echo yes", "yes\n"},
		{"noshm", "test -e /dev/shm || echo gone; echo x >/dev/null && echo yes", "gone\nyes\n"},
		{"tmp", "ls /tmp", strings.Split(strings.TrimPrefix(dir, "/tmp/"), "/")[0] + "\n"},
		{"tmp", "echo 'echo yes' >/tmp/p; chmod 700 /tmp/p; /tmp/p; rm /tmp/p", "yes\n"},
		{"noexec", "echo 'echo yes' >/tmp/p; chmod 700 /tmp/p; /tmp/p 2>/dev/null || echo no; rm /tmp/p", "no\n"},
		{"tmp readonly", "echo x 2>/dev/null >/tmp/p || echo no; echo x 2>/dev/null >$FILE || echo no", "no\nno\n"},
	} {
		if !strings.HasPrefix(dir, "/tmp/") && strings.Contains(c.options, "tmp") {
			continue // the folder is elsewhere
		}
		r := h.Run(t, Options(c.options, dir), append(os.Environ(), "FILE="+file), "sh", "-c", c.script)
		require.Equal(t, 0, r.Status, "%s: %s", c.options, r.Stderr)
		require.Equal(t, c.out, r.Stdout, c.options)
	}
	require.NoFileExists(t, file)
	require.Equal(t, 128+9, h.Run(t, nil, os.Environ(), "sh", "-c", "kill -9 $$").Status)
	require.Equal(t, 7, h.Run(t, Options("noproc noshm noexec readonly", dir), os.Environ(), "sh", "-c", "exit 7").Status)
}

// The filters fail with the error that was asked for, also in programs that the program starts.
func TestOptions_SystemCalls(t *testing.T) {
	h := New(t)
	const text = `import os, sys
def go(what):
    try: os.close(what()); return "works"
    except OSError as e: return os.strerror(e.errno)
print(go(lambda: os.memfd_create("x")), go(lambda: os.open("/tmp", os.O_TMPFILE | os.O_RDWR)),
      go(lambda: os.open("/tmp", 0)))`
	for options, want := range map[string]string{
		"tmp":                    "works works works\n",
		"tmp memfd=EPERM":        "Operation not permitted works works\n",
		"tmp memfd=ENOSYS":       "Function not implemented works works\n",
		"tmp tmpfile=EOPNOTSUPP": "works Operation not supported works\n",
	} {
		r := h.Run(t, Options(options), os.Environ(), "sh", "-c", `exec python3 -c "$0"`, text)
		require.Equal(t, want, r.Stdout, "%s: %s", options, r.Stderr)
	}
}
