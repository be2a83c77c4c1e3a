package dlpack

import (
	"fmt"
	"strings"
)

// DeviceType is a device number of DLPack. Numbers from [RPCSessionMask] on are those of devices of RPC sessions.
type DeviceType int32

// Device numbers of dlpack.h. 5, 6 and 19…31 are unassigned; 19…31 can be registered.
const (
	CPU         DeviceType = 1
	CUDA        DeviceType = 2
	CUDAHost    DeviceType = 3 // pinned host memory, served by the CUDA driver
	OpenCL      DeviceType = 4
	Vulkan      DeviceType = 7
	Metal       DeviceType = 8
	VPI         DeviceType = 9
	ROCM        DeviceType = 10
	ROCMHost    DeviceType = 11
	ExtDev      DeviceType = 12
	CUDAManaged DeviceType = 13
	OneAPI      DeviceType = 14
	WebGPU      DeviceType = 15
	Hexagon     DeviceType = 16
	MAIA        DeviceType = 17
	Trn         DeviceType = 18
)

// Device numbers that only the classic generation defines.
const (
	AOCL     DeviceType = 32
	SDAccel  DeviceType = 33
	OpenGL   DeviceType = 34
	MicroDev DeviceType = 35
)

const (
	// MaxDeviceAPI is one past the largest number that a device API can have (kMaxDeviceAPI).
	MaxDeviceAPI DeviceType = 36
	// RPCSessionMask is the distance of two sessions in remote device numbers: base | RPCSessionMask*(session+1).
	RPCSessionMask DeviceType = 128
	// MaxRPCSession is the largest session index whose device numbers fit 31 bits.
	MaxRPCSession = (1<<31-1)/int(RPCSessionMask) - 1
)

// rpcName is the name of the device API behind every remote number, so that no local type can have it.
const rpcName = "rpc"

// Remote returns the number of device type t in the RPC session with the given index.
func (t DeviceType) Remote(session int) (DeviceType, error) {
	if t <= 0 || t >= RPCSessionMask {
		return 0, fmt.Errorf("remote device type: %s is not a local device type", t)
	}
	if session < 0 || session > MaxRPCSession {
		return 0, fmt.Errorf("remote device type: session %d is outside 0…%d", session, MaxRPCSession)
	}
	return t | RPCSessionMask*DeviceType(session+1), nil
}

// Family returns the device type that stands for all memory of the same hardware: CUDA for CUDAHost and CUDAManaged,
// ROCM for ROCMHost, otherwise t itself. Devices of one family share streams, and memory can be copied directly between
// them.
func (t DeviceType) Family() DeviceType {
	switch t {
	case CUDAHost, CUDAManaged:
		return CUDA
	case ROCMHost:
		return ROCM
	}
	return t
}

// HasOwnMemory reports whether devices of the type have memory that the host cannot access by pointers. It is false for
// registered and for remote types.
func (t DeviceType) HasOwnMemory() bool {
	switch t {
	case CUDA, OpenCL, AOCL, Vulkan, Metal, ROCM, WebGPU:
		return true
	}
	return false
}

// IsRemote reports whether t is the number of a device of an RPC session.
func (t DeviceType) IsRemote() bool { return t >= RPCSessionMask }

// SplitRemote is the inverse of DeviceType.Remote. For a local type it returns the type itself and session -1.
func (t DeviceType) SplitRemote() (base DeviceType, session int) {
	if !t.IsRemote() {
		return t, -1
	}
	return t % RPCSessionMask, int(t/RPCSessionMask) - 1
}

// String returns the canonical name ("cuda"), "remote[0]-cuda" for a remote type and "device_type(N)" for an unknown
// number.
func (t DeviceType) String() string {
	base, session := t.SplitRemote()
	name := fmt.Sprintf("device_type(%d)", int32(base))
	if info := deviceTypes.Load().byNumber[base]; info != nil {
		name = info.Name
	}
	if session >= 0 {
		return fmt.Sprintf("remote[%d]-%s", session, name)
	}
	return name
}

// APIName returns the name after "device_api." in the registry: the canonical name, or "rpc" for every remote type.
func (t DeviceType) APIName() string {
	if t.IsRemote() {
		return rpcName
	}
	return t.String()
}

// Known reports whether t, or its local base, is in the table of device types.
func (t DeviceType) Known() bool {
	base, _ := t.SplitRemote()
	return deviceTypes.Load().byNumber[base] != nil
}

// ParseDeviceType finds a device type by its name or by an alias of either generation. As in the classic `device("…")`,
// text after a space is ignored, so that a target string ("llvm -mcpu=native") can be used. For an unknown name the
// error suggests the most similar one.
func ParseDeviceType(name string) (DeviceType, error) {
	first, _, _ := strings.Cut(name, " ")
	return lookUpDeviceType(first)
}

func lookUpDeviceType(name string) (DeviceType, error) {
	table := deviceTypes.Load()
	if t, ok := table.bySpelling[name]; ok {
		return t, nil
	}
	if name == "gpu" {
		return 0, fmt.Errorf("parse device type: %q does not identify an API: use cuda, opencl, vulkan, metal or rocm", name)
	}
	if near := table.nearest(name); near != "" {
		return 0, fmt.Errorf("parse device type: unknown name %q: did you mean %q?", name, near)
	}
	return 0, fmt.Errorf("parse device type: unknown name %q: the known ones are %s", name,
		strings.Join(table.names(), ", "))
}
