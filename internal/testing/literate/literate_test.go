package literate

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

const fences = "# Title\n\nSee [a](other.md#part-two) and `[no](link)`.\n\n```sh\necho outside\n```\n\n## Part, " +
	"one\n\n<!--sh\nx=1\n-->\n\n1. A list:\n\n   ```c main.c\n   int main(void) {\n     return 0;\n   }\n   ```\n\n## " +
	"Part two\n\n```go\na := 1\n```\n"

func TestParse(t *testing.T) {
	d := must.Get(Parse("doc.md", fences))(t)
	require.Equal(t, []Link{{Line: 3, Target: "other.md#part-two"}}, d.Links)
	require.Equal(t, map[string]bool{"title": true, "part-one": true, "part-two": true}, d.Anchors)
	require.Len(t, d.Sections, 3)
	require.Equal(t, []Block{{Line: 6, Lang: "sh", Text: "echo outside\n"}}, d.Sections[0].Blocks)
	require.Equal(t, []Block{
		{Line: 12, Lang: "sh", Text: "x=1\n", Hidden: true},
		{Line: 18, Lang: "c", Word: "main.c", Text: "int main(void) {\n  return 0;\n}\n"},
	}, d.Sections[1].Blocks)
	require.Equal(t, "Part two", d.Sections[2].Title)

	require.EqualError(t, must.Fail(Parse("doc.md", "```sh\necho\n")), "doc.md:1: this block has no end")
}

func TestParse_SameHeadings(t *testing.T) {
	d := must.Get(Parse("doc.md", "## Ein `Go`-Teil!\n## Ein `Go`-Teil!\n"))(t)
	require.Equal(t, map[string]bool{"ein-go-teil": true, "ein-go-teil-1": true}, d.Anchors)
}

func TestCheckLinks(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) *Document {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return must.Get(Read(path))(t)
	}
	b := write("b.md", "## Here\n")
	a := write("a.md", "[x](b.md) [x](b.md#here) [x](#own) [x](https://example.com/#no)\n# "+
		"Own\n[x](c.md)\n[x](b.md#there)\n[x](#absent)\n")
	broken := CheckLinks([]*Document{a, b})
	require.Len(t, broken, 3)
	require.Contains(t, broken[0], "a.md:3: there is no")
	require.Contains(t, broken[1], "b.md has no heading #there")
	require.Contains(t, broken[2], "a.md has no heading #absent")
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		want, got string
		ok        bool
	}{
		{"a\nb", "a\nb\n", true},
		{"a", "a\nb", false},
		{"a …", "a 17 x", true},
		{"a …", "a 17\nx", false},
		{"…\nb", "x\ny\nb", true},
		{"…\nb", "b", true},
		{"a\n…", "a\n1\n2", true},
		{"a\n…\nb", "a\nb", true},
		{"a\n…\nb", "a\n1\nc", false},
		{"(.*)", "x", false},
		{"", "", true},
		{"", "x", false},
	} {
		require.Equal(t, c.ok, matches(c.want, c.got), "%q against %q", c.want, c.got)
	}
}

func TestMissing(t *testing.T) {
	require.Empty(t, missing([]string{"1", "2…"}, "0\n1\nx\n23\n"))
	require.Equal(t, "1", missing([]string{"2", "1"}, "1\n2\n"))
	require.Equal(t, "12", missing([]string{"12"}, "123\n"))
}

// compileAndRun compiles and runs a part of a program that needs no package of the project.
func compileAndRun(t *testing.T, text string) (string, []string, error) {
	t.Helper()
	p := must.Get(goCode("/doc.md", "part0", []Block{{Line: 7, Lang: "go", Text: text}}))(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "part0.go"), []byte(p.code), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(goMain([]*goPart{p})), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/x\n\ngo 1.26\n"), 0o644))
	cmd := exec.Command("go", "run", ".", "part0")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	return string(out), p.wants, err
}

func TestGo_Parts(t *testing.T) {
	out, wants, err := compileAndRun(t, `x, err := strings.CutPrefix("ab", "a") // not printed
unused := 1
fmt.Println(x) // b

type pair struct {
	a, b int
}

func sum(p pair) int {
	return p.a + p.b
}
fmt.Println(sum(pair{1, 2})) // 3
`)
	require.ErrorContains(t, err, "exit status") // err is a bool, and must() wants an error
	require.Contains(t, out, "/doc.md:7")
	require.Equal(t, []string{"b", "3"}, wants)

	out, wants, err = compileAndRun(t, `unused := 1
type pair struct {
	a, b int
}

func sum(p pair) int {
	return p.a + p.b
}
fmt.Println(sum(pair{1, 2})) // 3
`)
	require.NoError(t, err, out)
	require.Equal(t, "3\n", out)
	require.Equal(t, []string{"3"}, wants)
}

func TestGo_ErrorsEndThePart(t *testing.T) {
	out, _, err := compileAndRun(t, "_, err := os.Open(\"/absent\")\nfmt.Println(\"went on\")\n")
	require.Error(t, err)
	require.NotContains(t, out, "went on")
	require.Contains(t, out, "/absent")

	out, _, err = compileAndRun(t, "_, err := os.Open(\"/absent\")\nfmt.Println(err != nil) // true\n")
	require.NoError(t, err, out)

	out, _, err = compileAndRun(t, "_, err := os.Open(\"/absent\")\n_, err = os.Open(\"/\")\nfmt.Println(\"went on\")\n")
	require.Error(t, err, "an error that is overwritten was not looked at")
	require.NotContains(t, out, "went on")
}

func TestNativeCode(t *testing.T) {
	code, wants := nativeCode("doc.md", []Block{
		{Line: 3, Text: "#include <stdio.h>\nint x = 1;\nprintf(\"%d\\n\", x);  // 1\n"}, {Line: 9,
			Text: "puts(\"y\"); /* y */\n"}})
	require.Equal(t, []string{"1", "y"}, wants)
	require.Less(t, strings.Index(code, "#include"), strings.Index(code, "int main"))
	require.Contains(t, code, "#line 9 \"doc.md\"\nputs")
}
