package facts

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tvmgo/bench"
	"tvmgo/runtime"
)

// fileSensor reads files of the system. It is safe for use by many goroutines at once.
type fileSensor struct {
	files fs.FS
	now   func() time.Time
	parts []string // what it reads, for people

	clock, memory, celsius, watts gauge
	cpuinfo                       bool // the clock is in /proc/cpuinfo
	energy                        []*meter
	counters                      []*counter
	flags                         map[string]string // files that are 1 while a clock is reduced, and the reason

	mu     sync.Mutex
	last   time.Time // when the meters were read
	closed bool
}

// gauge is a value that several files have: the largest one counts.
type gauge struct {
	names []string
	scale float64 // of the files' unit
}

func (g gauge) read(files fs.FS) *float64 {
	var most *float64
	for _, name := range g.names {
		if n, ok := number(files, name); ok {
			v := float64(n) * g.scale
			if most == nil || v > *most {
				most = &v
			}
		}
	}
	return most
}

// meter counts energy in microjoules.
type meter struct {
	name  string
	limit int64 // after it the meter begins at 0 again; 0 if unknown
	last  int64
	known bool // last is valid
}

// used returns the energy since the last call; false if it is not known.
func (m *meter) used(files fs.FS) (int64, bool) {
	n, ok := number(files, m.name)
	used, valid := n-m.last, ok && m.known
	if used < 0 {
		used, valid = used+m.limit, valid && m.limit > 0
	}
	m.last, m.known = n, ok
	return used, valid
}

// counter counts events by which a clock is reduced.
type counter struct {
	reason string
	names  []string
	last   int64
}

// rose reports whether there was an event since the last call.
func (c *counter) rose(files fs.FS) bool {
	var sum int64
	for _, name := range c.names {
		n, _ := number(files, name)
		sum += n
	}
	rose := sum > c.last
	c.last = sum
	return rose
}

// begin sets the counters: what is before does not count. Meters begin with the first reading.
func (s *fileSensor) begin() {
	s.now = time.Now
	for _, c := range s.counters {
		c.rose(s.files)
	}
}

// Read returns the state. Files that cannot be read, or that have no number, are unknown values. It fails if no file
// can be read.
func (s *fileSensor) Read() (bench.Reading, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return bench.Reading{}, runtime.Errorf(runtime.ErrClosed, "read the sensor: it is closed")
	}
	r := bench.Reading{ClockMHz: s.clock.read(s.files), MemoryClockMHz: s.memory.read(s.files),
		Celsius: s.celsius.read(s.files), Watts: s.watts.read(s.files)}
	if s.cpuinfo {
		r.ClockMHz = fastest(s.files)
	}
	if w := s.power(); w != nil && r.Watts == nil {
		r.Watts = w
	}
	for _, c := range s.counters {
		if c.rose(s.files) {
			r.Throttled = append(r.Throttled, c.reason)
		}
	}
	for name, reason := range s.flags {
		if n, ok := number(s.files, name); ok && n == 1 {
			r.Throttled = append(r.Throttled, reason)
		}
	}
	slices.Sort(r.Throttled)
	if r.ClockMHz == nil && r.MemoryClockMHz == nil && r.Celsius == nil && r.Watts == nil && !s.present() {
		return r, runtime.Errorf(runtime.ErrDeviceUnavailable, "read the sensor: the files of %s have disappeared",
			strings.Join(s.parts, ", "))
	}
	return r, nil
}

// present reports whether any file of the meters and the counters is there.
func (s *fileSensor) present() bool {
	for _, m := range s.energy {
		if m.known {
			return true
		}
	}
	for _, c := range s.counters {
		for _, name := range c.names {
			if text(s.files, name) != "" {
				return true
			}
		}
	}
	return false
}

// power returns the average power since the last reading; nil if it is not known.
func (s *fileSensor) power() *float64 {
	if len(s.energy) == 0 {
		return nil
	}
	now := s.now()
	seconds := now.Sub(s.last).Seconds()
	s.last = now
	var sum int64
	all := true
	for _, m := range s.energy {
		used, ok := m.used(s.files)
		sum, all = sum+used, all && ok
	}
	if !all || seconds <= 0 {
		return nil
	}
	watts := float64(sum) / 1e6 / seconds
	return &watts
}

// Close ends the use of the sensor. Closing twice is fine.
func (s *fileSensor) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// uses adds the name of a source, if it has something.
func (s *fileSensor) uses(part string, found int) bool {
	if found > 0 && !slices.Contains(s.parts, part) {
		s.parts = append(s.parts, part)
	}
	return found > 0
}

// readable returns the files of a pattern that have a number.
func readable(files fs.FS, pattern string) (list []string) {
	names, _ := fs.Glob(files, pattern)
	for _, name := range names {
		if _, ok := number(files, name); ok {
			list = append(list, name)
		}
	}
	return list
}

// maxFiles is the most files of one kind that a reading opens, so that it takes less than a millisecond. Of more CPUs,
// those at equal distances are read.
const maxFiles = 64

func spread(names []string) []string {
	if len(names) <= maxFiles {
		return names
	}
	some := make([]string, maxFiles)
	for i := range some {
		some[i] = names[i*len(names)/maxFiles]
	}
	return some
}

// cpuSensor reads the CPU: the clock of the fastest core, the hottest package, the power of all packages, and whether
// cores were too hot since the last reading.
func cpuSensor(files fs.FS) *fileSensor {
	s := &fileSensor{files: files}
	folders := cpuFolders(files)
	packages := map[string]bool{}
	cores, whole := &counter{reason: "core thermal throttle"}, &counter{reason: "package thermal throttle"}
	var clocks []string
	for _, c := range folders {
		if name := c + "/cpufreq/scaling_cur_freq"; text(files, name) != "" {
			clocks = append(clocks, name)
		}
		if name := c + "/thermal_throttle/core_throttle_count"; text(files, name) != "" {
			cores.names = append(cores.names, name)
		}
		id := text(files, c+"/topology/physical_package_id")
		if name := c + "/thermal_throttle/package_throttle_count"; text(files, name) != "" && !packages[id] {
			packages[id] = true
			whole.names = append(whole.names, name)
		}
	}
	s.clock = gauge{spread(clocks), 1e-3}
	if !s.uses("cpufreq", len(clocks)) && fastest(files) != nil {
		s.cpuinfo = s.uses("/proc/cpuinfo", 1)
	}
	name, temperatures := cpuTemperature(files)
	s.celsius = gauge{spread(temperatures), 1e-3}
	s.uses(name, len(temperatures))
	zones, _ := fs.Glob(files, "sys/class/powercap/intel-rapl:*/name")
	for _, zone := range zones {
		file := path.Dir(zone) + "/energy_uj"
		if _, ok := number(files, file); !ok || !strings.HasPrefix(text(files, zone), "package") {
			continue // only root may read it; or a part of a package
		}
		limit, _ := number(files, path.Dir(zone)+"/max_energy_range_uj")
		s.energy = append(s.energy, &meter{name: file, limit: limit})
	}
	s.uses("RAPL", len(s.energy))
	cores.names = spread(cores.names)
	for _, c := range []*counter{cores, whole} {
		if s.uses("thermal_throttle", len(c.names)) {
			s.counters = append(s.counters, c)
		}
	}
	return s
}

// fastest returns the clock of the fastest core by /proc/cpuinfo; nil if it does not have one.
func fastest(files fs.FS) (most *float64) {
	for line := range strings.Lines(text(files, "proc/cpuinfo")) {
		key, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(key) != "cpu MHz" {
			continue
		}
		if v, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil && v > 0 && (most == nil || v > *most) {
			most = &v
		}
	}
	return most
}

// cpuTemperature returns the files with the temperature of each package, in thousandths of a degree, and their source.
func cpuTemperature(files fs.FS) (source string, list []string) {
	names, _ := fs.Glob(files, "sys/class/hwmon/hwmon*/name")
	for _, driver := range []string{"coretemp", "k10temp", "zenpower", "cpu_thermal"} {
		for _, name := range names {
			if text(files, name) == driver {
				list = append(list, packageTemperatures(files, path.Dir(name))...)
			}
		}
		if len(list) > 0 {
			return driver, list
		}
	}
	zones, _ := fs.Glob(files, "sys/class/thermal/thermal_zone*/type")
	for _, zone := range zones {
		if kind := text(files, zone); kind == "x86_pkg_temp" || strings.Contains(strings.ToLower(kind), "cpu") {
			list = append(list, readable(files, path.Dir(zone)+"/temp")...)
		}
	}
	return "thermal zone", list
}

// packageTemperatures returns the files of a monitor for whole packages; all of them if none has such a label.
func packageTemperatures(files fs.FS, folder string) (list []string) {
	all := readable(files, folder+"/temp*_input")
	for _, input := range all {
		label := text(files, strings.TrimSuffix(input, "_input")+"_label")
		if strings.HasPrefix(label, "Package") || label == "Tdie" || label == "Tctl" {
			list = append(list, input)
		}
	}
	if len(list) == 0 {
		return all
	}
	return list
}

// gpuSensor reads the files that the drivers amdgpu, i915 and xe have for a PCI device.
func gpuSensor(files fs.FS, address string) *fileSensor {
	s := &fileSensor{files: files, flags: map[string]string{}}
	base := "sys/bus/pci/devices/" + address
	first := func(scale float64, patterns ...string) gauge {
		for _, p := range patterns {
			if found := readable(files, base+"/"+p); len(found) > 0 {
				return gauge{found, scale}
			}
		}
		return gauge{}
	}
	s.clock = first(1e-6, "hwmon/hwmon*/freq1_input")
	if len(s.clock.names) == 0 {
		s.clock = first(1, "drm/card*/gt_act_freq_mhz", "tile*/gt*/freq0/act_freq", "drm/card*/gt_cur_freq_mhz",
			"tile*/gt*/freq0/cur_freq")
	}
	s.memory = first(1e-6, "hwmon/hwmon*/freq2_input")
	s.celsius = first(1e-3, "hwmon/hwmon*/temp1_input", "hwmon/hwmon*/temp2_input")
	s.watts = first(1e-6, "hwmon/hwmon*/power1_average", "hwmon/hwmon*/power1_input")
	for _, name := range first(1, "hwmon/hwmon*/energy1_input").names {
		s.energy = append(s.energy, &meter{name: name})
	}
	for prefix, pattern := range map[string]string{"throttle_reason_": "drm/card*/gt/gt*/throttle_reason_*",
		"reason_": "tile*/gt*/freq0/throttle/reason_*"} {
		for _, name := range first(1, pattern).names {
			if strings.HasSuffix(name, "_status") { // whether there is any reason
				continue
			}
			s.flags[name] = strings.ReplaceAll(strings.TrimPrefix(path.Base(name), prefix), "_", " ")
		}
	}
	found := len(s.clock.names) + len(s.memory.names) + len(s.celsius.names) + len(s.watts.names) + len(s.energy)
	driver := "sysfs"
	if names, _ := fs.Glob(files, base+"/hwmon/hwmon*/name"); len(names) > 0 && text(files, names[0]) != "" {
		driver = text(files, names[0])
	}
	s.uses(driver, found)
	return s
}
