// Package launch has the tags of launch parameters: what the values behind a kernel's arguments set in a launch, and
// what else a kernel asks of one (docs/abi.md D.2).
package launch

import "strings"

// Tags are those of parameters with a value, in the order of their numbers (internal/kernels/kernels.h): three
// dimensions each of the grid, the block, the cluster and the preferred cluster, then the bytes of dynamic shared
// memory of a block. Read-only.
var Tags = []string{
	"blockIdx.x", "blockIdx.y", "blockIdx.z",
	"threadIdx.x", "threadIdx.y", "threadIdx.z",
	"clusterCtaIdx.x", "clusterCtaIdx.y", "clusterCtaIdx.z",
	"preferredClusterCtaIdx.x", "preferredClusterCtaIdx.y", "preferredClusterCtaIdx.z",
	SharedMemory,
}

// Numbers of tags: where each group begins in Tags, and how many there are.
const (
	Grid      = 0
	Block     = 3
	Cluster   = 6
	Preferred = 9
	Shared    = 12
	Count     = 13
)

// Tags of dynamic shared memory, and those without a value. TVM up to v0.23 writes "tir." before the word, later
// versions "tirx.".
const (
	SharedMemory = "tir.use_dyn_shared_memory" // the last parameter of a kernel that has it
	Programmatic = "tir.use_programtic_dependent_launch"
	Cooperative  = "tir.use_cooperative_launch"
)

// Canonical spells a tag as this package does, whichever version of TVM wrote it.
func Canonical(tag string) string {
	if word, ok := strings.CutPrefix(tag, "tirx."); ok {
		return "tir." + word
	}
	return tag
}

// Modern spells a tag as TVM does since v0.24.
func Modern(tag string) string {
	if word, ok := strings.CutPrefix(tag, "tir."); ok {
		return "tirx." + word
	}
	return tag
}
