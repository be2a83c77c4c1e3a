package target

import (
	"runtime"
	"sync"
)

// hostTriple is what a target of kind llvm is made for that names neither machine nor CPU: what this program was compiled for, which
// is known without asking the machine.
var hostTriple = sync.OnceValue(func() string {
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64", "386": "i686", "riscv64": "riscv64", "arm": "armv7a", "loong64": "loongarch64",
		"ppc64le": "powerpc64le", "s390x": "s390x"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	if runtime.GOOS == "linux" {
		if arch == "armv7a" {
			return arch + "-linux-gnueabihf"
		}
		return arch + "-linux-gnu"
	}
	return arch + "-unknown-" + runtime.GOOS
})

func parseLLVM(c *Config) error {
	_, hasTriple := c.Value("mtriple")
	_, hasCPU := c.Value("mcpu")
	if !hasTriple && !hasCPU {
		return c.Set("mtriple", hostTriple())
	}
	return nil
}

func parseC(c *Config) error { return nil }
