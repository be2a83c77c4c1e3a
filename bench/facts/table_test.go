package facts

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/internal/testing/must"
)

var update = flag.Bool("update", false, "write the tables of docs/benchmarks.md")

// The tables of docs/benchmarks.md are those of Table: a fact that one of them lacks fails the test.
func TestTable_EqualsTheDocumentation(t *testing.T) {
	const page = "../../docs/benchmarks.md"
	text := string(must.Get(os.ReadFile(page))(t))
	for of, heading := range map[string]string{device: "### Facts of a device", row: "### Facts of a row"} {
		want := "| Fact | Unit | Meaning | Source |\n|---|---|---|---|\n"
		for _, f := range Table() {
			if f.Of == of {
				want += fmt.Sprintf("| %s | %s | %s | %s |\n", f.Name, f.Unit, f.Meaning, f.Source)
			}
		}
		section := regexp.MustCompile(`(?s)\n` + heading + `\n[^#|]*?((\|[^\n]*\n)+)`).FindStringSubmatch(text)
		require.NotNil(t, section, "%s has no table under %q", page, heading)
		if *update {
			text = strings.Replace(text, section[0], strings.Replace(section[0], section[1], want, 1), 1)
			continue
		}
		require.Equal(t, want, section[1], "%s, %s: run go test ./bench/facts -run TestTable -update", page, heading)
	}
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(text), 0o666))
	}
}

// known checks that facts are in the table, with values of the documented types.
func known(t *testing.T, of string, facts bench.Facts) {
	t.Helper()
	require.NoError(t, Check(of, facts))
}

func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Table() {
		require.False(t, seen[f.Name], f.Name)
		seen[f.Name] = true
		require.Contains(t, []string{device, row}, f.Of)
		require.NotEmpty(t, f.Meaning, f.Name)
		require.NotEmpty(t, f.Source, f.Name)
	}
}

func TestCheck(t *testing.T) {
	require.NoError(t, Check("device", bench.Facts{Memory: int64(1), DeviceTimer: true, UUID: "x", MaximumClock: 1.5}))
	require.EqualError(t, Check("device", bench.Facts{"memori": int64(1)}),
		`fact "memori" of a device is not in facts.Table: did you mean "memory"?`)
	require.EqualError(t, Check("row", bench.Facts{Memory: int64(1)}),
		`fact "memory" of a row is not in facts.Table: did you mean "local memory"?`)
	require.EqualError(t, Check("device", bench.Facts{Memory: []int{1}}),
		`fact "memory" has the type []int: use a number, a string or a boolean`)
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		name  string
		value any
		want  string
	}{
		{Memory, int64(16 << 30), "16 GiB"}, {Memory, int64(25276510208), "23.5 GiB"}, {Memory, int64(1000), "1000 bytes"},
		{SharedLimit, int64(49152), "48 KiB"}, {L2Cache, int64(62914560), "60 MiB"}, {Memory, int64(1508000), "1.44 MiB"},
		{MaximumClock, 1980.0, "1980 MHz"}, {SubgroupSize, int64(32), "32"}, {DeviceTimer, true, "yes"},
		{DeviceTimer, false, "no"}, {TimerResolution, 0.5, "0.5 ns"}, {UUID, "GPU-1", "GPU-1"}, {"other", 3, "3"},
	} {
		require.Equal(t, c.want, Text(c.name, c.value))
	}
}
