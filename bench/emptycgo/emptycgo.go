// Package emptycgo has an empty cgo call, the lower bound for the cost of every call from Go into C.
package emptycgo

// static void nothing(void) {}
import "C"

// Call enters C and returns.
func Call() { C.nothing() }
