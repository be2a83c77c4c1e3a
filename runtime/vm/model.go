package vm

import (
	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/runtime"
)

// pooled is the number of the allocator that keeps released memory, as vm_initialization takes it.
const pooled = 2

// open makes a session of an executable on devices, the host last.
func open(m *runtime.Module, devices []dlpack.Device) (*runtime.Module, error) {
	made, err := call(m, loadFunction)
	if err != nil {
		return nil, err
	}
	session, ok := made.(*runtime.Module)
	if !ok {
		return nil, fault.New(loadFunction, runtime.ErrFailed, "it returned %T", made)
	}
	var args []any
	for _, d := range devices {
		args = append(args, int(d.Type), d.ID, pooled)
	}
	if _, err := call(session, "vm_initialization", args...); err != nil {
		session.Close()
		return nil, err
	}
	return session, nil
}

func call(m *runtime.Module, name string, args ...any) (any, error) {
	f, err := m.Function(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Call(args...)
}
