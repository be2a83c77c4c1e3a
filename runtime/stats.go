package runtime

/*
#include "bridge/bridge.h"
#include "device/validate.h"
*/
import "C"

import "tvmgo/internal/fault"

// LiveCounts counts what is alive in the process, whether Go or C made it. Built-in global
// functions count as functions, so compare two counts rather than one with zero.
type LiveCounts struct {
	Objects         int64 // counted objects of all kinds, those below included
	Functions       int64
	Modules         int64
	Tensors         int64
	TensorBytes     int64 // data space that tensors own
	Mappings        int64 // shared libraries kept open
	WorkspaceBytes  int64 // CPU workspaces handed out and not yet returned
	WorkspaceCached int64 // CPU workspaces kept for reuse
	Graphs          int64 // of recorded work
	DataBytes       int64 // data space allocated from the CPU directly
}

// Live counts what is alive.
func Live() LiveCounts {
	var n [C.TVMGO_LIVE_KINDS]C.int64_t
	C.tvmgo_validate_flush() // releases what is freed but kept for a while
	C.tvmgo_live_snapshot(&n[0])
	return LiveCounts{
		Objects:         int64(n[C.TVMGO_LIVE_OBJECTS]),
		Functions:       int64(n[C.TVMGO_LIVE_FUNCTIONS]),
		Modules:         int64(n[C.TVMGO_LIVE_MODULES]),
		Tensors:         int64(n[C.TVMGO_LIVE_TENSORS]),
		TensorBytes:     int64(n[C.TVMGO_LIVE_TENSOR_BYTES]),
		Mappings:        int64(n[C.TVMGO_LIVE_MAPPINGS]),
		WorkspaceBytes:  int64(n[C.TVMGO_LIVE_WORKSPACE_BYTES]),
		WorkspaceCached: int64(n[C.TVMGO_LIVE_WORKSPACE_CACHED]),
		Graphs:          int64(n[C.TVMGO_LIVE_GRAPHS]),
		DataBytes:       int64(n[C.TVMGO_LIVE_DATA_BYTES]),
	}
}

// NumThreads is how many tasks a full parallel launch of generated code has: TVM_NUM_THREADS, else
// what the cgroup or the machine has.
func NumThreads() int { return int(C.tvmgo_parallel_threads()) }

// SetNumThreads changes NumThreads for later launches; 0 restores the default.
func SetNumThreads(n int) error {
	if n < 0 {
		return fault.New("set threads", ErrInvalidArgument, "%d is negative: 0 restores the default", n)
	}
	_, err := result("set threads", C.tvmgo_bridge_configure_threads(C.int(n)))
	return err
}
