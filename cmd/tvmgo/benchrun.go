//go:build cgo && !runtimeonly

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tvmgo/bench"
)

// benchRun measures a task in child processes. A child that crashes, hangs or is killed loses only what it measured at
// that time: the case on that device has failed, and another child goes on.
type benchRun struct {
	task    benchTask
	limit   time.Duration // of a step of a child
	watcher benchWatcher

	plan *benchPlan     // nil until the first child has sent it
	rows []*bench.Row   // of the cases that have ended
	lost map[string]int // by device: the cases in which a process ended
}

// benchWatcher is told what a benchRun does, from one goroutine.
type benchWatcher interface {
	planned(*benchPlan)
	at(benchPlace)
	finished([]*bench.Row)
	end() // clears what a terminal shows
}

const (
	benchPoll  = 100 * time.Millisecond
	benchGrace = 3 * time.Second // for an interrupted child to send the samples of its case
)

// mostLost is the number of processes that a device may end: it is not tried again afterwards.
const mostLost = 3

// measure starts children until all is measured. ended says why the run is incomplete. An error means that nothing was
// measured.
func (r *benchRun) measure(ctx context.Context) (ended string, err error) {
	r.task.Lost, r.lost = map[string]map[string]string{}, map[string]int{}
	for {
		c, err := r.child(ctx)
		switch {
		case err != nil && len(r.rows) == 0:
			return "", err
		case err != nil:
			return err.Error(), nil
		case ctx.Err() != nil:
			return fmt.Sprintf("interrupted: %v", context.Cause(ctx)), nil
		case c.finished:
			return "", nil
		}
		if err := r.lose(c); err != nil {
			return err.Error(), nil
		}
	}
}

// lose records what a child that has ended was measuring. The error says that the run cannot go on.
func (r *benchRun) lose(c *benchChild) error {
	p := c.place
	if p.Case == "" || slices.Contains(r.task.Done, p.Case) {
		return fmt.Errorf("a process ended before its next case: %s", c.died)
	}
	devices := []string{p.Device}
	if r.task.Lost[p.Case][p.Device] != "" { // again: it was another one's fault
		devices = nil
		for _, d := range r.plan.Devices {
			if r.task.Lost[p.Case][d.Name] == "" {
				devices = append(devices, d.Name)
			}
		}
		if len(devices) == 0 {
			return fmt.Errorf("%s ended the process on no device: %s", p.Case, c.died)
		}
	}
	for _, d := range devices {
		r.setLost(p.Case, d, fmt.Sprintf("%s (in step %q)", c.died, p.Stage))
		if r.lost[d]++; r.lost[d] == mostLost {
			for _, k := range r.plan.Cases {
				if !slices.Contains(r.task.Done, k.ID) && r.task.Lost[k.ID][d] == "" {
					r.setLost(k.ID, d, fmt.Sprintf("not tried: %s has ended %d processes", d, mostLost))
				}
			}
		}
	}
	return nil
}

func (r *benchRun) setLost(id, device, why string) {
	if r.task.Lost[id] == nil {
		r.task.Lost[id] = map[string]string{}
	}
	r.task.Lost[id][device] = why
}

// benchChild is a child process, and what became of it.
type benchChild struct {
	place    benchPlace
	finished bool   // it has measured everything
	died     string // how it ended otherwise
}

// child runs a child process to its end.
func (r *benchRun) child(ctx context.Context) (*benchChild, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	alive, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	messages := make(chan benchMessage)
	started := make(chan *startedChild, 1)
	ended := make(chan string, 1)
	go func() {
		runtime.LockOSThread() // the kernel sends Pdeathsig when this thread ends
		defer runtime.UnlockOSThread()
		s, err := startBenchChild(alive, &r.task)
		if err != nil {
			s = &startedChild{err: err}
		}
		started <- s
		if err == nil {
			ended <- s.read(messages)
		}
	}()
	s := <-started
	if s.err != nil {
		return nil, s.err
	}
	defer s.close()
	return r.follow(ctx, kill, s, messages, ended)
}

// follow handles the messages of a child until it has ended.
func (r *benchRun) follow(ctx context.Context, kill func(), s *startedChild, messages <-chan benchMessage,
	ended <-chan string) (*benchChild, error) {
	c := &benchChild{}
	var failed error
	tick := time.NewTicker(benchPoll)
	defer tick.Stop()
	interrupted := ctx.Done()
	var grace <-chan time.Time
	moved, hangs := time.Now(), ""
	for {
		select {
		case m := <-messages:
			moved = time.Now()
			switch {
			case m.Plan != nil && r.plan == nil:
				r.plan = m.Plan
				r.watcher.planned(m.Plan)
			case m.Rows != nil:
				r.add(ctx, m.Rows)
			case m.Error != "":
				if failed = errors.New(m.Error); m.Usage {
					failed = wrong(failed)
				}
			case m.Done:
				c.finished = true
			}
		case <-tick.C:
			if p, whole := s.place(); whole && p != c.place {
				c.place, moved = p, time.Now()
				r.watcher.at(p)
			} else if hangs == "" && time.Since(moved) > r.limit {
				hangs = fmt.Sprintf("it did not end within %v: set a longer time with --timeout", r.limit)
				kill()
			}
		case <-interrupted:
			interrupted, grace = nil, time.After(benchGrace)
			s.stop()
		case <-grace:
			kill()
		case died := <-ended:
			if p, whole := s.place(); whole {
				c.place = p
			}
			if c.died = "the process that measured it ended: " + died; hangs != "" {
				c.died = hangs
			}
			if ctx.Err() != nil && !c.finished {
				r.addUnfinished(c.place.Case, ctx)
			}
			if failed == nil && !c.finished && r.plan == nil && ctx.Err() == nil {
				at := strings.TrimSpace(string(c.place.Stage) + " " + c.place.Device)
				failed = fmt.Errorf("%s: %s", cmp.Or(at, "start the process that measures"), c.died)
			}
			return c, failed
		}
	}
}

// add keeps the rows of a case, unless the child was interrupted and this process was not.
func (r *benchRun) add(ctx context.Context, rows []*bench.Row) {
	for _, row := range rows {
		if row.Status == bench.Interrupted {
			if ctx.Err() == nil {
				return
			}
			row.Reason = context.Cause(ctx).Error()
		}
	}
	if len(rows) > 0 {
		r.task.Done = append(r.task.Done, rows[0].Suite+"/"+rows[0].Case)
	}
	r.rows = append(r.rows, rows...)
	r.watcher.finished(rows)
}

// addUnfinished adds rows for a case whose child did not react to an interruption.
func (r *benchRun) addUnfinished(id string, ctx context.Context) {
	if id == "" || r.plan == nil || slices.Contains(r.task.Done, id) {
		return
	}
	suite, name, _ := strings.Cut(id, "/")
	for _, k := range r.plan.Cases {
		if k.ID != id {
			continue
		}
		for _, d := range r.plan.Devices {
			r.rows = append(r.rows, &bench.Row{Suite: suite, Case: name, Device: d.Name, Figure: k.Figure,
				Unit: k.Figure.Unit(), Status: bench.Interrupted,
				Reason: fmt.Sprintf("%v: its operation did not end within %v", context.Cause(ctx), benchGrace)})
		}
	}
}

// startedChild is a running child process.
type startedChild struct {
	err    error
	wait   func() error
	errs   *beginning
	input  *os.File // its standard input: it stops at the end
	output *os.File // its messages
	places *os.File // its benchPlace
}

// startBenchChild starts a child on a thread that does not end before it.
func startBenchChild(ctx context.Context, task *benchTask) (_ *startedChild, err error) {
	text, err := json.Marshal(task)
	if err != nil {
		return nil, err
	}
	cmd, err := childCommand(ctx, benchCommand)
	if err != nil {
		return nil, err
	}
	s := &startedChild{errs: &beginning{limit: maxErrors}, wait: cmd.Wait}
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			_ = f.Close()
		}
		if err != nil {
			s.close()
			err = fmt.Errorf("start a child process: %w", err)
		}
	}()
	in, input, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.input, theirs = input, append(theirs, in)
	output, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.output, theirs = output, append(theirs, out)
	fd, err := unix.MemfdCreate("tvmgo-bench", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	s.places = os.NewFile(uintptr(fd), "place")
	cmd.Stdin, cmd.Stderr, cmd.ExtraFiles = in, s.errs, []*os.File{out, s.places}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() { _, _ = input.Write(text) }() // a pipe holds less than a long list of cases
	return s, nil
}

// read passes messages on until the child has ended, and returns how it did.
func (s *startedChild) read(messages chan<- benchMessage) (died string) {
	for d := json.NewDecoder(s.output); ; {
		var m benchMessage
		if d.Decode(&m) != nil {
			break
		}
		messages <- m
	}
	_, _ = io.Copy(io.Discard, s.output) // after text that is no message
	return s.errs.cause(s.wait())
}

// place returns the step that the child executes, or executed when it ended. It is not whole while the child writes it.
func (s *startedChild) place() (p benchPlace, whole bool) {
	text := make([]byte, placeSize)
	n, _ := s.places.ReadAt(text, 0)
	return p, json.Unmarshal(text[:n], &p) == nil
}

// stop asks the child to end.
func (s *startedChild) stop() { _ = s.input.Close() }

func (s *startedChild) close() {
	for _, f := range []*os.File{s.input, s.output, s.places} {
		if f != nil {
			_ = f.Close()
		}
	}
}
