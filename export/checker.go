package export

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"tvmgo/internal/diskcache"
	"tvmgo/runtime"
)

// checker is the program that loads a library in a separate process. It is compiled at the same time as the library.
type checker struct {
	tools   *toolchain
	program string
	cancel  context.CancelFunc
	ready   chan error
}

var (
	//go:embed checker/checker.c
	checkerSource []byte
	//go:embed checker/runtime_symbols.h
	runtimeSymbols []byte
	// checkers holds the programs that this process has compiled, a few kilobytes each, by compiler.
	checkers sync.Map
)

// checkerDir is the program's folder below that of the sources.
const checkerDir = "checker"

func startChecker(tools *toolchain, dir string) *checker {
	ctx, cancel := context.WithCancel(tools.ctx)
	own := *tools
	own.ctx = ctx
	c := &checker{tools: &own, program: filepath.Join(dir, checkerDir, "checker"), cancel: cancel,
		ready: make(chan error, 1)}
	go func() { c.ready <- c.make(filepath.Join(dir, checkerDir)) }()
	return c
}

func (c *checker) make(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	key := quoted(c.tools.command)
	if known, found := checkers.Load(key); found {
		return os.WriteFile(c.program, known.([]byte), 0o777)
	}
	stored := c.tools.checkerKey()
	program := []byte(nil)
	if stored != "" {
		program = objectCache.Read(stored)
	}
	if program != nil {
		checkers.Store(key, program)
		return os.WriteFile(c.program, program, 0o777)
	}
	if err := c.compile(dir); err != nil {
		return err
	}
	program, err := os.ReadFile(c.program)
	if err != nil {
		return err
	}
	if checkers.Store(key, program); stored != "" {
		_ = objectCache.Write(stored, program) // the cache only makes the next build faster
	}
	return nil
}

// checkerKey returns the key of the compiled program; "" if it depends on what is not known.
func (t *toolchain) checkerKey() string {
	id := t.identify()
	if id == "" || t.nvcc || slices.ContainsFunc(t.command[1:], func(a string) bool { return !knownFlag(a) }) {
		return ""
	}
	return diskcache.Key("checker", id, string(checkerSource), string(runtimeSymbols))
}

func (c *checker) compile(dir string) error {
	for name, text := range map[string][]byte{"checker.c": checkerSource, "runtime_symbols.h": runtimeSymbols} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			return err
		}
	}
	args := []string{"-w", "-x", "c", "checker.c", "-Wl,--export-dynamic"} // -x: a C++ compiler would take it for C++
	if c.tools.nvcc {
		args = []string{"checker.c", "-Xlinker=--export-dynamic"}
	}
	return c.tools.compiler(dir, append(args, "-o", c.program, "-ldl")...)
}

// stop cancels the compilation and waits for its end, so that the folder can be removed.
func (c *checker) stop() {
	c.cancel()
	<-c.ready
}

// load loads the library at path in the child. Messages use the library's final name.
func (c *checker) load(path, name string, symbols []string) error {
	err := <-c.ready
	close(c.ready)
	if err != nil {
		return fmt.Errorf("the program that proves that the library loads could not be built (the option StaticCheck does "+
			"without): %w", err)
	}
	command := append([]string{c.program, path}, symbols...)
	out, err := c.run(command)
	var failed *CompileError
	var ended *exec.ExitError
	switch {
	case err == nil && strings.HasSuffix(out, "loaded\n"):
		return nil
	case err == nil:
		failed = &CompileError{Command: command, Dir: c.tools.keepDir, Output: out,
			Err: errors.New("a constructor ended the process")}
	case !errors.As(err, &failed):
		return err
	case !errors.As(failed.Err, &ended): // the program did not start
		return fmt.Errorf("the program that proves that the library loads cannot be run in %s: %w: set TMPDIR to a folder "+
			"in which programs "+
			"may be run, or use the option StaticCheck", filepath.Dir(c.program), failed.Err)
	}
	said := strings.ReplaceAll(strings.TrimSpace(failed.Output), path, name)
	if said == "" {
		said = failed.Err.Error()
	}
	return &CompileError{Command: failed.Command, Dir: failed.Dir, Output: said,
		Err: runtime.Errorf(runtime.ErrFailed, "the library was built, but a child "+
			"process could not load it: give what is missing as Libraries or Objects, or if only this machine lacks it, use "+
			"StaticCheck")}
}

// run starts the program. It retries while another process, forked by this one, still holds the file open for writing.
func (c *checker) run(command []string) (string, error) {
	const tries = 100
	for try := 0; ; try++ {
		out, err := c.tools.run("", command...)
		if !errors.Is(err, syscall.ETXTBSY) || try == tries {
			return out, err
		}
		time.Sleep(time.Millisecond << min(try, 6))
	}
}
