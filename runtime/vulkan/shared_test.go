package vulkan_test

import "tvmgo/internal/testing/gputest"

// Short names of functions that the tests of all device packages use.
var (
	tensor       = gputest.Tensor
	slice        = gputest.Slice
	requireError = gputest.RequireError
)
