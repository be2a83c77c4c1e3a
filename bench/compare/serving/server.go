package serving

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// A Server is a process that listens.
type Server struct {
	Address string
	cmd     *exec.Cmd
	in      io.Closer
}

// listening begins the line in which a process prints its address, as tvmgo serve does.
const listening = "HTTP on "

// Start starts a command that prints where it listens. It ends by [Server.Close].
func Start(cmd *exec.Cmd) (*Server, error) {
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
	s := &Server{cmd: cmd, in: in}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if at, is := strings.CutPrefix(lines.Text(), listening); is {
			s.Address = at
			return s, nil
		}
	}
	return nil, fmt.Errorf("%s does not listen: %w", cmd, cmd.Wait())
}

// Close ends the process: its standard input is closed, and it gets SIGTERM.
func (s *Server) Close() error {
	s.in.Close()
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended for its input
	_, err := s.cmd.Process.Wait()
	return err
}

// Same answers every request with the same bytes, by package net/http, after it has read the request's body. It prints
// its address, and returns when the standard input ends.
func Same(answer []byte) error {
	return untilInputEnds(func(l net.Listener) error {
		return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/octet-stream")
			_, _ = w.Write(answer)
		}))
	})
}

// Echo sends back what comes on its connections, in pieces of size bytes. It prints its address, and returns when the
// standard input ends.
func Echo(size int) error {
	return untilInputEnds(func(l net.Listener) error {
		for {
			c, err := l.Accept()
			if err != nil {
				return err
			}
			go echo(c, size)
		}
	})
}

func echo(c net.Conn, size int) {
	defer c.Close()
	piece := make([]byte, size)
	for {
		if _, err := io.ReadFull(c, piece); err != nil {
			return
		}
		if _, err := c.Write(piece); err != nil {
			return
		}
	}
}

// untilInputEnds serves on a port of loopback.
func untilInputEnds(serve func(net.Listener) error) error {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return err
	}
	fmt.Println(listening + l.Addr().String())
	go func() { _ = serve(l) }() // ends with the process
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
