package modulekind

var _ = register(Kind{Name: "metal", Form: Metal})
