// Package launch has the tags of launch parameters (docs/abi.md D.2). Most tags name a launch size, such as a dimension
// of the grid, whose value follows the kernel's arguments in a call; the others request a kind of launch.
package launch

import "strings"

// Tags lists the tags of launch sizes. The index of a tag is its TVMGO_LAUNCH number in internal/kernels/kernels.h. The
// sizes are three dimensions each of the grid, the block, the cluster and the preferred cluster, then the bytes of
// dynamic shared memory of a block. Read-only.
var Tags = []string{
	"blockIdx.x", "blockIdx.y", "blockIdx.z",
	"threadIdx.x", "threadIdx.y", "threadIdx.z",
	"clusterCtaIdx.x", "clusterCtaIdx.y", "clusterCtaIdx.z",
	"preferredClusterCtaIdx.x", "preferredClusterCtaIdx.y", "preferredClusterCtaIdx.z",
	SharedMemory,
}

// The index in Tags at which each group of sizes begins, and the number of all sizes.
const (
	Grid      = 0
	Block     = 3
	Cluster   = 6
	Preferred = 9
	Shared    = 12
	Count     = 13
)

// The tag of dynamic shared memory and the tags that have no value. TVM up to v0.23 writes the prefix "tir.", later
// versions write "tirx.".
const (
	SharedMemory = "tir.use_dyn_shared_memory" // always the last parameter
	Programmatic = "tir.use_programtic_dependent_launch"
	Cooperative  = "tir.use_cooperative_launch"
)

// Canonical returns a tag with the prefix that this package uses, whichever version of TVM wrote it.
func Canonical(tag string) string {
	if word, ok := strings.CutPrefix(tag, "tirx."); ok {
		return "tir." + word
	}
	return tag
}

// Modern returns a tag with the prefix that TVM uses since v0.24.
func Modern(tag string) string {
	if word, ok := strings.CutPrefix(tag, "tir."); ok {
		return "tirx." + word
	}
	return tag
}
