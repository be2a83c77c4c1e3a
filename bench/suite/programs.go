package suite

import (
	"fmt"

	"tvmgo/dlpack"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// The functions of suite launch. Each has a body that is executed by one thread, or, on a CPU, by the caller. empty
// does nothing if n is 0, as it is while it is timed; otherwise it leaves n in X, which shows that it was executed.
// increment depends on the launch before it.
var bodies = []struct{ function, parameters, body string }{
	{"empty", "x: handle, n: int32", "if n > 0 { X[0] = n }"},
	{"increment", "x: handle", "X[0] = X[0] + 1"},
}

// launchProgram returns the functions of suite launch for a type of device. parallel_increment, for a CPU, adds 1 to
// each of a number of elements, each in a task of its own.
func launchProgram(on dlpack.DeviceType, tasks int) (*tir.IRModule, error) {
	source := ""
	for _, f := range bodies {
		source += fmt.Sprintf("func %s(%s) {\n  buffer X: int32[1], param x\n", f.function, f.parameters)
		if on == dlpack.CPU {
			source += f.body + "\n}\n"
			continue
		}
		source += `thread bx in range(1), thread "blockIdx.x" { thread tx in range(1), thread "threadIdx.x" {` + "\n" +
			f.body + "\n}}}\n"
	}
	if on == dlpack.CPU {
		source += fmt.Sprintf("func parallel_increment(x: handle) {\n  buffer X: int32[%d], param x\n"+
			"  parallel i in range(%[1]d) { X[i] = X[i] + 1 }\n}\n", tasks)
	}
	return text.Parse(source)
}
