//go:build cgo

package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// progress reports the stage of long work: on a terminal in one line, which is removed at the end; with -v in one line
// for each stage.
type progress struct {
	w        io.Writer
	terminal bool
	verbose  bool

	mu    sync.Mutex
	stage string
	began time.Time
	first time.Time // when the first stage began
	quit  chan struct{}
	gone  chan struct{}
}

// newProgress reports on a command's standard error: a line for each stage if verbose, otherwise one changing line if
// it is a terminal.
func newProgress(w io.Writer, verbose bool) *progress {
	return &progress{w: w, verbose: verbose, terminal: !verbose && isTerminal(w)}
}

// begin ends the current stage and begins another one.
func (p *progress) begin(stage string) {
	p.end()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stage, p.began = stage, time.Now()
	if p.first.IsZero() {
		p.first = p.began
	}
	if p.terminal {
		p.quit, p.gone = make(chan struct{}), make(chan struct{})
		go p.draw(p.quit, p.gone, stage, p.began)
	}
}

// patience is the time after which a terminal shows a stage, and the interval at which it updates the line.
const patience = 250 * time.Millisecond

func (p *progress) draw(quit, gone chan struct{}, stage string, began time.Time) {
	defer close(gone)
	tick := time.NewTicker(patience)
	defer tick.Stop()
	drawn := false
	for {
		select {
		case <-tick.C:
			drawn = true
			fmt.Fprintf(p.w, "\r\x1b[K%s … %.0f s", stage, time.Since(began).Seconds())
		case <-quit:
			if drawn {
				fmt.Fprint(p.w, "\r\x1b[K")
			}
			return
		}
	}
}

// detail reports a part of the current stage, with the time that it took. Several goroutines may call it at once.
func (p *progress) detail(part string, took time.Duration) {
	if p.verbose {
		p.mu.Lock()
		defer p.mu.Unlock()
		fmt.Fprintf(p.w, "  %s: %.3f s\n", part, took.Seconds())
	}
}

// total ends the last stage, and reports the time since the beginning of the first one.
func (p *progress) total(what string) {
	p.end()
	if p.verbose {
		fmt.Fprintf(p.w, "total: %.2f s, %s\n", time.Since(p.first).Seconds(), what)
	}
}

// end ends the last stage and clears the line.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stage == "" {
		return
	}
	if p.quit != nil {
		close(p.quit)
		<-p.gone
		p.quit, p.gone = nil, nil
	}
	if p.verbose {
		fmt.Fprintf(p.w, "%s: %.2f s\n", p.stage, time.Since(p.began).Seconds())
	}
	p.stage = ""
}

// isTerminal reports whether the output is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	var state syscall.Termios
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TCGETS, uintptr(unsafe.Pointer(&state)))
	return errno == 0
}
