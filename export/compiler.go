package export

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tvmgo/internal/unfinished"
	"tvmgo/runtime"
)

// language of a source, by the compilers that it needs.
type language int

const (
	langC language = iota
	langCXX
	langCUDA
)

var languages = map[string]language{".c": langC, ".cc": langCXX, ".cpp": langCXX, ".cu": langCUDA, ".ll": langC, ".s": langC}

// candidates are searched for in this order; the variable comes first.
var candidates = map[language]struct {
	variable, advice string
	names            []string
}{
	langC: {"CC", "install a C compiler (Debian: apt install gcc libc6-dev; Fedora: dnf install gcc; Alpine: apk add gcc musl-dev), " +
		"or set CC or the option Compiler", []string{"cc", "gcc", "clang"}},
	langCXX: {"CXX", "install a C++ compiler (Debian: apt install g++; Fedora: dnf install gcc-c++; Alpine: apk add g++), " +
		"or set CXX or the option Compiler", []string{"c++", "g++", "clang++"}},
	langCUDA: {"NVCC", "install NVIDIA's CUDA toolkit and put nvcc into PATH, or set NVCC or the option Compiler", []string{"nvcc"}},
}

// toolchain runs the compiler and the tools beside it.
type toolchain struct {
	ctx     context.Context
	command []string // the driver and the arguments that it always gets
	nvcc    bool
	keepDir string // named in errors
	stubs   bool   // it has no libraries of the machine that it links for
	tempDir string // where compilers put what they would leave behind when they are stopped; "" is the system's
}

// findCompiler finds the driver that compiles and links files of a language.
func findCompiler(c *config, lang language) ([]string, error) {
	if len(c.compiler) > 0 {
		path, err := absoluteTool(c.compiler[0])
		if err != nil && len(c.compiler) == 1 && strings.ContainsAny(c.compiler[0], " \t") {
			err = fmt.Errorf("%w: give arguments apart from it, as in Compiler(\"gcc\", \"-O3\")", err)
		}
		if err != nil {
			return nil, fail(runtime.ErrNotFound, "the compiler %q of the option Compiler: %w", c.compiler[0], err)
		}
		return append([]string{path}, c.compiler[1:]...), nil
	}
	from := candidates[lang]
	if words := strings.Fields(os.Getenv(from.variable)); len(words) > 0 {
		path, err := absoluteTool(words[0])
		if err != nil {
			return nil, fail(runtime.ErrNotFound, "the compiler %q of the environment variable %s: %w", words[0], from.variable, err)
		}
		return append([]string{path}, words[1:]...), nil
	}
	for _, name := range from.names {
		if path, err := absoluteTool(name); err == nil {
			return []string{path}, nil
		}
	}
	return nil, fail(runtime.ErrNotFound, "none of %s is in PATH: %s", strings.Join(from.names, ", "), from.advice)
}

// absoluteTool finds a program, so that it can be run in another folder.
func absoluteTool(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// run runs a command in a folder ("" is the current one) and returns what it printed to its standard output.
func (t *toolchain) run(dir string, command ...string) (string, error) {
	cmd := unfinished.Command(t.ctx, command[0], command[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "SOURCE_DATE_EPOCH=0") // nothing that is written may depend on the user's language or the time
	if t.tempDir != "" {
		cmd.Env = append(cmd.Env, "TMPDIR="+t.tempDir)
	}
	var stdout, all bytes.Buffer
	cmd.Stdout = &stdout
	cmd.Stderr = &all
	err := cmd.Run()
	if cause := t.ctx.Err(); cause != nil {
		return "", cause
	}
	if err != nil {
		return "", &CompileError{Command: command, Output: excerpt(all.String() + stdout.String()), Dir: t.keepDir, Err: err}
	}
	return stdout.String(), nil
}

// excerpt is what a compiler said as text: its beginning and its end where it said very much.
func excerpt(said string) string {
	const most = 1 << 15
	if len(said) > 2*most {
		said = fmt.Sprintf("%s\n… %d bytes …\n%s", said[:most], len(said)-2*most, said[len(said)-most:])
	}
	return strings.ReplaceAll(strings.ToValidUTF8(said, "\ufffd"), "\x00", "\ufffd")
}

// compiler runs the driver with more arguments.
func (t *toolchain) compiler(dir string, args ...string) error {
	_, err := t.run(dir, append(append([]string(nil), t.command...), args...)...)
	return err
}

// tool is the path of a program such as ar that belongs to the compiler.
func (t *toolchain) tool(name string) (string, error) {
	if t.nvcc {
		return absoluteTool(name)
	}
	out, err := t.run("", append(append([]string(nil), t.command...), "-print-prog-name="+name)...)
	if err != nil {
		return "", err
	}
	path, err := absoluteTool(strings.TrimSpace(out))
	if err != nil {
		return "", fail(runtime.ErrNotFound, "the compiler's own %s: %w: install binutils", name, err)
	}
	return path, nil
}
