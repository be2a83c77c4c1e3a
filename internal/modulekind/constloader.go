package modulekind

// ConstLoader is the kind of modules with tensors that other modules need.
var ConstLoader = register(Kind{
	Name: "const_loader", OldName: "metadata", Form: Constants, Creator: "ffi.Module.create.const_loader",
})
