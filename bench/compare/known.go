package main

import "strings"

// A knownMiss is a row that misses its target on some machines, and why. make bench-check accepts it there, and
// bench/README.md shows the reason in the tables that are made from results.
type knownMiss struct {
	row    string
	cpu    string // part of the name of the CPU in results; "" is every machine
	reason string
}

// The rows that are known to miss their targets. This is the only list of them.
var known = []knownMiss{
	{"launch", "Xeon", "handing a word to the other core and back alone takes this long: see *Launches*"},
	{"size", "", "it contains three device APIs, targets and code generators"},
	{"model-ship", "", "`libtvmgo_runtime.so` for all devices; for the CPU alone, `make dist RUNTIME_TAGS=cpuonly " +
		"RUNTIME_LDFLAGS=-Wl,-z,pack-relative-relocs` meets it"},
}

// knownReason returns why a row is known to miss its target on a machine.
func knownReason(list []knownMiss, id, cpu string) (reason string, is bool) {
	for _, k := range list {
		if k.row == id && strings.Contains(cpu, k.cpu) {
			return k.reason, true
		}
	}
	return "", false
}
