package export_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// compileC compiles a C source with the system's compiler.
func compileC(t testing.TB, source, output string, args ...string) {
	t.Helper()
	compileWith(t, needs(t, "cc", "C is compiled"), source, output, args...)
}

func compileWith(t testing.TB, cc, source, output string, args ...string) {
	t.Helper()
	cmd := exec.Command(cc, append([]string{"-x", "c", "-", "-o", output, "-x", "none"}, args...)...)
	cmd.Stdin = strings.NewReader(source)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func run(t testing.TB, command ...string) []byte {
	t.Helper()
	out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
	require.NoError(t, err, "%s: %s", command, out)
	return out
}

// printed returns the output of a program that is linked with a packed file.
func printed(t *testing.T, file, prefix string, registered bool, size int) []byte {
	t.Helper()
	cc, language, last := "cc", "c", "none"
	if strings.HasSuffix(file, ".cc") {
		cc, language = "c++", "c++"
	}
	symbol := prefix + "__tvm_ffi__library_bin"
	main := filepath.Join(t.TempDir(), "main.c")
	text := fmt.Sprintf("#define SYMBOL %s\n#define STRING \"%s\"\n#define SIZE %d\n#define REGISTERED %d\n", symbol,
		symbol, size,
		map[bool]int{true: 1}[registered]) + printer
	if language == "c++" {
		text = strings.Replace(text, "extern const unsigned char SYMBOL", "extern \"C\" const unsigned char SYMBOL", 1)
	}
	require.NoError(t, os.WriteFile(main, []byte(text), 0o600))
	program := filepath.Join(t.TempDir(), "program")
	run(t, cc, "-Wall", "-Werror", "-x", language, main, "-x", last, file, "-o", program)
	return run(t, program)
}
