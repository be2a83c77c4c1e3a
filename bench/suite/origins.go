package suite

import (
	"slices"
	"strings"

	"tvmgo/bench"
)

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
	if test, _, named := strings.Cut(c.Name, "/"); named {
		list = append(list, Origin{Case: c.ID(), Tool: "clpeak", Row: test})
	}
	if c.Suite == "compute" && slices.Contains(vkpeakRows, c.Name) {
		list = append(list, Origin{Case: c.ID(), Tool: "vkpeak", Row: c.Name})
	}
	return list
}

// vkpeakRows are the rows of vkpeak that suite compute has. Others of the suite have names like them.
var vkpeakRows = []string{"fp32-scalar", "fp32-vec4", "fp16-scalar", "fp16-vec4", "fp16-matrix", "fp64-scalar",
	"fp64-vec4", "int32-scalar", "int32-vec4", "int8-dotprod", "int8-matrix", "bf16-matrix"}
