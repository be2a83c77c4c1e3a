package target

// sharedPerBlock has the KiB of shared memory that a block can have on CUDA's compute capabilities, with the opt-in for
// dynamic shared memory (table "Technical Specifications per Compute Capability" of the CUDA programming guide). All
// have 48 KiB without it: this is what devices report, and max_shared_memory_per_block of the tags.
var sharedPerBlock = map[int]int64{60: 48, 61: 48, 70: 96, 72: 96, 75: 64, 80: 163, 86: 99, 87: 163, 89: 99, 90: 227,
	100: 227, 101: 227, 103: 227, 110: 227, 120: 99, 121: 99}

// SharedPerBlock returns the number of bytes of shared memory that a block can have on a compute capability of CUDA,
// such as 90 for sm_90, if its kernel asks for them; 0 if the capability is not known.
func SharedPerBlock(capability int) int64 { return sharedPerBlock[capability] << 10 }
