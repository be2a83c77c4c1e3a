package devicetest_test

import (
	"testing"

	"tvmgo/runtime"
	"tvmgo/runtime/devicetest"
)

func TestCPU(t *testing.T) {
	devicetest.Run(t, runtime.CPU, devicetest.Options{DataIsAddress: true})
}
