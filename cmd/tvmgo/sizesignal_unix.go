//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

// ignoreSizeSignal makes a file that becomes too large an error of its write.
func ignoreSizeSignal() { signal.Ignore(syscall.SIGXFSZ) }
