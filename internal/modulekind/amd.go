package modulekind

var (
	_ = register(Kind{Name: "hip", Form: Device, Files: []Format{{Suffix: "hsaco"}, {Suffix: "hip", Text: true}}})
	_ = register(Kind{Name: "rocm", Form: Device})
	_ = register(Kind{Name: "hsaco", Form: Device})
)
