package cudaimage

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMatchWords(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"kernel f: registers 12":            true,
		"kernel a:b: registers 123456789":   true,
		"kernel f: registers 1234567890":    false,
		"kernel f: registers -1":            false,
		"kernel f: registers 1x":            false,
		"kernel f: registers ":              false,
		"kernel f registers 12":             false,
		"kernel : registers 12":             false,
		"kernel  f: registers 12":           false,
		"kernel f: registers 12 shared 123": false,
		"kernel f: registers":               false,
		"":                                  false,
	} {
		var name string
		var n int
		require.Equal(t, want, MatchWords(line, "kernel %s: registers %d", &name, &n), line)
		if want {
			require.NotEmpty(t, name)
			require.Positive(t, n)
		}
	}
}

func TestParseArch(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Arch{"sm_75": {Number: 75}, "sm_90a": {Number: 90, Letter: "a"},
		"compute_120f": {Virtual: true, Number: 120, Letter: "f"}} {
		a, ok := ParseArch(name)
		require.True(t, ok, name)
		require.Equal(t, want, a)
	}
	for _, name := range []string{"", "sm_", "sm_9", "sm_075", "sm_1200", "sm_90b", "sm_90aa", "sm_90 ", "90", "SM_90",
		"compute_", "xsm_90"} {
		_, ok := ParseArch(name)
		require.False(t, ok, name)
	}
}

func TestArchOption(t *testing.T) {
	t.Parallel()
	for note, want := range map[string]string{"x -arch sm_90a -m64": "a", "-arch=sm_100f\x00": "f", "-arch=sm_90 ": "",
		"-arch=compute_90 -arch=sm_90a ": "a"} {
		a, ok := archOption(note)
		require.True(t, ok, note)
		require.Equal(t, want, a.Letter, note)
	}
	for _, note := range []string{"", "-arch", "-arch=sm_90a", "-archsm_90a ", "-arch=sm_9 ", "arch=sm_90 "} {
		_, ok := archOption(note)
		require.False(t, ok, note)
	}
}
