package nvrtctest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Loop is a loop without another loop inside, in the machine code of a kernel.
type Loop []string // the names of its instructions, with their suffixes: "FFMA", "LDS.128"

// Count returns how many instructions of a name the loop has, with any suffixes.
func (l Loop) Count(name string) (n int) {
	for _, i := range l {
		if i == name || strings.HasPrefix(i, name+".") {
			n++
		}
	}
	return n
}

// Disassemble returns the machine code of a cubin as text. If there is no nvdisasm, the test is skipped; on CI it
// fails.
func Disassemble(t testing.TB, cubin []byte) string {
	t.Helper()
	tool := program(t, "nvdisasm")
	path := filepath.Join(t.TempDir(), "k.cubin")
	require.NoError(t, os.WriteFile(path, cubin, 0o600))
	out, err := exec.Command(tool, "-c", path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

var (
	label       = regexp.MustCompile(`^(\.L_x_\d+):$`)
	instruction = regexp.MustCompile(`^/\*[0-9a-f]{4,}\*/ +(?:@!?U?P\w+ +)?([A-Z][A-Z0-9_.]*)`)
	branch      = regexp.MustCompile("BRA[A-Z.]* .*`\\((\\.L_x_\\d+)\\)")
)

// InnermostLoops returns the loops of the machine code that have no loop inside. The branch that a kernel ends with,
// which jumps to itself, is none.
func InnermostLoops(sass string) (loops []Loop) {
	var code []string
	at := map[string]int{} // the number of the instruction behind a label
	type edge struct{ from, to int }
	var back []edge
	for line := range strings.Lines(sass) {
		line = strings.TrimSpace(line)
		if m := label.FindStringSubmatch(line); m != nil {
			at[m[1]] = len(code)
		}
		m := instruction.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if b := branch.FindStringSubmatch(line); b != nil {
			if to, before := at[b[1]]; before && to < len(code) {
				back = append(back, edge{len(code), to})
			}
		}
		code = append(code, m[1])
	}
	for _, e := range back {
		inner := false
		for _, other := range back {
			inner = inner || other != e && other.to >= e.to && other.from <= e.from
		}
		if !inner {
			loops = append(loops, code[e.to:e.from+1])
		}
	}
	return loops
}
