//go:build !runtimeonly

package objects

import (
	"debug/elf"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/objects/elfmachine"
)

// The file of this process is for its own machine. An object for another machine is an object, but not native.
func TestHost(t *testing.T) {
	f, err := elf.Open("/proc/self/exe")
	require.NoError(t, err)
	defer f.Close()
	require.Equal(t, elfmachine.Of(f), elfmachine.Host())

	head, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	head = head[:64]
	head[16], head[56], head[57] = 1, 0, 0 // relocatable, without segments
	isObject, isNative := IsObject(head)
	require.True(t, isObject)
	require.True(t, isNative)
	head[18] ^= 0xff
	isObject, isNative = IsObject(head)
	require.True(t, isObject)
	require.False(t, isNative)
}
