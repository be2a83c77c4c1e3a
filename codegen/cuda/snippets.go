package cuda

import (
	"embed"

	"tvmgo/codegen/abi"
)

//go:embed snippets
var snippetFiles embed.FS

// snippets are the definitions that kernels may need. Each PTX instruction is in a function of its own, so that another
// implementation can replace it.
var snippets = abi.Read(snippetFiles)
