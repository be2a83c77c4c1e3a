package modulekind

const runsRelax = "tvmgo/runtime/vm"

var (
	_ = register(Kind{Name: "relax.Executable", Form: Program, Import: runsRelax})
	_ = register(Kind{Name: "relax.VMExecutable", Form: Program, Import: runsRelax})
)
