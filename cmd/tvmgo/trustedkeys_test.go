//go:build cgo

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/signing"
)

// The commands that execute code of a file load it only if it is signed, by the flag and by the environment.
func TestTrustedKeys(t *testing.T) {
	file := packBad(t, "good")
	key := signing.NewKey(t)
	keys, others := signing.PublicFile(t, key), signing.PublicFile(t, signing.NewKey(t))
	array := filepath.Join(t.TempDir(), "a.npy")
	commands := map[string]string{
		"run":     "run " + file + " good --out " + array + " --like float32[1]",
		"verify":  "verify " + file,
		"inspect": "inspect --load " + file,
	}
	const bench = "bench" // measures also what limits the function, which takes seconds
	says := func(command, keys, env, text string) {
		t.Helper()
		line := strings.Fields(commands[command])
		if command == bench {
			line = []string{bench, file, "good", "--like", "float32[1]", "--rounds", "3", "--compare", "cpu"}
		}
		if keys != "" {
			line = append(line, "--trusted-keys", keys)
		}
		var variables []string
		if env != "" {
			variables = append(variables, "TVMGO_TRUSTED_KEYS="+env)
		}
		status, stdout, stderr := builtWith(t, ".", variables, line...)
		if text == "" {
			require.Zero(t, status, "%s: %s%s", command, stdout, stderr)
			return
		}
		require.Equal(t, statusFailure, status, "%s: %s", command, stdout)
		require.Contains(t, strings.Join(strings.Fields(stdout+stderr), " "), text, command) // bench wraps lines
	}
	for command := range commands {
		says(command, "", "", "")
		says(command, keys, "", "load "+file+": it is not signed: there is no "+file+".minisig")
		says(command, "", keys, "load "+file+": it is not signed")
		says(command, "none.pub", "", "tvmgo: --trusted-keys: read keys none.pub: no such file or directory: check the path")
	}
	says(bench, keys, "", "load "+file+": it is not signed: there is no "+file+".minisig")
	signing.Sign(t, key, file)
	says(bench, keys, "", "")
	for command := range commands {
		says(command, keys, "", "")
		says(command, "", keys, "")
		says(command, others, "", "load "+file+": it is signed with a key that is not trusted")
	}
	data := must.Get(os.ReadFile(file))(t)
	data[len(data)-1] ^= 1
	require.NoError(t, os.WriteFile(file, data, 0o666))
	for command := range commands {
		says(command, keys, "", "load "+file+": it is not the file that was signed")
	}
	exits(t, []exit{
		{"inspect x.so --trusted-keys " + keys, 2, "--trusted-keys has a meaning with --load alone"},
		{"bench --trusted-keys " + keys, 2, "--trusted-keys is for a function of your own: name its file"},
		{"bench k.c k --trusted-keys " + keys, 2, "k.c is not loaded but compiled here: name a library (.so)"},
	})
}
