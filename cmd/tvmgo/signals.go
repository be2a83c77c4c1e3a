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

// writesAtTheEnd marks commands whose last step is to write.
const writesAtTheEnd = "writes at the end"

// interruptionOf returns the signal that cancelled a context; nil if none did.
func interruptionOf(ctx context.Context) *interruption {
	var i *interruption
	errors.As(context.Cause(ctx), &i)
	return i
}

// lastWait is the time that an interrupted command has for its own cleanup.
const lastWait = 10 * time.Second

// withSignals is a context that the first signal ends. The second one, or a command that goes on nevertheless, ends the
// process at once; child processes are killed and temporary files removed before.
func withSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	caught := make(chan os.Signal, 2)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // which nohup does
		signal.Notify(caught, syscall.SIGHUP)
	}
	go func() {
		var by *interruption
		select {
		case s := <-caught:
			by = &interruption{s.(syscall.Signal)}
		case <-ctx.Done():
			return
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

// foreignCalls counts what foreign runs.
var foreignCalls atomic.Int32

// foreign runs what nobody can interrupt, such as a kernel, a driver, a code generator, or a read from a terminal: a
// signal ends the process meanwhile, with all that package unfinished knows.
func foreign(ctx context.Context, run func() error) error {
	foreignCalls.Add(1)
	defer foreignCalls.Add(-1)
	if err := ctx.Err(); err != nil { // else the signal is still to come, and finds the count
		return err
	}
	return run()
}
