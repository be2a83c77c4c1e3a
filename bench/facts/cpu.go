package facts

import (
	"io/fs"
	"path"
	"regexp"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"

	"tvmgo/bench"
	"tvmgo/internal/cpufeatures"
	"tvmgo/runtime"
)

const cpus = "sys/devices/system/cpu"

// describeCPU adds the facts of the machine's processor, and returns its name.
func describeCPU(files fs.FS, f bench.Facts) string {
	set := func(name string, value any) { (&asked{facts: f}).set(name, value) }
	set(Processor, "CPU")
	set(MemoryType, hostMemory)
	set(Memory, memoryField(files, "MemTotal"))
	set(FreeMemory, memoryField(files, "MemAvailable"))
	set(Threads, int64(runtime.NumThreads()))
	set(Architecture, hostArchitecture())
	set(SIMD, strings.Join(simd(), ", "))

	all, cores := cpuFolders(files), map[string]bool{}
	set(LogicalCPUs, int64(len(all)))
	for _, c := range all {
		if siblings := text(files, c+"/topology/thread_siblings_list"); siblings != "" {
			cores[siblings] = true
		}
	}
	set(Cores, int64(len(cores)))
	caches(files, set)
	clocks(files, all, set)
	return title(files)
}

// title returns the name of the processor.
func title(files fs.FS) string {
	for line := range strings.Lines(text(files, "proc/cpuinfo")) {
		key, value, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(key) {
		case "model name", "Model", "cpu model", "uarch":
			return strings.TrimSpace(value)
		}
	}
	return goruntime.GOARCH
}

// memoryField returns a line of /proc/meminfo in bytes; 0 if there is none.
func memoryField(files fs.FS, name string) int64 {
	for line := range strings.Lines(text(files, "proc/meminfo")) {
		if key, value, _ := strings.Cut(line, ":"); key == name {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kib << 10
		}
	}
	return 0
}

var cpuFolder = regexp.MustCompile(`^cpu(\d+)$`)

// cpuFolders returns the folders of the logical CPUs that are online, by number.
func cpuFolders(files fs.FS) (list []string) {
	entries, _ := fs.ReadDir(files, cpus)
	number := map[string]int{}
	for _, e := range entries {
		m := cpuFolder.FindStringSubmatch(e.Name())
		if m == nil || text(files, path.Join(cpus, e.Name(), "online")) == "0" {
			continue
		}
		folder := path.Join(cpus, e.Name())
		number[folder], _ = strconv.Atoi(m[1])
		list = append(list, folder)
	}
	slices.SortFunc(list, func(a, b string) int { return number[a] - number[b] })
	return list
}

// caches adds the sizes of the caches of the first core.
func caches(files fs.FS, set func(string, any)) {
	names := map[string]string{"1 Data": L1Cache, "2 Unified": L2Cache, "3 Unified": L3Cache}
	folder := cpus + "/cpu0/cache"
	entries, _ := fs.ReadDir(files, folder)
	for _, e := range entries {
		at := path.Join(folder, e.Name())
		if name := names[text(files, at+"/level")+" "+text(files, at+"/type")]; name != "" {
			set(name, size(text(files, at+"/size")))
		}
	}
}

// size parses "1024K"; 0 if it is something else.
func size(s string) int64 {
	shift := map[byte]int{'K': 10, 'M': 20, 'G': 30}
	unit := 0
	if n := len(s); n > 0 && shift[s[n-1]] > 0 {
		unit, s = shift[s[n-1]], s[:n-1]
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 {
		return 0
	}
	return n << unit
}

// clocks adds what cpufreq reports: of all CPUs the highest and the lowest clock, and the governors in use.
func clocks(files fs.FS, folders []string, set func(string, any)) {
	var governors []string
	var most, least int64
	for _, c := range folders {
		if g := text(files, c+"/cpufreq/scaling_governor"); g != "" && !slices.Contains(governors, g) {
			governors = append(governors, g)
		}
		if khz, ok := number(files, c+"/cpufreq/cpuinfo_max_freq"); ok {
			most = max(most, khz)
		}
		if khz, ok := number(files, c+"/cpufreq/cpuinfo_min_freq"); ok && (least == 0 || khz < least) {
			least = khz
		}
	}
	set(Governor, strings.Join(governors, ", "))
	set(MaximumClock, float64(most)/1000)
	set(MinimumClock, float64(least)/1000)
	if off, ok := number(files, cpus+"/intel_pstate/no_turbo"); ok {
		set(Turbo, off == 0)
	} else if on, ok := number(files, cpus+"/cpufreq/boost"); ok {
		set(Turbo, on == 1)
	}
}

// hostArchitecture returns the CPU for which code is compiled, by LLVM's name; else Go's name of the architecture.
func hostArchitecture() string {
	if cpu, _ := cpufeatures.HostCPU(); cpu != "" {
		return cpu
	}
	return goruntime.GOARCH
}

// vectors are the features that count as vector instructions, by LLVM's names, the widest first.
var vectors = []string{"amx-int8", "amx-bf16", "amx-fp16", "avx512f", "avx512bw", "avx512vnni", "avx512bf16",
	"avx512fp16", "avxvnni", "avx2", "fma", "f16c", "avx", "sse4.2", "sme", "sve2", "sve", "i8mm", "bf16", "fullfp16",
	"dotprod", "neon", "v", "zvfh"}

// simd returns the vector instructions that this machine has.
func simd() (list []string) {
	cpu, more := cpufeatures.HostCPU()
	if cpu == "" {
		return nil
	}
	set, _ := cpufeatures.Features(cpufeatures.HostTriple(), cpu, more)
	have := set.Names()
	for _, v := range vectors {
		if slices.Contains(have, v) {
			list = append(list, v)
		}
	}
	return list
}
