package te

// scopedArg is an argument of Lower in another memory scope.
type scopedArg struct {
	t     *Tensor
	scope string
}

// InScope returns an argument for Lower: tensor t, which the caller has allocated in a memory scope of the device, such
// as "global.texture" of OpenCL (runtime.NewTensorInScope).
func InScope(t *Tensor, scope string) any { return &scopedArg{t, scope} }
