package facts

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	_ "tvmgo/runtime/all"
)

// output runs a tool that build/scripts/deps.sh installs, and returns its output.
func output(t *testing.T, tool string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(tool); err != nil {
		require.Empty(t, os.Getenv("CI"), "install %s", tool)
		t.Skip("there is no ", tool)
	}
	out, err := exec.Command(tool, args...).Output()
	require.NoError(t, err, "%s", tool)
	return string(out)
}

// opened opens the first device of a type, or skips the test.
func opened(t *testing.T, kind dlpack.DeviceType) *bench.Device {
	t.Helper()
	d, err := Open(dlpack.Device{Type: kind})
	if err != nil {
		require.ErrorIs(t, err, runtime.ErrDeviceUnavailable)
		require.Empty(t, os.Getenv("CI"), "%v", err)
		t.Skip(err)
	}
	t.Cleanup(func() { require.NoError(t, Close(d)) })
	known(t, device, d.Facts)
	return d
}

// Every device of this machine has facts of the table alone, and a title.
func TestOpen_EveryDevice(t *testing.T) {
	for _, s := range runtime.Devices() {
		if s.Err != nil {
			continue
		}
		d, err := Open(s.Device)
		require.NoError(t, err)
		known(t, device, d.Facts)
		require.Equal(t, s.Device.String(), d.Name)
		require.Equal(t, s.Device, d.Handle)
		require.NotEmpty(t, d.Title)
		require.NotNil(t, d.Facts[DeviceTimer])
		require.NotNil(t, d.Facts[Processor])
		require.NotNil(t, d.Facts[MemoryType])
		require.NoError(t, Close(d))
		require.NoError(t, Close(d))
	}
	require.NoError(t, Close(nil))
}

func TestFind(t *testing.T) {
	require.Equal(t, runtime.CPU, must.Get(Find("cpu"))(t))
	for name, want := range map[string]string{
		"cpuu:0":   `did you mean "cpu"?`,
		"vulcan":   `did you mean "vulkan"?`,
		"":         "the device type is missing",
		"cpu:1":    "there is no such device here; there is: cpu:0",
		"cpu:x":    `"x" is not a number`,
		"metal:0":  "metal",
		"opencl:9": "opencl",
	} {
		require.ErrorContains(t, must.Fail(Find(name)), want, name)
	}
	_, err := Open(dlpack.Device{Type: dlpack.CPU, ID: 7})
	require.ErrorIs(t, err, runtime.ErrDeviceUnavailable)
	require.ErrorContains(t, err, "open cpu:7: ")
}

// The facts of an OpenCL device are those that clinfo shows.
func TestOpenCL_EqualsClinfo(t *testing.T) {
	d := opened(t, dlpack.OpenCL)
	raw := output(t, "clinfo", "--raw")
	value := func(name string) string {
		m := regexp.MustCompile(`(?m)/0\]\s+` + name + `\s+(.*?)\s*$`).FindStringSubmatch(raw)
		require.NotNil(t, m, name)
		return m[1]
	}
	count := func(name string) int64 { return must.Get(strconv.ParseInt(value(name), 10, 64))(t) }
	require.Equal(t, value("CL_DEVICE_NAME"), d.Title)
	require.Equal(t, value("CL_DRIVER_VERSION"), d.Facts[DriverVersion])
	require.Contains(t, raw, " CL_PLATFORM_NAME ")
	require.Contains(t, raw, d.Facts[DriverName])
	require.Equal(t, strings.Fields(value("CL_DEVICE_VERSION"))[1], d.Facts[APIVersion])
	require.Equal(t, count("CL_DEVICE_MAX_COMPUTE_UNITS"), d.Facts[ComputeUnits])
	require.EqualValues(t, count("CL_DEVICE_MAX_CLOCK_FREQUENCY"), d.Facts[MaximumClock])
	require.Equal(t, count("CL_DEVICE_MAX_WORK_GROUP_SIZE"), d.Facts[ThreadsLimit])
	require.Equal(t, count("CL_DEVICE_LOCAL_MEM_SIZE"), d.Facts[SharedLimit])
	require.Equal(t, count("CL_DEVICE_GLOBAL_MEM_SIZE"), d.Facts[Memory])
	require.Equal(t, count("CL_DEVICE_MAX_MEM_ALLOC_SIZE"), d.Facts[AllocationLimit])
	require.Equal(t, count("CL_DEVICE_GLOBAL_MEM_CACHE_SIZE"), d.Facts[L2Cache])
	require.Equal(t, count("CL_DEVICE_PROFILING_TIMER_RESOLUTION"), d.Facts[TimerResolution])
	require.Equal(t, map[string]string{"CL_TRUE": shared, "CL_FALSE": deviceLocal}[value("CL_DEVICE_HOST_UNIFIED_MEMORY")],
		d.Facts[MemoryType])
	require.Equal(t, strings.Contains(value("CL_DEVICE_TYPE"), "CPU"), d.Facts[Processor] == "CPU")
	require.Equal(t, true, d.Facts[DeviceTimer])
}

// The facts of a Vulkan device are those that vulkaninfo shows.
func TestVulkan_EqualsVulkaninfo(t *testing.T) {
	d := opened(t, dlpack.Vulkan)
	all := output(t, "vulkaninfo")
	value := func(name string) string {
		m := regexp.MustCompile(`(?m)^\s+` + name + `\s+= (.*?)\s*$`).FindStringSubmatch(all)
		require.NotNil(t, m, name)
		return m[1]
	}
	count := func(name string) int64 { return must.Get(strconv.ParseInt(value(name), 0, 64))(t) }
	require.Equal(t, value("deviceName"), d.Title)
	require.Equal(t, value("driverName"), d.Facts[DriverName])
	require.Equal(t, value("driverInfo"), d.Facts[DriverVersion])
	require.Equal(t, strings.Fields(value("apiVersion"))[0], d.Facts[APIVersion])
	require.Equal(t, count("maxComputeSharedMemorySize"), d.Facts[SharedLimit])
	require.Equal(t, count("maxComputeWorkGroupInvocations"), d.Facts[ThreadsLimit])
	require.Equal(t, count("maxMemoryAllocationSize"), d.Facts[AllocationLimit])
	require.Equal(t, count("subgroupSize"), d.Facts[SubgroupSize])
	require.Equal(t, must.Get(strconv.ParseFloat(value("timestampPeriod"), 64))(t), d.Facts[TimerResolution])
	require.Equal(t, "GPU-"+value("deviceUUID"), d.Facts[UUID])
	require.Equal(t, value("deviceType") == "PHYSICAL_DEVICE_TYPE_CPU", d.Facts[Processor] == "CPU")
	m := regexp.MustCompile(`^type (\d+) \((.*)\) of heap (\d+)$`).FindStringSubmatch(d.Facts[MemoryHeap].(string))
	require.NotNil(t, m, d.Facts[MemoryHeap])
	_, heap, _ := strings.Cut(all, "memoryHeaps["+m[3]+"]:")
	size := regexp.MustCompile(`size\s+= (\d+)`).FindStringSubmatch(heap)
	require.Equal(t, must.Get(strconv.ParseInt(size[1], 10, 64))(t), d.Facts[Memory])
	_, kind, _ := strings.Cut(all, "memoryTypes["+m[1]+"]:")
	kind, _, _ = strings.Cut(kind, "usable for")
	for flag, bit := range map[string]string{"device-local": "MEMORY_PROPERTY_DEVICE_LOCAL_BIT",
		"host-visible": "MEMORY_PROPERTY_HOST_VISIBLE_BIT", "host-cached": "MEMORY_PROPERTY_HOST_CACHED_BIT"} {
		require.Equal(t, strings.Contains(kind, bit), strings.Contains(m[2], flag), flag)
	}
}

// The facts of the CPU are those that lscpu shows.
func TestCPU_EqualsLscpu(t *testing.T) {
	d := opened(t, dlpack.CPU)
	about := output(t, "env", "LC_ALL=C", "lscpu")
	value := func(name string) string {
		m := regexp.MustCompile(`(?m)^\s*` + name + `:\s+(.*?)\s*$`).FindStringSubmatch(about)
		require.NotNil(t, m, name)
		return m[1]
	}
	require.Equal(t, value("Model name"), d.Title)
	require.EqualValues(t, must.Get(strconv.ParseInt(value(`CPU\(s\)`), 10, 64))(t), d.Facts[LogicalCPUs])
	cores := map[string]bool{}
	for line := range strings.Lines(output(t, "lscpu", "-p=CORE,SOCKET")) {
		if !strings.HasPrefix(line, "#") {
			cores[line] = true
		}
	}
	require.EqualValues(t, len(cores), d.Facts[Cores])
	var caches struct {
		Caches []struct {
			Name string
			Size string `json:"one-size"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(output(t, "lscpu", "-B", "-J", "-C=NAME,ONE-SIZE")), &caches))
	for _, c := range caches.Caches {
		if name := map[string]string{"L1d": L1Cache, "L2": L2Cache, "L3": L3Cache}[c.Name]; name != "" {
			require.Equal(t, must.Get(strconv.ParseInt(c.Size, 10, 64))(t), d.Facts[name], name)
		}
	}
	require.EqualValues(t, runtime.NumThreads(), d.Facts[Threads])
	require.Equal(t, hostMemory, d.Facts[MemoryType])
	require.Equal(t, false, d.Facts[DeviceTimer], "it is the host's clock")
	flags := " " + regexp.MustCompile(`(?m)^(flags|Features)\s*: (.*)$`).FindString(
		string(must.Get(os.ReadFile("/proc/cpuinfo"))(t))) + " "
	simd, _ := d.Facts[SIMD].(string)
	for llvm, kernel := range map[string]string{"avx2": "avx2", "avx512f": "avx512f", "fma": "fma", "neon": "asimd",
		"avx512vnni": "avx512_vnni", "avx512bf16": "avx512_bf16", "amx-int8": "amx_int8"} {
		require.Equal(t, strings.Contains(flags, " "+kernel+" "),
			strings.Contains(", "+simd+",", ", "+llvm+","), llvm)
	}
}

func files(all map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, data := range all {
		m[name] = &fstest.MapFile{Data: []byte(data + "\n")}
	}
	return m
}

// A machine with two cores of two threads each, one of which is off, and cpufreq.
func TestDescribeCPU(t *testing.T) {
	const c = "sys/devices/system/cpu/"
	tree := files(map[string]string{
		"proc/cpuinfo":                  "processor\t: 0\nmodel name\t: Example 9\ncpu MHz\t: 1",
		"proc/meminfo":                  "MemTotal:       1024 kB\nMemFree: 1 kB\nMemAvailable:    512 kB",
		c + "cpu0/cache/index0/level":   "1",
		c + "cpu0/cache/index0/type":    "Data",
		c + "cpu0/cache/index0/size":    "48K",
		c + "cpu0/cache/index1/level":   "1",
		c + "cpu0/cache/index1/type":    "Instruction",
		c + "cpu0/cache/index1/size":    "32K",
		c + "cpu0/cache/index2/level":   "2",
		c + "cpu0/cache/index2/type":    "Unified",
		c + "cpu0/cache/index2/size":    "2M",
		c + "cpu0/cache/index3/level":   "3",
		c + "cpu0/cache/index3/type":    "Unified",
		c + "cpu0/cache/index3/size":    "[N/A]",
		c + "intel_pstate/no_turbo":     "1",
		c + "cpufreq/policy0/unrelated": "1",
	})
	for i, sibling := range []string{"0,2", "1,3", "0,2", "1,3"} {
		folder := c + "cpu" + strconv.Itoa(i)
		for name, data := range map[string]string{"/topology/thread_siblings_list": sibling,
			"/cpufreq/scaling_governor": "powersave", "/cpufreq/cpuinfo_max_freq": strconv.Itoa(3500000 + i*100000),
			"/cpufreq/cpuinfo_min_freq": "800000", "/online": "1"} {
			tree[folder+name] = &fstest.MapFile{Data: []byte(data + "\n")}
		}
	}
	tree[c+"cpu3/online"] = &fstest.MapFile{Data: []byte("0\n")}
	tree[c+"cpu0/online"] = nil
	delete(tree, c+"cpu0/online") // the first CPU cannot be switched off
	f := bench.Facts{}
	require.Equal(t, "Example 9", describeCPU(tree, f))
	for _, own := range []string{Threads, Architecture, SIMD} { // of this machine
		delete(f, own)
	}
	require.Equal(t, bench.Facts{Processor: "CPU", MemoryType: "host", Memory: int64(1 << 20),
		FreeMemory: int64(512 << 10), LogicalCPUs: int64(3), Cores: int64(2), L1Cache: int64(48 << 10),
		L2Cache: int64(2 << 20), Governor: "powersave", MaximumClock: 3700.0, MinimumClock: 800.0, Turbo: false}, f)

	tree[c+"cpu1/cpufreq/scaling_governor"] = &fstest.MapFile{Data: []byte("performance")}
	tree[c+"intel_pstate/no_turbo"] = &fstest.MapFile{Data: []byte("0")}
	describeCPU(tree, f)
	require.Equal(t, "powersave, performance", f[Governor])
	require.Equal(t, true, f[Turbo])

	empty := bench.Facts{}
	require.NotEmpty(t, describeCPU(fstest.MapFS{}, empty))
	for name := range empty {
		require.Contains(t, []string{Processor, MemoryType, Threads, Architecture, SIMD}, name)
	}
}

func TestNvidiaVersion(t *testing.T) {
	for text, want := range map[string]string{
		"NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC 2024\n": "550.54.14",
		"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build":         "570.86.15",
		"something else": "", "": "",
	} {
		require.Equal(t, want, nvidiaVersion(files(map[string]string{"proc/driver/nvidia/version": text})))
	}
	require.Empty(t, nvidiaVersion(fstest.MapFS{}))
}

func TestPCI(t *testing.T) {
	for in, want := range map[string]string{"0000:65:00.0": "0000:65:00.0", "00000000:65:00.0": "0000:65:00.0",
		"0000:C1:00.0": "0000:c1:00.0", "65:00.0": "0000:65:00.0", "00010000:65:00.0": "00010000:65:00.0"} {
		require.Equal(t, want, pciAddress(in), in)
	}
	const at = "sys/bus/pci/devices/0000:65:00.0/"
	link := files(map[string]string{at + "current_link_speed": "16.0 GT/s PCIe", at + "current_link_width": "8",
		at + "max_link_speed": "32.0 GT/s PCIe", at + "max_link_width": "16"})
	require.Equal(t, "16.0 GT/s x8 (of 32.0 GT/s x16)", pcieLink(link, "0000:65:00.0"))
	require.Empty(t, pcieLink(link, "0000:66:00.0"))
	link[at+"max_link_speed"] = &fstest.MapFile{Data: []byte("16.0 GT/s PCIe")}
	link[at+"max_link_width"] = &fstest.MapFile{Data: []byte("8")}
	require.Equal(t, "16.0 GT/s x8", pcieLink(link, "0000:65:00.0"))
	link[at+"current_link_speed"] = &fstest.MapFile{Data: []byte("Unknown")}
	require.Empty(t, pcieLink(link, "0000:65:00.0"))
}
