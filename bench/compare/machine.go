package main

import (
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strings"
)

// machine describes where the figures were measured, and with which software.
type machine struct {
	CPU      string `json:"cpu"`
	Cores    int    `json:"cores"`
	Governor string `json:"governor"`
	Load     string `json:"load_at_start"`
	Kernel   string `json:"kernel"`
	Go       string `json:"go"`
	CC       string `json:"cc"`
	Commit   string `json:"commit"`
	Peer     string `json:"peer"`
}

func output(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}

func readText(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}

func cpuModel() string {
	for _, line := range strings.Split(readText("/proc/cpuinfo"), "\n") {
		key, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return goruntime.GOARCH
}

func commit() string {
	c := output("git", "rev-parse", "--short", "HEAD")
	if c != "" && output("git", "status", "--porcelain") != "" {
		c += " with changes"
	}
	return c
}

func describe(venv string) machine {
	var peer []string
	for _, name := range []string{"apache_tvm*", "onnxruntime-*"} {
		found, _ := wheelFiles(venv, name+".dist-info")
		for _, f := range found {
			peer = append(peer, strings.TrimSuffix(filepath.Base(f), ".dist-info"))
		}
	}
	return machine{
		CPU:      cpuModel(),
		Cores:    goruntime.NumCPU(),
		Governor: readText("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
		Load:     readText("/proc/loadavg"),
		Kernel:   readText("/proc/sys/kernel/osrelease"),
		Go:       goruntime.Version(),
		CC:       output("cc", "--version"),
		Commit:   commit(),
		Peer:     strings.Join(peer, ", "),
	}
}
