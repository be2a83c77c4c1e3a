// Command env runs the go command with the flags of the C compiler that the bindings of drivers need: the path of their
// headers, which this module contains, and -fsigned-char.
//
//	go run tvmgo/build/env -- build -tags cuda,opencl ./...   runs "go build -tags cuda,opencl ./..."
//	go run tvmgo/build/env -w                                 stores the flags for every go command (go env -w)
//	go run tvmgo/build/env                                    prints a line that sets them in a shell
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

const usage = "usage: env [-w | -- GO-ARGUMENT…]"

func main() {
	err := run(os.Args[1:], os.Stdout)
	var child *exec.ExitError
	if errors.As(err, &child) { // the command has printed the reason
		os.Exit(child.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "env:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	mode := ""
	if len(args) > 0 {
		mode = args[0]
	}
	if (mode != "" && mode != "-w" && mode != "--") || (mode == "-w" && len(args) > 1) ||
		(mode == "--" && len(args) == 1) {
		return errors.New(usage)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("find a place for the headers: %w", err)
	}
	dir, err := writeHeaders(cache)
	if err != nil {
		return err
	}
	old, err := exec.Command("go", "env", "CGO_CFLAGS").Output()
	if err != nil {
		return fmt.Errorf("ask go for CGO_CFLAGS: %w", err)
	}
	flags := withHeaders(strings.TrimSpace(string(old)), dir)
	switch mode {
	case "-w":
		return goCommand(nil, out, "env", "-w", "CGO_CFLAGS="+flags)
	case "--":
		return goCommand([]string{"CGO_CFLAGS=" + flags}, out, args[1:]...)
	default:
		_, err := fmt.Fprintf(out, "export CGO_CFLAGS=%s\n", shellQuote(flags))
		return err
	}
}

func goCommand(env []string, out io.Writer, args ...string) error {
	c := exec.Command("go", args...)
	c.Env = append(os.Environ(), env...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, out, os.Stderr
	return c.Run()
}

// shellQuote quotes a text as one word of a POSIX shell.
func shellQuote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
