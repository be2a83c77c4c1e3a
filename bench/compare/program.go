package main

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
)

// program is a process of bench/program, which measures rows of one library on request.
type program struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startProgram(path string, args ...string) (*program, error) {
	cmd := command(path, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &program{cmd: cmd, in: in, out: bufio.NewReader(out)}, nil
}

// sample measures a row in nanoseconds per operation.
func (s *program) sample(row string) (float64, error) {
	if _, err := fmt.Fprintln(s.in, row); err != nil {
		return 0, fmt.Errorf("%s: row %s: %w", s.cmd.Path, row, err)
	}
	line, err := s.out.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("%s: row %s: %w", s.cmd.Path, row, err)
	}
	return strconv.ParseFloat(strings.TrimSpace(line), 64)
}

func (s *program) close() error {
	s.in.Close()
	return s.cmd.Wait()
}
