package modulekind

var _ = register(Kind{Name: "hexagon", Form: Opaque})
