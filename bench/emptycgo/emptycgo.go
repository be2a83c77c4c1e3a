// Package emptycgo is the floor under every call from Go into C: a call that does nothing.
package emptycgo

// static void nothing(void) {}
import "C"

// Call enters C and returns.
func Call() { C.nothing() }
