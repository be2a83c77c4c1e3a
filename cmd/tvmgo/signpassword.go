package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"tvmgo/internal/atomicfile"
)

// newPassword asks for a password twice, unless a file has it.
func (f *signFlags) newPassword(cmd *cobra.Command) (string, error) {
	password, err := f.password(cmd, "password for "+f.generate+".key")
	if err != nil {
		return "", fmt.Errorf("sign: %w, or make a key without one (--no-password)", err)
	}
	if f.passwordFile != "" {
		return password, nil
	}
	again, err := f.password(cmd, "the same again")
	if err != nil {
		return "", err
	}
	if password != again {
		return "", errors.New("sign: the two passwords differ: try again")
	}
	return password, nil
}

// password reads a password from the file that the flag names, or else from the terminal.
func (f *signFlags) password(cmd *cobra.Command, prompt string) (string, error) {
	if f.passwordFile == "" {
		return askPassword(cmd.Context(), os.Stdin, cmd.ErrOrStderr(), prompt)
	}
	var password string
	err := foreign(cmd.Context(), func() error { // it may be a pipe
		text, err := os.ReadFile(f.passwordFile)
		line, _, _ := strings.Cut(string(text), "\n")
		password = strings.TrimSuffix(line, "\r")
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read password %s: %w", f.passwordFile, atomicfile.Cause(err))
	}
	if password == "" {
		return "", fmt.Errorf("read password %s: its first line is empty: write the password there", f.passwordFile)
	}
	return password, nil
}

// askPassword reads a password from a terminal, which does not show it.
func askPassword(ctx context.Context, in *os.File, out io.Writer, prompt string) (string, error) {
	fd := int(in.Fd())
	if !term.IsTerminal(fd) {
		return "", errors.New("standard input is no terminal: give the password in a file (--password-file)")
	}
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("read password: %w", err)
	}
	fmt.Fprintf(out, "%s: ", prompt)
	type line struct {
		text []byte
		err  error
	}
	read := make(chan line, 1)
	go func() { // after a signal it waits until the process ends
		text, err := term.ReadPassword(fd)
		read <- line{text, err}
	}()
	var got line
	select {
	case got = <-read:
	case <-ctx.Done():
		got.err = errors.Join(context.Cause(ctx), term.Restore(fd, before))
	}
	fmt.Fprintln(out) // the terminal has not shown the end of the line either
	switch {
	case got.err != nil:
		return "", fmt.Errorf("read password: %w", got.err)
	case len(got.text) == 0:
		return "", errors.New("the password is empty: type one")
	}
	return string(got.text), nil
}
