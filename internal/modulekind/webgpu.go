package modulekind

var _ = register(Kind{Name: "webgpu", Form: Opaque})
