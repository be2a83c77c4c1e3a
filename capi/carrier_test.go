package main_test

import (
	"bytes"
	"fmt"
	"os"
)

// carrier is the name of a module that imports a module of a kind that cannot be executed. Go reads it, and no driver
// is started.
func (l *lab) carrier() string { return l.modern("gpu_rocm") }

// copyCarrier makes it from a module with CUDA code, by replacing the kind with another one of the same length.
func copyCarrier(to, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	cuda, rocm := []byte("\x04\x00\x00\x00\x00\x00\x00\x00cuda"), []byte("\x04\x00\x00\x00\x00\x00\x00\x00rocm")
	if n := bytes.Count(data, cuda); n != 1 {
		return fmt.Errorf("%s has the kind \"cuda\" %d times", from, n)
	}
	return os.WriteFile(to, bytes.Replace(data, cuda, rocm, 1), 0o755)
}
