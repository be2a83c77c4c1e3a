package include

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
)

// The names of devices in C++ are those of package dlpack, of which C++ lacks a few that only TVM's own parser knows.
func TestDeviceNames_AreThoseOfDLPack(t *testing.T) {
	text := must.Get(os.ReadFile("tvmgo/device.hpp"))(t)
	table := regexp.MustCompile(`(?s)device_names\[\] = \{(.*?)\n\};`).FindSubmatch(text)
	require.NotNil(t, table)
	written := map[int]string{}
	var names []string
	for _, row := range regexp.MustCompile(`\{(k\w+), "(\w+)"\}`).FindAllSubmatch(table[1], -1) {
		constant, name := string(row[1]), string(row[2])
		number, known := ffiNumbers[constant]
		if !known {
			number, known = classicNumbers[constant]
		}
		require.True(t, known, constant)
		require.EqualValues(t, number, must.Get(dlpack.ParseDeviceType(name))(t), name)
		if written[number] == "" {
			written[number] = name
		}
		names = append(names, name)
	}
	for _, info := range dlpack.DeviceTypes() {
		if info.Type == dlpack.SDAccel { // its name means OpenCL
			continue
		}
		require.Equal(t, info.Name, written[int(info.Type)])
		for _, alias := range info.Aliases {
			if !slices.Contains([]string{"stackvm", "test", "hybrid", "composite", "sdaccel", "aocl_sw_emu"}, alias.Name) {
				require.Contains(t, names, alias.Name)
			}
		}
	}
}
