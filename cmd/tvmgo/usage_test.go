//go:build cgo

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/must"
)

// exit is a command line (none of its arguments contains a space), its exit status, and a part of its output.
type exit struct {
	args   string
	status int
	says   string
}

// exits runs command lines. Errors are printed on standard error only; with status 2 they include the usage line.
func exits(t *testing.T, rows []exit) {
	t.Helper()
	for _, c := range rows {
		status, stdout, stderr := cli(strings.Fields(c.args)...)
		require.Equal(t, c.status, status, "%s: %s", c.args, stderr)
		require.Contains(t, stdout+stderr, c.says, c.args)
		require.Equal(t, c.status == 2, strings.Contains(stderr, "\nusage: tvmgo"), "%s: %s", c.args, stderr)
		if c.status > 0 {
			require.Empty(t, stdout, c.args)
			require.True(t, strings.HasPrefix(stderr, "tvmgo: "), "%s: %s", c.args, stderr)
		}
	}
}

// The exit status means the same in all commands: 2 for an invalid command line, with its usage; 1 for a failure; 0 for
// success.
func TestExitStatus(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.so")
	require.NoError(t, os.WriteFile(text, []byte("text"), 0o666))
	noSuffix := filepath.Join(dir, "text")
	require.NoError(t, os.WriteFile(noSuffix, []byte("text"), 0o666))
	t.Chdir(dir)
	exits(t, []exit{
		{"", 0, "Usage:"},
		{"--help", 0, "Usage:"},
		{"--version", 0, "tvmgo "},
		{"--version=maybe", 2, "invalid argument"},
		{"--what", 2, "unknown flag: --what"},
		{"inspct", 2, `there is no command "inspct"; did you mean "inspect"?`},
		{"help", 0, "Usage:"},
		{"help run", 0, "tvmgo run"},
		{"help target show", 0, "tvmgo target show"},
		{"help nope", 2, `there is no command "nope"`},
		{"help run extra", 2, `run: there is no command "extra"`},
		{"help target shw", 2, `target: there is no command "shw"; did you mean "show"?`},
		{"help --what", 2, "unknown flag"},
		{"completion", 0, "Usage:"},
		{"completion bash", 0, "bash"},
		{"completion foo", 2, `completion: there is no command "foo"`},
		{"completion bash extra", 2, "extra"},
		{"completion bash --what", 2, "unknown flag"},
		{"__complete", 2, ""},

		{"build", 2, "name a file with a program"},
		{"build p.tir", 2, "-o"},
		{"build p.tir -o p.exe", 2, "want a name that ends in .so"},
		{"build p.tir --emit x", 2, "--emit x: want one of tir, c, ll, s"},
		{"build p.tir -o p.so --target nope", 2, "--target: "},
		{"build none.tir -o p.so", 1, "none.tir: no such file or directory"},
		{"build . -o p.so", 1, ".: is a directory"},
		{"build text -o p.so", 1, "text:1:1"},

		{"devices x", 2, "devices: 1 argument instead of 0"},
		{"devices --json=3", 2, "invalid argument"},
		{"doctor x", 2, "doctor: 1 argument instead of 0"},
		{"version x", 2, "version: 1 argument instead of 0"},

		{"diff a", 2, "diff: 1 argument instead of 2"},
		{"diff a b", 1, "tvmgo: diff a: no such file: check the path"},
		{"diff text.so text.so", 1, "tvmgo: diff text.so: not an ELF shared library but text"},
		{"unpack a", 2, "unpack: 1 argument instead of 2"},
		{"unpack a b", 1, "tvmgo: unpack a: no such file: check the path"},
		{"unpack text.so b", 1, "tvmgo: unpack text.so: not an ELF shared library"},
		{"inspect", 2, "inspect: 0 arguments instead of 1"},
		{"inspect a b", 2, "inspect: 2 arguments instead of 1"},
		{"inspect a --timeout 0s", 2, "--timeout 0s: give a time above zero"},
		{"inspect a --timeout 3", 2, "missing unit"},
		{"inspect a", 1, "tvmgo: inspect a: no such file: check the path"},
		{"inspect .", 1, "tvmgo: inspect .: a directory"},

		{"pack", 2, "name at least one file"},
		{"pack k.c --func f()", 2, "-o"},
		{"pack k.c -o k.so", 2, "--func"},
		{"pack k.c --func f() -o k", 2, "want a name that ends in"},
		{"pack k.c --func f( -o k.so", 2, "--func: signature"},
		{"pack k.c --func f() --doc g:x --func g() --target z -o k.so", 1, "k.c: no such file"},
		{"pack k.c --func f() -o k.so", 1, "k.c: no such file"},
		{"pack text --func f() -o k.so", 1, "the suffix"},

		{"run", 2, "run: 0 arguments instead of 1 to 2"},
		{"run a f g", 2, "run: 3 arguments instead of 1 to 2"},
		{"run a", 1, "tvmgo: run a: no such file: check the path"},
		{"run a f --repeat x", 2, "invalid argument"},
		{"run a f --repeat -1", 2, "--repeat -1"},
		{"run a f --out", 2, "flag needs an argument"},
		{"run a f --out x.npy --out y.npy --like float32[1]", 2, "2 --out and 1 --like"},
		{"run a --out x.npy --like float32[1]", 2, "--like: name the function, or leave out --like for a model"},
		{"run a f --out x.npy --like float32[1] --device cpu,cuda", 2, "--device cpu,cuda: a function that writes into "},
		{"run a f --out x.npy --like float32[1] --params w.npz", 2, "--params w.npz: only models have parameters"},
		{"run a --in =x", 2, "--in =x: write NAME=FILE.npy"},
		{"run a --in x=i:y", 2, `--in i:y: "y" is not an integer of 64 bits`},
		{"run a --out y=", 2, "--out y=: write NAME=FILE.npy"},
		{"run a --out y.txt", 2, "--out y.txt: give a .npy file, or one .npz, .safetensors or .params for all results"},
		{"run a --out y.npz --out z.npy", 2, "--out y.npz: it has all results: leave out the other --out"},
		{"run a --out 0=y.npz", 2, "--out 0=y.npz: it has all results: leave out 0="},
		{"run a --device cpu,gpuu", 2, "--device cpu,gpuu: "},
		{"run a f --like float32[1]", 2, "0 --out and 1 --like"},
		{"run a f --out x.npy --like flat32[1]", 2,
			`--like flat32[1]: parse data type "flat32": unknown type name; did you mean "float32"?`},
		{"run a f --out x.npy --like float32[x]", 2, "is not a dimension"},
		{"run a f --in i:x", 2, "not an integer"},
		{"run a f --in i:9223372036854775808", 2, "as uint64 it is i:-9223372036854775808"},
		{"run a f --in o:1", 2, "there are 0 --out"},
		{"run a f --device gpuu", 2, "--device gpuu: "},
		{"run a f", 1, "tvmgo: run a: no such file: check the path"},
		{"run . f", 1, "tvmgo: run .: it is a directory"},
		{"run text f", 1, "tvmgo: load text: not an ELF shared library but text: give the shared library (.so)"},
		{"run text.so f", 1, "text.so"},
		{"run a.so f", 1, "a.so"},
		{"run text f --device metal", 1, "--device metal: "},

		{"target", 0, "Usage:"},
		{"target nope", 2, `target: there is no command "nope"`},
		{"target shw", 2, `did you mean "show"?`},
		{"target help", 2, `target: there is no command "help"`},
		{"target show", 2, "show: 0 arguments instead of 1"},
		{"target show cuda -arch=sm_90", 2, "a target with options is one argument, in quotes"},
		{"target show cuda --json=x", 2, "invalid argument"},
		{"target show nope", 1, "no target kind and no tag"},
		{"target show ./none.json", 1, "there is no such file"},
		{"target show cuda --host nope", 1, "--host: "},
		{"target check nope", 1, "no target kind and no tag"},
		{"target list a b", 2, "list: 2 arguments instead of at most 1"},
		{"target list nope", 1, `no target kind "nope"`},
		{"target schema nope", 1, `no target kind "nope"`},
		{"target tags nope", 1, "no tag has a name that starts with"},

		{"verify", 2, "verify: 0 arguments instead of 1"},
		{"verify a --atol x", 2, "invalid argument"},
		{"verify a --atol -1", 2, "--atol -1"},
		{"verify a --timeout 0s", 2, "--timeout 0s"},
		{"verify a --device gpuu", 2, "--device gpuu: "},
		{"verify a", 1, "tvmgo: verify a: no such file: check the path"},
		{"verify text", 1, "tvmgo: verify text: load text: not an ELF shared library but text"},
		{"verify text.so", 1, "text.so"},
		{describeCommand, 1, "it is started by inspect --load alone"},
		{vectorCommand, 1, "it is started by verify alone"},
	})
	require.Len(t, must.Get(os.ReadDir(dir))(t), 2)
}

// A library needs no suffix: its contents decide.
func TestRun_FileWithoutSuffix(t *testing.T) {
	machine.Need(t, multiC)
	data := must.Get(os.ReadFile(filepath.Join(artifacts, "modern/multi_c.so")))(t)
	for _, name := range []string{"multi", "libmulti.so.1"} {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, data, 0o666))
		status, _, stderr := cli("run", path, "vad")
		require.Equal(t, 1, status)
		require.Contains(t, stderr, `has no function "vad"; did you mean "vadd"?`)
		status, _, stderr = cli("verify", path)
		require.Equal(t, 1, status)
		require.Contains(t, stderr, "it carries no test vectors")
	}
}
