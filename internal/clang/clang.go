// Package clang finds LLVM's C compiler and runs it.
//
// It uses the program that TVMGO_CLANG names, or else clang in PATH, or else the newest clang-N there.
package clang

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"tvmgo/internal/unfinished"
)

// Variable is the environment variable that names the compiler, with optional arguments.
const Variable = "TVMGO_CLANG"

// Oldest is the oldest supported version, and newest the highest N for which clang-N is searched.
const (
	Oldest = 11
	newest = 29
)

// Advice says how to install or select a compiler.
const Advice = "install it (Debian: apt install clang; Fedora: dnf install clang; Alpine: apk add clang), or " +
	"name one by " + Variable

// ErrMissing is wrapped by errors that mean that there is no usable clang.
var ErrMissing = errors.New("no usable clang")

// Clang is an installed compiler.
type Clang struct {
	Path    string
	Args    []string // passed in every call
	Version string   // 14.0.6
	id      string
}

// ID identifies the compiler. It changes with every update of the compiler.
func (c *Clang) ID() string { return c.id }

// String describes the compiler for messages.
func (c *Clang) String() string { return fmt.Sprintf("clang %s (%s)", c.Version, c.Path) }

// Command returns the command line of the compiler with more arguments.
func (c *Clang) Command(args ...string) []string {
	return append(append([]string{c.Path}, c.Args...), args...)
}

// found caches compilers by what identifies them.
var found sync.Map

// Find returns the compiler. The error wraps ErrMissing, and says what to do.
func Find(ctx context.Context) (*Clang, error) {
	command, from, err := search()
	if err != nil {
		return nil, missing("%w", err)
	}
	info, err := os.Stat(command[0])
	if err != nil {
		return nil, missing("%w: %s", err, Advice)
	}
	real, err := filepath.EvalSymlinks(command[0])
	if err != nil {
		real = command[0]
	}
	id := fmt.Sprintf("%q %s %d %d", command, real, info.Size(), info.ModTime().UnixNano())
	if known, ok := found.Load(id); ok {
		return known.(*Clang), nil
	}
	c := &Clang{Path: command[0], Args: command[1:]}
	said, _, err := c.Run(ctx, nil, "--version")
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, missing("%s%s does not work: %w: %s", command[0], from, err, Advice)
	}
	version := versionPattern.FindStringSubmatch(string(said))
	if version == nil {
		first, _, _ := strings.Cut(string(said), "\n")
		return nil, missing("%s%s is not clang: its version is %q: %s", command[0], from, first, Advice)
	}
	c.Version = version[1]
	if major, err := strconv.Atoi(version[2]); err != nil || major < Oldest {
		return nil, missing("%s%s is clang %s, which is too old: want %d or newer: %s", command[0], from, c.Version,
			Oldest, Advice)
	}
	c.id = id + " " + c.Version
	found.Store(id, c)
	return c, nil
}

var versionPattern = regexp.MustCompile(`clang version (([0-9]+)[0-9.]*)`)

func missing(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrMissing, fmt.Errorf(format, args...))
}

// search returns the command, and says where its name comes from unless that is PATH.
func search() (command []string, from string, err error) {
	if words := strings.Fields(os.Getenv(Variable)); len(words) > 0 {
		from = fmt.Sprintf(" (named by %s)", Variable)
		path, err := lookup(words[0])
		if err != nil {
			return nil, "", fmt.Errorf("%s names %q: %w: %s", Variable, words[0], err, Advice)
		}
		return append([]string{path}, words[1:]...), from, nil
	}
	if path, err := lookup("clang"); err == nil {
		return []string{path}, "", nil
	}
	for v := newest; v >= Oldest; v-- {
		if path, err := lookup(fmt.Sprintf("clang-%d", v)); err == nil {
			return []string{path}, "", nil
		}
	}
	return nil, "", fmt.Errorf("there is no clang in PATH: %s", Advice)
}

func lookup(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// RunError describes a failed run.
type RunError struct {
	Command []string
	Said    string // its standard error
	Err     error
}

func (e *RunError) Error() string {
	text := fmt.Sprintf("%s: %v", strings.Join(e.Command, " "), e.Err)
	if said := strings.TrimSpace(e.Said); said != "" {
		text += "\n" + said
	}
	return text
}

// Unwrap returns the error with which the command ended.
func (e *RunError) Unwrap() error { return e.Err }

// stopped is canceled by StopAll.
var stopped, stop = context.WithCancel(context.Background())

// StopAll ends all current and future runs: for a process that was interrupted.
func StopAll() { stop() }

// Run runs the compiler and returns its standard output and standard error. An error is a *RunError unless ctx ended.
func (c *Clang) Run(ctx context.Context, stdin []byte, args ...string) (stdout, stderr []byte, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(stopped, cancel)()
	command := c.Command(args...)
	cmd := unfinished.Command(ctx, command[0], command[1:]...)
	// the output must depend neither on the language nor on the time
	cmd.Env = append(os.Environ(), "LC_ALL=C", "SOURCE_DATE_EPOCH=0")
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &out, &said
	err = cmd.Run()
	if cause := ctx.Err(); cause != nil {
		return nil, nil, cause
	}
	if err != nil {
		return nil, said.Bytes(), &RunError{Command: command, Said: said.String() + printed(out.Bytes()), Err: err}
	}
	return out.Bytes(), said.Bytes(), nil
}

// printed returns the standard output of a failed run if it is readable text.
func printed(out []byte) string {
	if len(out) > 1<<12 || bytes.IndexByte(out, 0) >= 0 {
		return ""
	}
	return string(out)
}
