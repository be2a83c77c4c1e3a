// Package unfinished knows what a process must not leave behind when it ends early: the processes that it started, and
// its temporary files.
//
// Normally whoever made one of these removes it. A program that has to end at once, because a user asked for the second
// time, calls [End].
package unfinished

import (
	"context"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

var (
	mu     sync.Mutex
	groups = map[int]bool{}    // process groups, by leader
	paths  = map[string]bool{} // files and folders
)

// Cmd is a command in a process group of its own, which ends as a whole: compilers and shells start others.
type Cmd struct{ *exec.Cmd }

// Command is a command that is killed with its group when ctx ends.
func Command(ctx context.Context, name string, args ...string) *Cmd {
	c := &Cmd{exec.CommandContext(ctx, name, args...)}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = c.Kill
	c.WaitDelay = 5 * time.Second
	return c
}

// Kill ends the group. The command must have been started.
func (c *Cmd) Kill() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }

// Start starts the command.
func (c *Cmd) Start() error {
	mu.Lock()
	defer mu.Unlock()
	err := c.Cmd.Start()
	if err == nil {
		groups[c.Process.Pid] = true
	}
	return err
}

// Wait waits for the end of a command that was started.
func (c *Cmd) Wait() error {
	err := c.Cmd.Wait()
	mu.Lock()
	defer mu.Unlock()
	delete(groups, c.Process.Pid)
	return err
}

// Run starts the command and waits for its end.
func (c *Cmd) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	return c.Wait()
}

// MkdirTemp makes a folder among the temporary files, which [Remove] removes.
func MkdirTemp(pattern string) (string, error) {
	mu.Lock()
	defer mu.Unlock()
	dir, err := os.MkdirTemp("", pattern)
	if err == nil {
		paths[dir] = true
	}
	return dir, err
}

// Add notes a file that goes away if the process ends before [Forget] is called. It calls create, which makes the file.
func Add(path string, create func() error) error {
	mu.Lock()
	defer mu.Unlock()
	err := create()
	if err == nil {
		paths[path] = true
	}
	return err
}

// Forget drops what was noted: it has found its place, or is gone.
func Forget(path string) {
	mu.Lock()
	defer mu.Unlock()
	delete(paths, path)
}

// Remove removes what was noted, with all that is in it.
func Remove(path string) error {
	err := os.RemoveAll(path)
	Forget(path)
	return err
}

// End kills all processes and removes all files. Nothing is begun afterwards: whoever tries waits for the end of this
// process, which the caller has to bring about.
func End() {
	mu.Lock() // for good
	for leader := range groups {
		_ = syscall.Kill(-leader, syscall.SIGKILL)
	}
	const tries = 100 // a process that was in the middle of a call may have added a file
	for path := range paths {
		for try := 0; os.RemoveAll(path) != nil && try < tries; try++ {
			time.Sleep(time.Millisecond)
		}
	}
}
