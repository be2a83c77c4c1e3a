// Package profile turns what a runtime recorded into a trace for Perfetto (https://ui.perfetto.dev) and into a table of
// operators.
//
// A [Recording] holds events by thread: functions and call instructions of virtual machines, nodes of graphs, launches
// of kernels, copies, waits, and changes of the memory in use. runtime.Profile makes one; nothing here depends on the
// runtime, so a tool may fill in a Recording of its own. A Recording is not modified here, and any number of goroutines
// may read it.
package profile

import "time"

// Kind is what an event is.
type Kind int

// The kinds, with the numbers of internal/core/profile/profile.h.
const (
	Function    Kind = 1 // a function of a virtual machine, or a run of a graph
	Instruction Kind = 2 // a call instruction of a virtual machine
	Node        Kind = 3 // a call of a graph
	Kernel      Kind = 4 // the launch of a kernel on a device
	Copy        Kind = 5 // a copy from Device to Other
	Memory      Kind = 6 // a change of the memory in use on Device
	Wait        Kind = 7 // the host waits for a stream
)

var kindNames = [...]string{"", "function", "instruction", "node", "kernel", "copy", "memory", "wait"}

// String is the name that events of the trace have as their category.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return ""
	}
	return kindNames[k]
}

// Site is what events of one origin have in common.
type Site struct {
	Kind     Kind
	Name     string // of the function or kernel that was called; empty for copies, memory and waits
	Function string // that has the instruction
	Number   int    // of the instruction in its function, or of the node
	Device   string // "opencl:0": of kernels, copies, memory and waits
	Other    string // where a copy goes
	Stream   uint64 // the handle of the device's stream; 0 for the default stream
	Waits    bool   // the device has no timers: the stream was synchronized before and after the work
}

// Tensor is the type of an argument.
type Tensor struct {
	DType string // "float32"
	Bits  int    // of an element, with its lanes
	Float bool   // elements are floating-point numbers
	Shape []int64
}

// Elements is the product of the shape.
func (t Tensor) Elements() int64 {
	n := int64(1)
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// Bytes is the size of a compact tensor.
func (t Tensor) Bytes() int64 { return (t.Elements()*int64(t.Bits) + 7) / 8 }

// Event is something that took place on a thread. Times count from the begin of the profile.
type Event struct {
	*Site
	Begin, End time.Duration // on the host
	OnStream   time.Duration // how long the device worked on it, between two events of the stream; -1: not measured
	Tensors    []Tensor      // the arguments of a call; kernels have those of the call that launched them
	Bytes      int64         // that a copy moves; of memory, the change
}

// Thread is what was recorded on a thread of the host, in the order in which events ended.
type Thread struct {
	ID     int64 // of the system; 0: changes of memory on threads that were not recorded
	Events []Event
}

// Recording is what a profile recorded.
type Recording struct {
	Threads []Thread
	Dropped int64 // events beyond the profile's limit
}
