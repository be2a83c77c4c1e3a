package cpu_test

import (
	"testing"

	"tvmgo/runtime"
	"tvmgo/runtime/devicetest"
)

func TestDevice_Conforms(t *testing.T) {
	devicetest.Run(t, runtime.CPU, devicetest.Options{DataIsAddress: true})
}
