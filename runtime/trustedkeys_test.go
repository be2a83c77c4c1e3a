package runtime_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/signaturefile"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/signing"
	"tvmgo/runtime"
	"tvmgo/trust"
)

// TestTrustedKeys runs itself with the variable, whose value the process reads once.
func TestTrustedKeys(t *testing.T) {
	const file, more, without = "TVMGO_TEST_FILE", "TVMGO_TEST_MORE_KEYS", "TVMGO_TEST_NOT_LINKED"
	if path := os.Getenv(file); path != "" {
		if os.Getenv(without) != "" {
			signaturefile.ReadKeys = nil
		}
		outcome := func(m *runtime.Module, err error) {
			if err != nil {
				fmt.Printf("untrusted %t: %v\n", errors.Is(err, runtime.ErrUntrusted), err)
				return
			}
			fmt.Println("loaded")
			m.Close()
		}
		var options []runtime.LoadOption
		if other := os.Getenv(more); other != "" {
			options = append(options, runtime.WithTrust(must.Get(trust.ReadKeys(other))(t)))
		}
		outcome(runtime.Load(ctx, path, options...))
		os.Unsetenv("TVMGO_TRUSTED_KEYS") // too late
		outcome(runtime.LoadFS(ctx, os.DirFS(filepath.Dir(path)), filepath.Base(path), options...))
		if options == nil {
			outcome(runtime.LoadBytes(ctx, readFile(t, path)))
		}
		return
	}
	key, other := signing.NewKey(t), signing.NewKey(t)
	signed, unsigned := copied(t, buildC(t, probeSource)), copied(t, buildC(t, probeSource))
	signing.Sign(t, key, signed)
	keys, others := signing.PublicFile(t, key), signing.PublicFile(t, other)
	empty, folder := filepath.Join(t.TempDir(), "none.pub"), t.TempDir()
	writeFile(t, empty, []byte("# none\n"))
	vars := func(keys string, more ...string) []string { return append(more, "TVMGO_TRUSTED_KEYS="+keys) }
	refused := func(path string) string { return "untrusted true: load " + path + ": " }
	for name, c := range map[string]struct {
		path string
		env  []string
		says []string // what the loads say: of the file, of the file system, and of bytes
	}{
		"signed":   {signed, vars(keys), []string{"loaded", "loaded", "loaded"}},
		"unsigned": {unsigned, vars(keys), []string{refused(unsigned) + "it is not signed", "untrusted true", "loaded"}},
		"other keys": {signed, vars(others),
			[]string{refused(signed) + "it is signed with a key that is not trusted", "untrusted true: ", "loaded"}},
		"empty": {signed, vars(""), []string{refused(signed) + "TVMGO_TRUSTED_KEYS is set to nothing: give it a file or " +
			"a folder of public keys, or unset it", "untrusted true", "loaded"}},
		"absent": {signed, vars("/none"), []string{refused(signed) + "TVMGO_TRUSTED_KEYS: read keys /none: no such file " +
			"or directory: check the path", "untrusted true", "loaded"}},
		"no keys": {signed, vars(empty), []string{refused(signed) + "TVMGO_TRUSTED_KEYS: read keys " + empty +
			": it has no key", "untrusted true", "loaded"}},
		"empty folder": {signed, vars(folder), []string{refused(signed) + "TVMGO_TRUSTED_KEYS: read keys " + folder +
			": no file of this folder", "untrusted true", "loaded"}},
		"without package trust": {signed, vars(keys, without+"=1"), []string{refused(signed) + "TVMGO_TRUSTED_KEYS is set" +
			", and this program has no code that checks signatures: import tvmgo/trust", "untrusted true", "loaded"}},
		"both":                 {signed, vars(keys, more+"="+keys), []string{"loaded", "loaded"}},
		"that of the program":  {signed, vars(keys, more+"="+others), []string{"untrusted true", "untrusted true"}},
		"that of the variable": {signed, vars(others, more+"="+keys), []string{"untrusted true", "untrusted true"}},
		"unset":                {unsigned, nil, []string{"loaded", "loaded", "loaded"}},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestTrustedKeys$")
			cmd.Env = append(os.Environ(), append(c.env, file+"="+c.path, workVariable+"="+work)...)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			lines := strings.Split(string(out), "\n")
			for i, says := range c.says {
				require.True(t, strings.HasPrefix(lines[i], says), "%d: %s", i, out)
			}
		})
	}
}
