package literate

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// Runner runs documents.
type Runner struct {
	Root string   // the source tree: each document's directory links to its entries, and TVMGO has its path
	Dist string   // the output of make
	Tags string   // build tags for Go
	Env  []string // more environment variables

	program string
	parts   map[*Section]*goPart
}

// Run runs each document as a subtest. The Go code of all documents is one program, compiled once.
func (r *Runner) Run(t *testing.T, docs []*Document) {
	t.Helper()
	r.compile(t, docs)
	for _, d := range docs {
		t.Run(d.Path, func(t *testing.T) {
			t.Parallel()
			s := r.session(t, d)
			for i := range d.Sections {
				s.section(&d.Sections[i])
			}
		})
	}
}

// ofLang returns the parts of a section's program in a language: the blocks that are not files.
func (s *Section) ofLang(lang string) (list []Block) {
	for _, b := range s.Blocks {
		if b.Lang == lang && b.Word == "" {
			list = append(list, b)
		}
	}
	return list
}

// compile builds the program of all documents in a Go workspace, like a program outside of the source tree.
func (r *Runner) compile(t *testing.T, docs []*Document) {
	t.Helper()
	dir := t.TempDir()
	r.program = filepath.Join(dir, "snippets")
	r.parts = map[*Section]*goPart{}
	var all []*goPart
	for _, d := range docs {
		for i := range d.Sections {
			s := &d.Sections[i]
			blocks := s.ofLang("go")
			if len(blocks) == 0 {
				continue
			}
			path := must.Get(filepath.Abs(d.Path))(t)
			p, err := goCode(path, fmt.Sprintf("part%d", len(all)), blocks)
			require.NoError(t, err, "%s, section %q", d.Path, s.Title)
			all = append(all, p)
			r.parts[s] = p
			require.NoError(t, os.WriteFile(filepath.Join(dir, p.name+".go"), []byte(p.code), 0o644))
		}
	}
	if len(all) == 0 {
		return
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(goMain(all)), 0o644))
	for _, args := range [][]string{
		{"mod", "init", "example.com/snippets"}, {"work", "init", ".", r.Root}, {"build", "-tags", r.Tags, "-o",
			r.program, "."},
	} {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=", "PWD="+dir)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "go %s: %s", strings.Join(args, " "), out)
	}
}

// session is the state of a document while it runs.
type session struct {
	*Runner
	t   *testing.T
	doc *Document
	dir string // the document's scratch files
	own string // the runner's files: the shell's state, programs
}

func (r *Runner) session(t *testing.T, d *Document) *session {
	s := &session{Runner: r, t: t, doc: d, dir: t.TempDir(), own: t.TempDir()}
	entries := must.Get(os.ReadDir(r.Root))(t)
	for _, e := range entries {
		if e.Name() == ".git" || e.Name() == "dist" {
			continue
		}
		require.NoError(t, os.Symlink(filepath.Join(r.Root, e.Name()), filepath.Join(s.dir, e.Name())))
	}
	require.NoError(t, os.Symlink(r.Dist, filepath.Join(s.dir, "dist")))
	// make only prints its commands: a document's line is checked for the existence of its targets.
	s.write(filepath.Join(s.own, "bin", "make"), "#!/bin/sh\nexec "+s.find("make")+` -n -C "$TVMGO" "$@" >/dev/null`+"\n")
	s.write(filepath.Join(s.own, "bin", "go"), strings.NewReplacer("@GO@", s.find("go"), "@SCRATCH@", s.dir, "@OWN@",
		s.own).Replace(goWrapper))
	return s
}

// goWrapper replaces the command go in a document's shell. In the scratch directory, it compiles packages at their
// original paths in the source tree: in a tree of links they would be other packages to Go's cache, and compiled again
// for each document.
const goWrapper = `#!/bin/sh
set -e
if [ "$PWD" != '@SCRATCH@' ]; then exec @GO@ "$@"; fi
case ${1-} in run|build) ;; *) exec @GO@ "$@" ;; esac
command=$1
shift
output='@SCRATCH@/'
if [ "$command" = run ]; then output='@OWN@/ran'; fi
flags=
while [ $# -gt 0 ]; do
  case $1 in
    -o) shift; case $1 in /*) output=$1 ;; *) output=@SCRATCH@/$1 ;; esac ;;
    -tags) flags="$flags -tags $2"; shift ;;
    -*) flags="$flags $1" ;;
    *) break ;;
  esac
  shift
done
package=$1
shift
@GO@ build -C "$TVMGO" $flags -o "$output" "$package"
if [ "$command" = run ]; then exec "$output" "$@"; fi
`

func (s *session) find(command string) string {
	path, err := exec.LookPath(command)
	require.NoError(s.t, err)
	return path
}

func (s *session) write(path, text string) {
	require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(s.t, os.WriteFile(path, []byte(text), 0o755))
}

func (s *session) section(section *Section) {
	last := map[string]int{}
	for i, b := range section.Blocks {
		if b.Word == "" {
			last[b.Lang] = i
		}
	}
	for i, b := range section.Blocks {
		where := fmt.Sprintf("%s:%d", s.doc.Path, b.Line)
		switch {
		case b.Lang == "text" || b.Lang == "mermaid":
		case b.Lang == "sh" && (b.Word == "norun" || b.Word == "long" && os.Getenv("TVMGO_TEST_ALL") == ""):
			out, err := s.command("sh", "-n", "-c", b.Text).CombinedOutput()
			require.NoError(s.t, err, "%s: %s", where, out)
		case b.Word != "" && b.Word != "long":
			s.write(filepath.Join(s.dir, b.Word), b.Text)
		case b.Lang == "sh":
			out, err := s.shell("set -e\n" + b.Text)
			require.NoError(s.t, err, "%s: %s", where, out)
		case b.Lang == "console":
			s.console(where, b.Text)
		case b.Lang == "tir":
			m, err := text.Parse(b.Text)
			require.NoError(s.t, err, where)
			require.NoError(s.t, tir.Check(m), where)
		case b.Lang == "json":
			require.True(s.t, json.Valid([]byte(b.Text)), where)
		case b.Lang == "go":
			if last["go"] == i {
				p := s.parts[section]
				s.runProgram(where, p.wants, s.program, p.name)
			}
		case b.Lang == "c" || b.Lang == "cpp":
			if last[b.Lang] == i {
				s.native(where, b.Lang, section.ofLang(b.Lang))
			}
		default:
			require.Fail(s.t, where+": no such kind of block: "+b.Lang)
		}
	}
}

// absent is what a part of a program prints before it ends early because a device is missing.
var absent = regexp.MustCompile(`(?m)^no .* device here$`)

// runProgram runs a program in the shell's directory and with its variables, and checks its output.
func (s *session) runProgram(where string, wants []string, args ...string) {
	out, err := s.shell("'" + strings.Join(args, "' '") + "'")
	require.NoError(s.t, err, "%s: %s", where, out)
	if m := absent.FindString(out); m != "" && os.Getenv("CI") == "" {
		s.t.Logf("%s: %s: its output is not compared", where, m)
		return
	}
	require.Empty(s.t, missing(wants, out), "%s: not printed, or not in this order; the output is\n%s", where, out)
}

func (s *session) native(where, lang string, blocks []Block) {
	code, wants := nativeCode(s.doc.Path, blocks)
	program := filepath.Join(s.own, "program")
	file := program + "." + lang
	s.write(file, code)
	compiler := map[string][]string{"c": {"cc", "-std=c11"}, "cpp": {"c++", "-std=c++17"}}[lang]
	args := append(compiler[1:], "-Wall", "-Wextra", "-Werror", "-Wno-unused", file, "-o", program,
		"-I"+filepath.Join(s.Dist, "include"),
		"-L"+filepath.Join(s.Dist, "lib"), "-Wl,-rpath,"+filepath.Join(s.Dist, "lib"), "-ltvmgo", "-lm")
	out, err := s.command(compiler[0], args...).CombinedOutput()
	require.NoError(s.t, err, "%s: %s", where, out)
	s.runProgram(where, wants, program)
}

// console runs each command after "$ ", and compares its output with the lines below it.
func (s *session) console(where, text string) {
	var command, want string
	run := func() {
		if command == "" {
			return
		}
		out, _ := s.shell("{ " + command + "\n} 2>&1")
		require.True(s.t, matches(want, out), "%s: %s\nprints\n%s\nbut the document says\n%s", where, command, out, want)
	}
	more := false
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		switch {
		case more:
			command += "\n" + line
		case strings.HasPrefix(line, "$ "):
			run()
			command, want = line[2:], ""
		default:
			want += line + "\n"
			continue
		}
		more = strings.HasSuffix(line, `\`)
	}
	run()
}

// shell runs a script in the document's shell: variables and the working directory persist.
func (s *session) shell(script string) (string, error) {
	state := filepath.Join(s.own, "state")
	if _, err := os.Stat(state); err != nil {
		s.write(state, "")
	}
	keep := fmt.Sprintf("\nstatus=$?\nexport -p >'%s'\necho \"cd '$PWD'\" >>'%s'\nexit $status\n", state, state)
	out, err := s.command("sh", "-c", "set -a\n. '"+state+"'\n"+script+keep).CombinedOutput()
	return string(out), err
}

func (s *session) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.t.Context(), name, args...)
	cmd.Dir = s.dir
	lib := filepath.Join(s.Dist, "lib")
	// as build/env -w sets it
	cmd.Env = append(os.Environ(), "PWD="+s.dir, "TVMGO="+s.Root, "HOME="+s.own, "GOFLAGS=-tags="+s.Tags,
		"PATH="+filepath.Join(s.own, "bin")+":"+filepath.Join(s.Dist, "bin")+":"+os.Getenv("PATH"),
		"GOCACHE="+goEnv("GOCACHE"), "GOMODCACHE="+goEnv("GOMODCACHE"), "GOPATH="+goEnv("GOPATH"),
		"PKG_CONFIG_PATH="+filepath.Join(lib, "pkgconfig"), "LD_LIBRARY_PATH="+lib)
	cmd.Env = append(cmd.Env, s.Env...)
	return cmd
}
