package runtime

// ID identifies a module: two values of type Module are the same module if their IDs are equal, as with one that
// several others import. It holds as long as one of them is open; 0 when closed.
func (m *Module) ID() uintptr {
	if m.use("") != nil {
		return 0
	}
	defer m.ref.release()
	return uintptr(m.ref.obj)
}
