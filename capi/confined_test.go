package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/confined"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/signing"
)

// environments are those without a facility, and combinations. The values are what a C program that loads a library has
// to say: with a private copy, and with a check of its signature. Nothing: it works.
var environments = []struct{ without, private, checked string }{
	{"tmp", "", ""},
	{"noshm", "", ""},
	{"noproc tmp", "", "/proc is not mounted: without it, the copy whose signature was checked can be opened only by a " +
		"name, which another file could get: mount /proc"},
	{"noexec", "", ""},
	{"readonly tmp", "", ""},
	{"memfd=EPERM tmp", "", ""},
	{"memfd=ENOSYS tmp", "", ""},
	{"memfd=EPERM tmpfile=EOPNOTSUPP tmp", "", ""},
	{"memfd=EPERM noproc tmp", "", "mount /proc"},
	{"memfd=EPERM noexec",
		"making a private copy: in memory: memfd_create: Operation not permitted; in /tmp: it is mounted noexec: allow " +
			"memfd_create, or set TMPDIR to a folder where this process may write and execute code",
		"making a private copy: in memory: memfd_create: Operation not permitted; in /tmp: it is mounted noexec: allow"},
	{"memfd=ENOSYS readonly tmp",
		"in memory: memfd_create: Function not implemented; in /tmp: no file can be made in it: Read-only file system: " +
			"allow memfd_create, or set TMPDIR",
		"a file in memory (memfd_create): Function not implemented; a file in /tmp: Read-only file system: allow " +
			"memfd_create, or set TMPDIR"},
	{"noproc noexec", "in memory: /proc is not mounted; in /tmp: it is mounted noexec: mount /proc, or set TMPDIR to a " +
		"folder", "mount /proc"},
	{"noproc readonly tmp", "in memory: /proc is not mounted; in /tmp: no file can be made in it: Read-only file " +
		"system: mount /proc, or set TMPDIR to a folder", "mount /proc"},
	{"noproc noexec readonly noshm memfd=EPERM", "mount /proc, or set TMPDIR", "allow memfd_create, or set TMPDIR"},
}

// A C program loads a library, as it is, as private copies and with a check of its signature, or the one line of the
// error says what is needed. In no case a temporary file is left.
func TestConfined(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	helper := confined.New(t)
	key := signing.NewKey(t)
	keys := signing.PublicFile(t, key)
	signed := filepath.Join(t.TempDir(), "signed.so")
	require.NoError(t, copyFile(signed, l.classic("addone_llvm")))
	signing.Sign(t, key, signed)
	for program, library := range map[string]string{"confined_test": "-ltvmgo",
		"confined_runtime_test": "-ltvmgo_runtime"} {
		program = l.compile(t, program, "confined_test.c", "-L"+l.path("lib"), library, "-Wl,-rpath,"+l.path("lib"))
		for _, e := range environments {
			t.Run(filepath.Base(program)+" without "+e.without, func(t *testing.T) {
				options := confined.Options(e.without, l.dir, filepath.Dir(signed), filepath.Dir(keys))
				run := func(want string, env []string, count, file string) {
					t.Helper()
					env = append(env, "TVM_NUM_THREADS=2", "PATH="+os.Getenv("PATH"))
					r := helper.Run(t, options, env, program, count, file, l.path("artifacts"), "addone")
					if want == "" {
						require.Equal(t, "ok\n", r.Stdout, r.Stderr)
						require.Zero(t, r.Status)
						return
					}
					require.Equal(t, 1, r.Status, "%s%s", r.Stdout, r.Stderr)
					require.Contains(t, r.Stdout, want)
					require.True(t, strings.HasPrefix(r.Stdout, "RuntimeError: load "+file+": "), r.Stdout)
					require.Equal(t, 1, strings.Count(r.Stdout, "\n"), r.Stdout)
				}
				run("", nil, "3", signed)                     // the loads share it
				run(e.private, nil, "3", l.modern("multi_c")) // it keeps a state for each
				run("", nil, "1", l.modern("multi_c_now"))    // linked so that it is bound at once
				run(e.private, []string{"TVMGO_PRIVATE_LOAD=1"}, "1", signed)
				run(e.private, []string{"TVMGO_PRIVATE_LOAD=1", "LD_BIND_NOW=1"}, "2", l.modern("multi_c_now"))
				run(e.checked, []string{"TVMGO_TRUSTED_KEYS=" + keys}, "2", signed)
				if strings.Contains(e.private, "set TMPDIR") && !strings.Contains(e.without, "readonly") {
					run("", []string{"TVMGO_PRIVATE_LOAD=1", "TMPDIR=" + l.path("home")}, "2", signed) // the advice is right
				}
			})
		}
	}
	require.Empty(t, must.Get(filepath.Glob(l.path("home", "tvmgo-*")))(t))
}

// A signature is checked in the same way where files in memory are forbidden.
func TestConfined_ChecksSignatures(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	helper := confined.New(t)
	key := signing.NewKey(t)
	keys := signing.PublicFile(t, key)
	dir := t.TempDir()
	program := l.compile(t, "trust_confined_test", "trust_test.c", l.linked()...)
	for name, says := range map[string]string{"unsigned": "it is not signed",
		"changed": "it is not the file that was signed"} {
		file := filepath.Join(dir, name+".so")
		require.NoError(t, copyFile(file, l.classic("addone_llvm")))
		if name == "changed" {
			signing.Sign(t, key, file)
			data := must.Get(os.ReadFile(file))(t)
			data[len(data)/2] ^= 1
			require.NoError(t, os.WriteFile(file, data, 0o666))
		}
		for _, without := range []string{"memfd=EPERM tmp", "memfd=ENOSYS noexec", "noproc tmp", "memfd=EPERM noproc noshm"} {
			options := confined.Options(without, l.dir, dir, filepath.Dir(keys))
			r := helper.Run(t, options, []string{"TVMGO_TRUSTED_KEYS=" + keys}, program, file, says)
			require.Equal(t, "ok\n", r.Stdout, "%s: %s", without, r.Stderr)
		}
	}
}

// A library whose file system is mounted noexec is not opened behind the back of who mounted it so.
func TestConfined_LibraryNoexec(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	helper := confined.New(t)
	program := l.compile(t, "confined_noexec_test", "confined_test.c", l.linked()...)
	script := `cp "$1" /tmp/m.so; shift; "$0" 1 /tmp/m.so "$@"; rm /tmp/m.so`
	env := []string{"PATH=" + os.Getenv("PATH")}
	r := helper.Run(t, confined.Options("noexec", l.dir), env, "sh", "-c", script, program,
		l.classic("addone_llvm"), l.path("artifacts"), "addone")
	require.Equal(t, "RuntimeError: load /tmp/m.so: its file system is mounted noexec, so that its code cannot be "+
		"executed: move it to another one\n", r.Stdout, r.Stderr)
}

// Modules that are built and called at once need a folder for temporary files, and nothing else.
func TestConfined_Builds(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	helper := confined.New(t)
	program := l.compile(t, "confined_build_test", "build_test.c", l.linked()...)
	env := []string{"PATH=" + os.Getenv("PATH"), "TVMGO_CACHE_DIR=off", "TVM_NUM_THREADS=2"}
	for _, without := range []string{"noproc tmp", "noexec", "memfd=EPERM noshm tmp", "readonly tmp"} {
		r := helper.Run(t, confined.Options(without, l.dir), env, program, "target.build.c")
		if strings.Contains(without, "readonly") {
			require.NotZero(t, r.Status)
			require.Contains(t, r.Stdout, "read-only file system: set TMPDIR to one that can be written")
			continue
		}
		require.Zero(t, r.Status, "%s: %s%s", without, r.Stdout, r.Stderr)
	}
}

func copyFile(to, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o666)
}
