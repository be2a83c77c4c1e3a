package memory

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

func allocate(n int64) ([]byte, error) {
	at, err := windows.VirtualAlloc(0, uintptr(n), windows.MEM_COMMIT|windows.MEM_RESERVE, windows.PAGE_READWRITE)
	if err != nil {
		return nil, err
	}
	return view(at, n), nil
}

// mapFile maps a file. Windows does not let others shorten or replace the file before Free.
func mapFile(f *os.File, n int64, writable bool) ([]byte, error) {
	protection, access := uint32(windows.PAGE_READONLY), uint32(windows.FILE_MAP_READ)
	if writable {
		protection, access = windows.PAGE_WRITECOPY, windows.FILE_MAP_COPY
	}
	section, err := windows.CreateFileMapping(windows.Handle(f.Fd()), nil, protection, uint32(n>>32), uint32(n), nil)
	if err != nil {
		return nil, os.NewSyscallError("CreateFileMapping", err)
	}
	defer windows.CloseHandle(section) // the view keeps it
	at, err := windows.MapViewOfFile(section, access, 0, 0, uintptr(n))
	if err != nil {
		return nil, os.NewSyscallError("MapViewOfFile", err)
	}
	return view(at, n), nil
}

// view makes a slice of memory that the system has allocated.
func view(at uintptr, n int64) []byte {
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&at))), n) // vet rejects unsafe.Pointer(at)
}

// release releases memory of allocate or mapFile: for that of allocate, UnmapViewOfFile fails.
func release(b []byte) {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	if windows.UnmapViewOfFile(at) != nil {
		_ = windows.VirtualFree(at, 0, windows.MEM_RELEASE) // cannot fail for memory from Make
	}
}

// drop does nothing: Windows takes pages that are not used.
func drop([]byte) {}

// outOfMemory is the error of a mapping for which there is no memory.
const outOfMemory = windows.ERROR_NOT_ENOUGH_MEMORY
