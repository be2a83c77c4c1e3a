// Package unfinished keeps a list of what a process must not leave behind when it ends early: child processes and
// temporary files.
//
// Normally their creator removes them. A program that must end immediately, because the user interrupted it a second
// time, calls [End].
package unfinished

import (
	"context"
	"os"
	"os/exec"
	"sync"
	"time"
)

var (
	mu     sync.Mutex
	groups = map[int]bool{}    // process groups, by leader
	paths  = map[string]bool{} // files and folders
)

// Cmd is a command in a separate process group, which is killed as a whole, because compilers and shells start other
// processes. Windows has no such groups: there, only the process itself is killed.
type Cmd struct{ *exec.Cmd }

// Command returns a command that is killed with its group when ctx ends.
func Command(ctx context.Context, name string, args ...string) *Cmd {
	c := &Cmd{exec.CommandContext(ctx, name, args...)}
	c.SysProcAttr = ownGroup()
	c.Cancel = c.Kill
	c.WaitDelay = 5 * time.Second
	return c
}

// Kill kills the group. The command must have been started.
func (c *Cmd) Kill() error { return killGroup(c.Process.Pid) }

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

// Wait waits until a started command ends.
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

// MkdirTemp makes a temporary folder, which [Remove] removes.
func MkdirTemp(pattern string) (string, error) {
	mu.Lock()
	defer mu.Unlock()
	dir, err := os.MkdirTemp("", pattern)
	if err == nil {
		paths[dir] = true
	}
	return dir, err
}

// Add calls create, which makes a file, and registers its path: the file is removed if the process ends before
// [Forget].
func Add(path string, create func() error) error {
	mu.Lock()
	defer mu.Unlock()
	err := create()
	if err == nil {
		paths[path] = true
	}
	return err
}

// Forget removes a path from the list, because the file is complete or gone.
func Forget(path string) {
	mu.Lock()
	defer mu.Unlock()
	delete(paths, path)
}

// Remove removes a file or a folder with its contents, and forgets it.
func Remove(path string) error {
	err := os.RemoveAll(path)
	Forget(path)
	return err
}

// End kills all processes and removes all files. From then on the functions of this package block, so that nothing new
// begins until the caller ends the process.
func End() {
	mu.Lock() // never unlocked
	for leader := range groups {
		_ = killGroup(leader)
	}
	const tries = 100 // a process that was killed in the middle of a call may have added a file
	for path := range paths {
		for try := 0; os.RemoveAll(path) != nil && try < tries; try++ {
			time.Sleep(time.Millisecond)
		}
	}
}
