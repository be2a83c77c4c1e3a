package runtime

// ID identifies a module: two values of type Module are the same module if their IDs are equal, for example a module
// that several others import. An ID is valid while one of the values is open; it is 0 for a closed one.
func (m *Module) ID() uintptr {
	if m.use("") != nil {
		return 0
	}
	defer m.ref.release()
	return uintptr(m.ref.obj)
}
