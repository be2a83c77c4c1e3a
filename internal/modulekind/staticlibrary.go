package modulekind

// StaticLibrary is the kind of modules of compiled code.
var StaticLibrary = register(Kind{
	Name: "static_library", Form: Object, Exportable: true, Creator: "runtime.ModuleLoadStaticLibrary",
	Files: []Format{{Suffix: "o"}, {Suffix: "tar"}},
})
