package export

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"

	"tvmgo/internal/cc"
	"tvmgo/internal/unfinished"
	"tvmgo/runtime"
)

// toolchain runs the compiler and the tools beside it.
type toolchain struct {
	ctx     context.Context
	command []string // the driver and the arguments that it always gets
	nvcc    bool
	keepDir string // named in errors
	stubs   bool   // it has no libraries of the machine that it links for
	tempDir string // of the compilers' temporary files, which a stopped compiler leaves behind; "": the system's
}

// findCompiler finds the compiler driver for a language.
func findCompiler(c *config, lang cc.Language) ([]string, error) {
	if len(c.compiler) > 0 {
		path, err := cc.Tool(c.compiler[0])
		if err != nil && len(c.compiler) == 1 && strings.ContainsAny(c.compiler[0], " \t") {
			err = fmt.Errorf("%w: give arguments apart from it, as in Compiler(\"gcc\", \"-O3\")", err)
		}
		if err != nil {
			return nil, runtime.Errorf(runtime.ErrNotFound, "the compiler %q of the option Compiler: %w", c.compiler[0], err)
		}
		return append([]string{path}, c.compiler[1:]...), nil
	}
	command, err := cc.Find(lang, " or the option Compiler")
	if err != nil {
		return nil, runtime.Errorf(runtime.ErrNotFound, "%w", err)
	}
	return command, nil
}

// run runs a command in a folder ("" is the current one) and returns what it printed to its standard output.
func (t *toolchain) run(dir string, command ...string) (string, error) {
	cmd := unfinished.Command(t.ctx, command[0], command[1:]...)
	cmd.Dir = dir
	// the output must not depend on the user's language or the time
	cmd.Env = append(os.Environ(), "LC_ALL=C", "SOURCE_DATE_EPOCH=0")
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
		return "", &CompileError{Command: command, Output: cc.Excerpt(all.String() + stdout.String()), Dir: t.keepDir,
			Err: err}
	}
	return stdout.String(), nil
}

// compiler runs the driver with more arguments.
func (t *toolchain) compiler(dir string, args ...string) error {
	_, err := t.run(dir, append(append([]string(nil), t.command...), args...)...)
	return err
}

// tool returns the path of a program, such as ar, that belongs to the compiler.
func (t *toolchain) tool(name string) (string, error) {
	if t.nvcc {
		return cc.Tool(name)
	}
	out, err := t.run("", append(append([]string(nil), t.command...), "-print-prog-name="+name)...)
	if err != nil {
		return "", err
	}
	path, err := cc.Tool(strings.TrimSpace(out))
	if err != nil {
		return "", runtime.Errorf(runtime.ErrNotFound, "the compiler's own %s: %w: install binutils", name, err)
	}
	return path, nil
}
