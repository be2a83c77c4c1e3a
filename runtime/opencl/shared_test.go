//go:build opencl

package opencl_test

import "tvmgo/internal/testing/gputest"

const artifacts = gputest.Dir

// Short names of functions that the tests of all device packages use.
var (
	tensor       = gputest.Tensor
	slice        = gputest.Slice
	module       = gputest.Module
	function     = gputest.Function
	kernel       = gputest.Kernel
	requireError = gputest.RequireError
)
