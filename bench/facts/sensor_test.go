package facts

import (
	"context"
	"fmt"
	"io/fs"
	"strconv"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/fakenvml"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

func ptr(v float64) *float64 { return &v }

const cpuPath = "sys/devices/system/cpu/"

// machine is a tree of two packages with two CPUs each.
func machine() fstest.MapFS {
	tree := map[string]string{
		"sys/class/hwmon/hwmon0/name": "nvme", "sys/class/hwmon/hwmon0/temp1_input": "99000",
		"sys/class/hwmon/hwmon1/name": "coretemp", "sys/class/hwmon/hwmon1/temp1_input": "61000",
		"sys/class/hwmon/hwmon1/temp1_label": "Package id 0", "sys/class/hwmon/hwmon1/temp2_input": "70000",
		"sys/class/hwmon/hwmon1/temp2_label": "Core 0",
		"sys/class/hwmon/hwmon2/name":        "coretemp", "sys/class/hwmon/hwmon2/temp1_input": "64500",
		"sys/class/hwmon/hwmon2/temp1_label":                  "Package id 1",
		"sys/class/powercap/intel-rapl:0/name":                "package-0",
		"sys/class/powercap/intel-rapl:0/energy_uj":           "1000000",
		"sys/class/powercap/intel-rapl:0/max_energy_range_uj": "10000000",
		"sys/class/powercap/intel-rapl:1/name":                "package-1",
		"sys/class/powercap/intel-rapl:1/energy_uj":           "9000000",
		"sys/class/powercap/intel-rapl:1/max_energy_range_uj": "10000000",
		"sys/class/powercap/intel-rapl:2/name":                "psys", "sys/class/powercap/intel-rapl:2/energy_uj": "5",
	}
	for i := range 4 {
		c := cpuPath + "cpu" + strconv.Itoa(i)
		tree[c+"/cpufreq/scaling_cur_freq"] = strconv.Itoa(2000000 + 100500*i)
		tree[c+"/topology/physical_package_id"] = strconv.Itoa(i / 2)
		tree[c+"/thermal_throttle/core_throttle_count"] = "7"
		tree[c+"/thermal_throttle/package_throttle_count"] = "9"
	}
	return files(tree)
}

func set(tree fstest.MapFS, name, value string) { tree[name] = &fstest.MapFile{Data: []byte(value)} }

func TestCPUSensor(t *testing.T) {
	tree := machine()
	s := cpuSensor(tree)
	sensor, name := system(s)
	require.Equal(t, "cpufreq, coretemp, RAPL, thermal_throttle", name)
	now := time.Unix(1000, 0)
	s.now = func() time.Time { return now }
	read := func() bench.Reading { return must.Get(sensor.Read())(t) }

	require.Equal(t, bench.Reading{ClockMHz: ptr(2301.5), Celsius: ptr(64.5)}, read(), "power needs two readings")
	now = now.Add(2 * time.Second)
	set(tree, "sys/class/powercap/intel-rapl:0/energy_uj", "4000000") // 3 J
	set(tree, "sys/class/powercap/intel-rapl:1/energy_uj", "1000000") // 2 J, with an overflow
	set(tree, cpuPath+"cpu2/cpufreq/scaling_cur_freq", "3500000")
	set(tree, cpuPath+"cpu3/thermal_throttle/core_throttle_count", "8")
	require.Equal(t, bench.Reading{ClockMHz: ptr(3500), Celsius: ptr(64.5), Watts: ptr(2.5),
		Throttled: []string{"core thermal throttle"}}, read())
	now = now.Add(time.Second)
	set(tree, cpuPath+"cpu2/thermal_throttle/package_throttle_count", "10")
	require.Equal(t, []string{"package thermal throttle"}, read().Throttled, "counted once")
	set(tree, cpuPath+"cpu0/thermal_throttle/package_throttle_count", "12")
	require.Equal(t, []string{"package thermal throttle"}, read().Throttled)
	require.Nil(t, read().Throttled)
	require.Nil(t, read().Watts, "no time has passed")

	// Files disappear one after the other: the others are still read.
	now = now.Add(time.Second)
	delete(tree, "sys/class/powercap/intel-rapl:1/energy_uj")
	require.Nil(t, read().Watts)
	set(tree, "sys/class/powercap/intel-rapl:1/energy_uj", "100")
	now = now.Add(time.Second)
	require.Nil(t, read().Watts, "the meter begins anew")
	now = now.Add(time.Second)
	set(tree, "sys/class/powercap/intel-rapl:1/energy_uj", "1000100")
	require.Equal(t, ptr(1), read().Watts)
	for i := range 3 {
		set(tree, fmt.Sprintf("%scpu%d/cpufreq/scaling_cur_freq", cpuPath, i), "[N/A]")
	}
	require.Equal(t, ptr(2301.5), read().ClockMHz)
	delete(tree, cpuPath+"cpu3/cpufreq/scaling_cur_freq")
	set(tree, "sys/class/hwmon/hwmon2/temp1_input", "")
	r := read()
	require.Nil(t, r.ClockMHz)
	require.Equal(t, ptr(61), r.Celsius)

	clear(tree)
	_, err := sensor.Read()
	require.ErrorIs(t, err, runtime.ErrDeviceUnavailable)
	require.ErrorContains(t, err, "the files of cpufreq, coretemp, RAPL, thermal_throttle have disappeared")
	require.NoError(t, sensor.Close())
	require.NoError(t, sensor.Close())
	require.ErrorIs(t, must.Fail(sensor.Read()), runtime.ErrClosed)
}

// Each way to read a clock and a temperature that a machine may have.
func TestCPUSensor_Sources(t *testing.T) {
	for _, c := range []struct {
		title string
		tree  map[string]string
		name  string
		want  bench.Reading
	}{
		{"nothing", map[string]string{}, "", bench.Reading{}},
		{"no number", map[string]string{"proc/cpuinfo": "cpu MHz : unknown"}, "", bench.Reading{}},
		{"cpuinfo", map[string]string{"proc/cpuinfo": "cpu MHz\t\t: 2596.098\nx : 1\ncpu MHz\t\t: 2600.5\n"},
			"/proc/cpuinfo", bench.Reading{ClockMHz: ptr(2600.5)}},
		{"AMD", map[string]string{"sys/class/hwmon/hwmon3/name": "k10temp", "sys/class/hwmon/hwmon3/temp1_input": "51250",
			"sys/class/hwmon/hwmon3/temp1_label": "Tctl", "sys/class/hwmon/hwmon3/temp3_input": "90000",
			"sys/class/hwmon/hwmon3/temp3_label": "Tccd1"}, "k10temp", bench.Reading{Celsius: ptr(51.25)}},
		{"without labels", map[string]string{"sys/class/hwmon/hwmon3/name": "cpu_thermal",
			"sys/class/hwmon/hwmon3/temp1_input": "40000"}, "cpu_thermal", bench.Reading{Celsius: ptr(40)}},
		{"thermal zone", map[string]string{"sys/class/thermal/thermal_zone0/type": "acpitz",
			"sys/class/thermal/thermal_zone0/temp": "80000", "sys/class/thermal/thermal_zone1/type": "CPU-therm",
			"sys/class/thermal/thermal_zone1/temp": "45500"}, "thermal zone", bench.Reading{Celsius: ptr(45.5)}},
		{"energy for root only", map[string]string{"sys/class/powercap/intel-rapl:0/name": "package-0"}, "",
			bench.Reading{}},
	} {
		sensor, name := system(cpuSensor(files(c.tree)))
		require.Equal(t, c.name, name, c.title)
		if c.name == "" {
			require.Nil(t, sensor, c.title)
			continue
		}
		require.Equal(t, c.want, must.Get(sensor.Read())(t), c.title)
	}
}

const gpuPath = "sys/bus/pci/devices/0000:03:00.0/"

func TestGPUSensor(t *testing.T) {
	for _, c := range []struct {
		title string
		tree  map[string]string
		name  string
		want  bench.Reading
	}{
		{"amdgpu", map[string]string{"hwmon/hwmon4/name": "amdgpu", "hwmon/hwmon4/freq1_input": "2105000000",
			"hwmon/hwmon4/freq2_input": "1000000000", "hwmon/hwmon4/temp1_input": "72000",
			"hwmon/hwmon4/power1_average": "215500000"}, "amdgpu",
			bench.Reading{ClockMHz: ptr(2105), MemoryClockMHz: ptr(1000), Celsius: ptr(72), Watts: ptr(215.5)}},
		{"a value that the card lacks", map[string]string{"hwmon/hwmon4/name": "amdgpu",
			"hwmon/hwmon4/freq1_input": "2105000000", "hwmon/hwmon4/power1_average": "[N/A]"}, "amdgpu",
			bench.Reading{ClockMHz: ptr(2105)}},
		{"i915", map[string]string{"drm/card0/gt_act_freq_mhz": "1150", "drm/card0/gt_cur_freq_mhz": "1300",
			"drm/card0/gt/gt0/throttle_reason_status": "1", "drm/card0/gt/gt0/throttle_reason_pl1": "1",
			"drm/card0/gt/gt0/throttle_reason_thermal": "0"}, "sysfs",
			bench.Reading{ClockMHz: ptr(1150), Throttled: []string{"pl1"}}},
		{"xe", map[string]string{"tile0/gt0/freq0/act_freq": "2050", "tile0/gt1/freq0/act_freq": "400",
			"tile0/gt0/freq0/throttle/reason_prochot": "1", "tile0/gt0/freq0/throttle/reason_pl4": "0"}, "sysfs",
			bench.Reading{ClockMHz: ptr(2050), Throttled: []string{"prochot"}}},
		{"nothing", map[string]string{"vendor": "0x10de"}, "", bench.Reading{}},
	} {
		tree := fstest.MapFS{}
		for name, value := range c.tree {
			set(tree, gpuPath+name, value+"\n")
		}
		t.Setenv("TVMGO_NVML_LIBRARY", "/no/such/library.so")
		sensor, name := sensorOf(bench.Facts{Processor: "discrete GPU", PCIAddress: "0000:03:00.0"}, tree)
		require.Equal(t, c.name, name, c.title)
		if c.name == "" {
			require.Nil(t, sensor, c.title)
			continue
		}
		require.Equal(t, c.want, must.Get(sensor.Read())(t), c.title)
	}
	tree := files(map[string]string{gpuPath + "hwmon/hwmon4/name": "i915", gpuPath + "hwmon/hwmon4/energy1_input": "1000"})
	s := gpuSensor(tree, "0000:03:00.0")
	sensor, name := system(s)
	require.Equal(t, "i915", name)
	now := time.Unix(5, 0)
	s.now = func() time.Time { return now }
	require.Equal(t, bench.Reading{}, must.Get(sensor.Read())(t))
	now = now.Add(time.Second)
	set(tree, gpuPath+"hwmon/hwmon4/energy1_input", "12001000")
	require.Equal(t, bench.Reading{Watts: ptr(12)}, must.Get(sensor.Read())(t))
}

// A device behind OpenCL or Vulkan that is the CPU has the CPU's sensor; a GPU that NVML does not know has none of
// NVIDIA's; a device without an address has none.
func TestSensorOf(t *testing.T) {
	t.Setenv("TVMGO_NVML_LIBRARY", fakenvml.Build(t))
	_, name := sensorOf(bench.Facts{Processor: "CPU"}, machine())
	require.Contains(t, name, "cpufreq")
	for facts, want := range map[[2]string]float64{{"0000:19:00.0", ""}: 345, {"0000:29:00.0", ""}: 1980,
		{"", "GPU-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadae00"}: 345} {
		f := bench.Facts{Processor: "GPU"}
		(&asked{facts: f}).set(PCIAddress, facts[0])
		(&asked{facts: f}).set(UUID, facts[1])
		s, name := sensorOf(f, fstest.MapFS{})
		require.Equal(t, "NVML", name)
		require.Equal(t, ptr(want), must.Get(s.Read())(t).ClockMHz)
		require.NoError(t, s.Close())
	}
	for _, f := range []bench.Facts{{Processor: "GPU"}, {PCIAddress: "0000:77:00.0"}, {UUID: "GPU-77"}} {
		s, name := sensorOf(f, fstest.MapFS{})
		require.Nil(t, s)
		require.Empty(t, name)
	}
}

// counting counts the files that are opened.
type counting struct {
	fs.FS
	opened int
}

func (c *counting) Open(name string) (fs.File, error) {
	c.opened++
	return c.FS.Open(name)
}

// A reading opens a bounded number of files, however many CPUs there are, and writes none: fs.FS cannot.
func TestCPUSensor_IsCheap(t *testing.T) {
	tree := machine()
	for i := range 512 {
		c := cpuPath + "cpu" + strconv.Itoa(i)
		set(tree, c+"/cpufreq/scaling_cur_freq", strconv.Itoa(1000*i))
		set(tree, c+"/thermal_throttle/core_throttle_count", "0")
	}
	c := &counting{FS: tree}
	s, _ := system(cpuSensor(c))
	c.opened = 0
	require.Equal(t, ptr(float64(512*63/64)), must.Get(s.Read())(t).ClockMHz)
	require.LessOrEqual(t, c.opened, 2*maxFiles+8)
}

// op is an operation that changes the clock of its device.
type op struct {
	clocks []string
	n      int
	change func(string)
}

func (*op) Amount() bench.Amount                  { return bench.Amount{Ops: 1} }
func (*op) Check(context.Context) (string, error) { return "", nil }
func (*op) Facts() bench.Facts                    { return nil }
func (*op) Close() error                          { return nil }
func (o *op) Run(context.Context, int) (bench.Elapsed, error) {
	o.change(o.clocks[o.n%len(o.clocks)])
	o.n++
	return bench.Elapsed{Wall: time.Millisecond}, nil
}

// The clocks during the samples are in the conditions of the row: of a synthetic machine, and of a GPU by NVML.
func TestRun_ClockDuringTheRun(t *testing.T) {
	tree := machine()
	t.Setenv("TVMGO_NVML_LIBRARY", fakenvml.Build(t))
	cpu := &bench.Device{Name: "cpu:0", Handle: dlpack.Device{Type: dlpack.CPU}}
	cpu.Sensor, _ = sensorOf(bench.Facts{Processor: "CPU"}, tree)
	gpu := &bench.Device{Name: "cuda:0", Handle: dlpack.Device{Type: dlpack.CUDA}}
	gpu.Sensor, _ = sensorOf(bench.Facts{PCIAddress: "0000:19:00.0"}, tree)
	none := &bench.Device{Name: "opencl:0", Handle: dlpack.Device{Type: dlpack.OpenCL}}
	k := &bench.Case{Suite: "s", Name: "c", Figure: bench.Time, Variants: []bench.Variant{{
		Open: func(_ context.Context, on *bench.Device) (bench.Work, error) {
			if on == gpu {
				return &op{clocks: []string{"1500", "1980", "1740"}, change: func(mhz string) {
					t.Setenv("FAKENVML_MHZ", mhz)
					t.Setenv("FAKENVML_REASONS", "0x4")
				}}, nil
			}
			return &op{clocks: []string{"2400000", "3100000", "2900000"}, change: func(khz string) {
				for i := range 4 {
					set(tree, fmt.Sprintf("%scpu%d/cpufreq/scaling_cur_freq", cpuPath, i), khz)
				}
			}}, nil
		}}}}
	r, err := bench.Run(t.Context(), bench.Config{Rounds: 7, Sample: time.Nanosecond, WarmUp: time.Nanosecond},
		[]*bench.Case{k}, []*bench.Device{cpu, gpu, none})
	require.NoError(t, err)
	require.Len(t, r.Rows, 3)
	require.Equal(t, &bench.Range{Min: 2400, Max: 3100}, r.Rows[0].Conditions.ClockMHz)
	require.Equal(t, &bench.Range{Min: 64.5, Max: 64.5}, r.Rows[0].Conditions.Celsius)
	require.Equal(t, &bench.Range{Min: 1500, Max: 1980}, r.Rows[1].Conditions.ClockMHz)
	require.Equal(t, &bench.Range{Min: 75.125, Max: 75.125}, r.Rows[1].Conditions.Watts)
	require.Equal(t, []string{"SW Power Cap"}, r.Rows[1].Conditions.Throttled)
	require.Nil(t, r.Rows[2].Conditions, "no sensor")
	require.NoError(t, Close(gpu))
}
