package suite

import (
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// clpeakFigures runs clpeak 1 on PoCL, and returns its figures by "test/metric".
func clpeakFigures(t *testing.T, flags ...string) map[string]float64 {
	t.Helper()
	file := filepath.Join(t.TempDir(), "clpeak.xml")
	cmd := exec.CommandContext(t.Context(), "clpeak", append(flags, "--enable-xml-dump", "-f", file)...)
	cmd.Env = append(os.Environ(), "POCL_DEVICES=pthread")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	figures := map[string]float64{}
	var path []string
	d := xml.NewDecoder(strings.NewReader(string(must.Get(os.ReadFile(file))(t))))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return figures
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			path = append(path, token.Name.Local)
		case xml.EndElement:
			path = path[:len(path)-1]
		case xml.CharData:
			if v, err := strconv.ParseFloat(strings.TrimSpace(string(token)), 64); err == nil && len(path) == 5 {
				figures[path[3]+"/"+path[4]] = v
			}
		}
	}
}

// deviceName is the name that a driver reports. It fails the test if the device does not exist.
func deviceName(t *testing.T, on *bench.Device) string {
	t.Helper()
	return must.Get(runtime.DeviceAttr(on.Handle, runtime.AttrDeviceName))(t).(string)
}

// Rates of multiply-adds are those of clpeak on PoCL within 10 %, in all widths of vectors. Bandwidths are shown.
// Rounds alternate, and the best one counts, because a busy machine only makes a kernel slower.
func TestCompute_LikeClpeak(t *testing.T) {
	if os.Getenv("TVMGO_TEST_ALL") == "" {
		t.Skip("takes minutes: set TVMGO_TEST_ALL=1")
	}
	if _, err := exec.LookPath("clpeak"); err != nil {
		require.Empty(t, os.Getenv("CI"), "build/scripts/deps.sh installs clpeak: %v", err)
		t.Skip("build/scripts/deps.sh installs clpeak: ", err)
	}
	on := testDevice(t, dlpack.OpenCL)
	for ; !strings.HasPrefix(deviceName(t, on), "pthread"); on.Handle.ID++ { // the one that clpeak measures
	}
	ours, theirs := map[string]float64{}, map[string]float64{}
	works := map[string]bench.Work{}
	for _, p := range computePeaks() {
		if p.single && p.t.Bits > 16 {
			works[p.name] = must.Open(p.open(t.Context(), on, launchTime))(t)
		}
	}
	for _, m := range memoryKernels() {
		if m.value == "" {
			works[m.name] = must.Open(m.open(on, &resources{}, mostBytes))(t)
		}
	}
	differ := func() (names []string) {
		for name := range works {
			if strings.Contains(name, "_compute/") && math.Abs(ours[name]/theirs[name]-1) > 0.1 {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names
	}
	for round := 0; round < 3 || round < 20 && len(differ()) > 0; round++ {
		for name, v := range clpeakFigures(t, "--compute-sp", "--compute-dp", "--compute-integer", "--global-bandwidth",
			"--use-event-timer") {
			theirs[name] = max(theirs[name], v)
		}
		for name, w := range works {
			if round == 0 {
				must.Get(w.Check(t.Context()))(t)
			}
			for range 10 {
				took := must.Get(w.Run(t.Context(), 1))(t)
				a := w.Amount()
				ours[name] = max(ours[name], (a.Ops+a.Bytes)/float64(took.Wall.Nanoseconds()))
			}
		}
		t.Logf("round %d: %v differ", round, differ())
	}
	for _, name := range slices.Sorted(maps.Keys(works)) {
		t.Logf("%-34s %7.2f, clpeak %7.2f: %.3f", name, ours[name], theirs[name], ours[name]/theirs[name])
	}
	require.Empty(t, differ())
}
