package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tvmgo/internal/clang"
	"tvmgo/internal/unfinished"
)

// interruption is the cause of a cancelled context: a signal that asked the program to end.
type interruption struct{ signal syscall.Signal }

func (i *interruption) Error() string { return i.signal.String() }

func (i *interruption) status() int { return statusSignal + int(i.signal) }

// text returns the message for the user.
func (i *interruption) text(cmd *cobra.Command) string {
	if cmd == nil {
		return i.Error()
	}
	text := fmt.Sprintf("%s: %v", cmd.Name(), i.signal)
	if cmd.Annotations[writesAtTheEnd] != "" {
		text += ": nothing was written"
	}
	return text
}

// writesAtTheEnd is the annotation of commands that write their output in their last step.
const writesAtTheEnd = "writes at the end"

// interruptionOf returns the signal that cancelled a context; nil if none did.
func interruptionOf(ctx context.Context) *interruption {
	var i *interruption
	errors.As(context.Cause(ctx), &i)
	return i
}

// lastWait is the time that an interrupted command has for its own cleanup.
const lastWait = 10 * time.Second

// withSignals returns a context that the first signal cancels. A second signal, or a command that does not end in time,
// ends the process at once. Child processes are killed and temporary files removed before that.
func withSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	caught := make(chan os.Signal, 2)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
	ignoreSizeSignal()
	if !signal.Ignored(syscall.SIGHUP) { // nohup sets it to be ignored
		signal.Notify(caught, syscall.SIGHUP)
	}
	go func() {
		var by *interruption
		for by == nil {
			select {
			case s := <-caught:
				if handle := ownSignals.Load(); handle == nil || !(*handle)(s) {
					by = &interruption{s.(syscall.Signal)}
				}
			case <-ctx.Done():
				return
			}
		}
		cancel(by)
		clang.StopAll()
		if foreignCalls.Load() == 0 {
			select {
			case s := <-caught:
				by = &interruption{s.(syscall.Signal)}
			case <-time.After(lastWait):
			}
		}
		unfinished.End()
		fmt.Fprintf(os.Stderr, "tvmgo: %s\n", by.text(running.Load()))
		os.Exit(by.status())
	}()
	return ctx, func() {
		signal.Stop(caught)
		cancel(nil)
	}
}

// running is the command that runs.
var running atomic.Pointer[cobra.Command]

// ownSignals is the function of a command that handles signals itself; nil if there is none. It returns false for a
// signal that ends the command as usual.
var ownSignals atomic.Pointer[func(os.Signal) bool]

// foreignCalls is the number of calls of foreign that are running.
var foreignCalls atomic.Int32

// foreign runs code that cannot be interrupted, such as a kernel, a driver, a code generator, or a read from a
// terminal. While it runs, the first signal ends the process at once, after unfinished.End has killed child processes
// and removed temporary files.
func foreign(ctx context.Context, run func() error) error {
	foreignCalls.Add(1)
	defer foreignCalls.Add(-1)
	if err := ctx.Err(); err != nil { // a signal that comes later sees the count
		return err
	}
	return run()
}
