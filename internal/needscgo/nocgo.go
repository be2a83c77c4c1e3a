//go:build !cgo

package needscgo

var _ int = "tvmgo/runtime needs cgo: set CGO_ENABLED=1 and install a C compiler (for another machine, name its " +
	"compiler in CC)"
