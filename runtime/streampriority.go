package runtime

/*
#include "bridge/bridge.h"
*/
import "C"

import (
	"math"

	"tvmgo/dlpack"
	"tvmgo/internal/fault"
)

// StreamPriorities returns the range of priorities that streams of a device may have. Smaller numbers are more urgent,
// so greatest <= least. The error is ErrNotSupported if the device has none.
func StreamPriorities(dev dlpack.Device) (least, greatest int, err error) {
	var low, high C.int32_t
	if _, err := result("stream priorities", C.tvmgo_bridge_stream_priorities(cDevice(dev), &low, &high)); err != nil {
		return 0, 0, err
	}
	return int(low), int(high), nil
}

// NewStreamWithPriority is NewStream with a priority from the range of StreamPriorities. If work of several streams can
// begin, the work of the most urgent stream begins first. A priority outside the range is an error. On a device without
// priorities the error is ErrNotSupported.
func NewStreamWithPriority(dev dlpack.Device, priority int) (*Stream, error) {
	const op = "create stream"
	if priority < math.MinInt32 || priority > math.MaxInt32 {
		return nil, fault.New(op, ErrInvalidArgument, "no device has priority %d: StreamPriorities tells which there are",
			priority)
	}
	o, err := result(op, C.tvmgo_bridge_stream_create_with_priority(cDevice(dev), C.int32_t(priority)))
	if err != nil {
		return nil, err
	}
	return newStream(dev, C.uintptr_t(o)), nil
}
