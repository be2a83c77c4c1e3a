package launch

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTags(t *testing.T) {
	require.Len(t, Tags, Count)
	for i, want := range map[int]string{
		Grid: "blockIdx.x", Block: "threadIdx.x", Cluster: "clusterCtaIdx.x", Preferred: "preferredClusterCtaIdx.x",
		Shared: SharedMemory,
	} {
		require.Equal(t, want, Tags[i])
	}
}

func TestSpellings(t *testing.T) {
	require.Equal(t, Cooperative, Canonical("tirx.use_cooperative_launch"))
	require.Equal(t, Cooperative, Canonical(Cooperative))
	require.Equal(t, "blockIdx.x", Canonical("blockIdx.x"))
	require.Equal(t, "tirx.use_dyn_shared_memory", Modern(SharedMemory))
	require.Equal(t, "blockIdx.x", Modern("blockIdx.x"))
}
