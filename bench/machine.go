package bench

import (
	"bufio"
	"bytes"
	"os"
	goruntime "runtime"
	"strconv"
	"strings"
	"syscall"

	"tvmgo/internal/version"
)

// ThisMachine describes the machine of this process.
func ThisMachine() Machine {
	m := Machine{Cores: goruntime.NumCPU(), OS: goruntime.GOOS + "/" + goruntime.GOARCH, Version: version.Number()}
	m.Name, _ = os.Hostname()
	m.CPU = field("/proc/cpuinfo", "model name")
	if m.CPU == "" {
		m.CPU = goruntime.GOARCH
	}
	if kib, err := strconv.ParseInt(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB"), 10, 64); err == nil {
		m.Memory = kib << 10
	}
	m.Load, _, _ = strings.Cut(text("/proc/loadavg"), " ")
	m.Governor = text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
	var u syscall.Utsname
	if syscall.Uname(&u) == nil {
		var release []byte
		for _, c := range u.Release {
			if c == 0 {
				break
			}
			release = append(release, byte(c))
		}
		m.OS += " " + string(release)
	}
	return m
}

// text returns the contents of a small file of the system, "" if there is none.
func text(file string) string {
	data, _ := os.ReadFile(file)
	return strings.TrimSpace(string(data))
}

// field returns the value of the first line "name: value" of a file.
func field(file, name string) string {
	data, _ := os.ReadFile(file)
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
