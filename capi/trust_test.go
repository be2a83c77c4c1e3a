package main_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/signing"
)

// C programs check signatures if the environment names keys, with both libraries and by both ABIs.
func TestTrustedKeys(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	key := signing.NewKey(t)
	keys, others := signing.PublicFile(t, key), signing.PublicFile(t, signing.NewKey(t))
	dir := t.TempDir()
	files := map[string]string{}
	for _, name := range []string{"signed", "unsigned", "changed"} {
		files[name] = filepath.Join(dir, name+".so")
		data := must.Get(os.ReadFile(l.classic("addone_llvm")))(t)
		require.NoError(t, os.WriteFile(files[name], data, 0o666))
		if name != "unsigned" {
			signing.Sign(t, key, files[name])
		}
		if name == "changed" {
			data[len(data)/2] ^= 1
			require.NoError(t, os.WriteFile(files[name], data, 0o666))
		}
	}
	for program, library := range map[string]string{"trust_test": "-ltvmgo", "trust_runtime_test": "-ltvmgo_runtime"} {
		program = l.compile(t, program, "trust_test.c", "-L"+l.path("lib"), library, "-Wl,-rpath,"+l.path("lib"))
		for _, c := range []struct{ file, keys, says string }{
			{"signed", keys, ""},
			{"unsigned", keys, "it is not signed: there is no " + files["unsigned"] + ".minisig"},
			{"changed", keys, "it is not the file that was signed with key " + key.Public().IDs()[0]},
			{"signed", others, "it is signed with a key that is not trusted"},
			{"signed", dir, "read keys " + dir + ": no file of this folder has a name that ends in .pub"},
			{"signed", dir + "/none", "TVMGO_TRUSTED_KEYS: read keys " + dir + "/none: no such file or directory"},
			{"signed", "", "TVMGO_TRUSTED_KEYS is set to nothing"},
		} {
			for _, env := range [][]string{nil, {"LD_BIND_NOW=1"}} {
				l.runOK(t, append(env, "TVMGO_TRUSTED_KEYS="+c.keys), program, files[c.file], c.says)
			}
			l.runOK(t, nil, program, files[c.file], c.says, c.keys)
		}
		l.runOK(t, nil, program, files["unsigned"], "")
	}
}
