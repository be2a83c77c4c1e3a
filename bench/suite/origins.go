package suite

import "tvmgo/bench"

// Origin names the row of another tool that measures what a case measures.
type Origin struct {
	Case string // ID or family of cases: "bandwidth/device_local_copy"
	Tool string // "clpeak", "nvbandwidth", "vkpeak"
	Row  string // the tool's name: for clpeak, the elements of its XML file, "transfer_bandwidth/enqueuereadbuffer"
	Note string // how the tool measures differently; "" if it does not
}

// copyOrigins are those of the suites launch and bandwidth.
var copyOrigins = []Origin{
	{"launch/kernel_launch_latency", "clpeak", "kernel_launch_latency/roundtrip", ""},
	{"launch/kernel_launch_latency", "clpeak", "kernel_launch_latency",
		"clpeak 1 has the time until the kernel starts, by events of OpenCL, and a kernel that reads memory"},

	{"bandwidth/host_to_device_memcpy_ce", "nvbandwidth", "host_to_device_memcpy_ce", ""},
	{"bandwidth/device_to_host_memcpy_ce", "nvbandwidth", "device_to_host_memcpy_ce", ""},
	{"bandwidth/host_to_device_memcpy_pageable", "clpeak", "transfer_bandwidth/enqueuewritebuffer", ""},
	{"bandwidth/device_to_host_memcpy_pageable", "clpeak", "transfer_bandwidth/enqueuereadbuffer", ""},
	{"bandwidth/device_local_copy", "nvbandwidth", "device_local_copy", ""},
	{"bandwidth/host_to_device_bidirectional_memcpy_ce", "nvbandwidth", "host_to_device_bidirectional_memcpy_ce", ""},
	{"bandwidth/device_to_host_bidirectional_memcpy_ce", "nvbandwidth", "device_to_host_bidirectional_memcpy_ce", ""},
	{"bandwidth/device_to_device_memcpy_read_ce", "nvbandwidth", "device_to_device_memcpy_read_ce", ""},
	{"bandwidth/device_to_device_memcpy_write_ce", "nvbandwidth", "device_to_device_memcpy_write_ce", ""},
}

// Origins returns the rows of other tools that measure what a case measures, or a case of its family; nil for a case
// that no other tool has.
func Origins(c *bench.Case) (list []Origin) {
	for _, o := range copyOrigins {
		if o.Case == c.ID() || c.Family != "" && o.Case == c.Family {
			list = append(list, o)
		}
	}
	return list
}
