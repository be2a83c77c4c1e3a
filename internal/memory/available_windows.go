package memory

import (
	"math"
	"unsafe"

	"golang.org/x/sys/windows"
)

// memoryStatus is MEMORYSTATUSEX.
type memoryStatus struct {
	length, load                 uint32
	totalPhysical, freePhysical  uint64
	totalCommit, freeCommit      uint64 // memory and page files
	totalAddresses               uint64
	freeAddresses, freeExtension uint64
}

var globalMemoryStatus = windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")

func available() int64 {
	status := memoryStatus{length: uint32(unsafe.Sizeof(memoryStatus{}))}
	if ok, _, _ := globalMemoryStatus.Call(uintptr(unsafe.Pointer(&status))); ok == 0 {
		return math.MaxInt64
	}
	return int64(min(status.freeCommit, status.freeAddresses, math.MaxInt64))
}
