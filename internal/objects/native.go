//go:build !runtimeonly

package objects

import (
	"debug/elf"

	"tvmgo/internal/objects/elfmachine"
)

// IsObject reports whether data begin like an object file that can be linked, and isNative whether it is for this
// machine.
func IsObject(head []byte) (isObject, isNative bool) {
	arch, ok := relocatable(head)
	if !ok {
		return false, false
	}
	m := elfmachine.Machine{Arch: elf.Machine(arch), Class: elf.Class(head[4]), Data: elf.Data(head[5])}
	return true, m == elfmachine.Host()
}
