package modulekind

const noRelax = "this version cannot run Relax files: run them with Apache TVM, or export the functions alone, " +
	"without the executable"

var (
	_ = register(Kind{Name: "relax.Executable", Form: Program, Unsupported: noRelax})
	_ = register(Kind{Name: "relax.VMExecutable", Form: Program, Unsupported: noRelax})
)
