package main

import (
	"os"
	"testing"

	"tvmgo/dlpack"
	"tvmgo/runtime/devicetest"
)

// TestHello runs the program, which registers the device, and then the suite that every device must pass.
func TestHello(t *testing.T) {
	if err := run(os.Stdout); err != nil {
		t.Fatal(err)
	}
	devicetest.Run(t, dlpack.Device{Type: number}, devicetest.Options{
		Second: dlpack.Device{Type: number, ID: 1}, DataIsAddress: true})
}
