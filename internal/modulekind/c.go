package modulekind

// C is the kind of modules of source code.
var C = register(Kind{
	Name: "c", Form: Source, Exportable: true, Creator: "runtime.CSourceModuleCreate",
	Files: []Format{{Suffix: "c", Text: true}, {Suffix: "cc", Text: true}, {Suffix: "cpp", Text: true},
		{Suffix: "cu", Text: true}},
})
