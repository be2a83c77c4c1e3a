package vulkan_test

import "tvmgo/internal/testing/gputest"

// What the tests of all backends share.
var (
	tensor       = gputest.Tensor
	slice        = gputest.Slice
	requireError = gputest.RequireError
)
