package tagdata

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

type (
	object = map[string]any
	list   = []any
)

func find(t *testing.T, name string) Tag {
	t.Helper()
	tag, ok := Find(name)
	require.True(t, ok, "there is no tag %q", name)
	return tag
}

func TestAll_CountsByVendor(t *testing.T) {
	tags := all(t)
	counts := map[string]int{}
	for _, tag := range tags {
		vendor, _, _ := strings.Cut(tag.Name, "/")
		counts[vendor]++
	}
	require.Equal(t, map[string]int{
		"nvidia":       240 + 5 + 1 + 38, // cards and boards of Apache TVM, Jetsons with a host, with cuDNN, newer cards
		"amd":          12,
		"apple":        3 + 1,
		"arm":          11,
		"aws":          8 + 2 + 5 + 2*9 + 2*8, // c5, trn1; c4, c6i and c7i, c6g and c7g
		"qcom":         6 + 5,
		"riscv":        6,
		"raspberry-pi": 1,
		"amlogic":      2,
		"hisilicon":    2,
		"rockchip":     3,
		"samsung":      1,
	}, counts)
}

func TestNames_AndFindAgree(t *testing.T) {
	tags := all(t)
	var names []string
	for _, tag := range tags {
		names = append(names, tag.Name)
		require.Contains(t, Names(), tag.Name)
		require.True(t, slices.IsSorted(tag.Aliases), tag.Aliases)
		for _, alias := range tag.Aliases {
			require.Equal(t, tag, find(t, alias))
		}
	}
	require.True(t, slices.IsSorted(names))
	require.Equal(t, names, Names())
}

func TestFind_UnknownName(t *testing.T) {
	for _, name := range []string{"", "nvidia/", "nvidia/nvidia-h1000", "nvidia-h100", "h100", "NVIDIA/H100",
		"nvidia/h100 "} {
		tag, ok := Find(name)
		require.False(t, ok, name)
		require.Zero(t, tag)
	}
}

func TestFind_Aliases(t *testing.T) {
	for alias, name := range map[string]string{
		"nvidia/h100":      "nvidia/nvidia-h100",
		"nvidia/h200":      "nvidia/nvidia-h200",
		"nvidia/b200":      "nvidia/nvidia-b200",
		"nvidia/a100":      "nvidia/nvidia-a100",
		"nvidia/a100-80gb": "nvidia/nvidia-a100",
		"nvidia/v100":      "nvidia/nvidia-v100",
		"nvidia/t4":        "nvidia/nvidia-t4",
		"nvidia/l40s":      "nvidia/nvidia-l40s",
		"nvidia/p100":      "nvidia/tesla-p100",
		"nvidia/rtx-4090":  "nvidia/geforce-rtx-4090",
		"nvidia/rtx-4000":  "nvidia/rtx-4000", // not an alias of anything
		"nvidia/gtx2080ti": "nvidia/geforce-rtx-2080-ti",
		"nvidia/tx2":       "nvidia/jetson-tx2",
		"broadcom/rpi4b":   "raspberry-pi/4b-aarch64",
		"aws/c4.xlarge":    "aws/cpu/c4.xlarge",
		"aws/c5.large":     "aws/cpu/c5.large",
		"amd/rx-7900-xtx":  "amd/radeon-rx-7900-xtx",
	} {
		require.Equal(t, name, find(t, alias).Name, alias)
	}
	require.Equal(t, []string{"nvidia/a100", "nvidia/a100-40gb", "nvidia/a100-80gb"},
		find(t, "nvidia/nvidia-a100").Aliases)
	require.Empty(t, find(t, "nvidia/quadro-p620").Aliases, "nvidia/p620 is another card")
}

func TestFind_TheResultIsTheCallers(t *testing.T) {
	pristine, tag := find(t, "raspberry-pi/4b-aarch64"), find(t, "raspberry-pi/4b-aarch64")
	require.Equal(t, pristine, tag)
	tag.Config["host"].(object)["mcpu"] = "changed"
	tag.Config["mattr"].(list)[0] = "changed"
	tag.Config["more"] = true
	tag.Aliases[0] = "changed"
	require.Equal(t, pristine, find(t, pristine.Name))

	names := Names()
	names[0] = "changed"
	require.NotEqual(t, names[0], Names()[0])
}

func TestFind_TagsOfARowShareNothing(t *testing.T) {
	find(t, "nvidia/tesla-p40").Config["keys"].(list)[0] = "changed"
	require.Equal(t, list{"cuda", "gpu"}, find(t, "nvidia/tesla-p4").Config["keys"])
}

func TestFind_FromManyGoroutines(t *testing.T) {
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for n := range 50 {
				if tag, ok := Find("nvidia/h100"); !ok || tag.Config["arch"] != "sm_90a" {
					t.Errorf("goroutine %d, round %d: %v", i, n, tag)
				}
			}
		})
	}
	group.Wait()
}
