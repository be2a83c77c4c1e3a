package literate

import (
	"os/exec"
	"strings"
	"sync"
)

var (
	goEnvs   = map[string]string{}
	goEnvsMu sync.Mutex
)

// goEnv is a setting of the go command. Documents have a separate home directory, but share its caches.
func goEnv(name string) string {
	goEnvsMu.Lock()
	defer goEnvsMu.Unlock()
	if goEnvs[name] == "" {
		out, _ := exec.Command("go", "env", name).Output()
		goEnvs[name] = strings.TrimSpace(string(out))
	}
	return goEnvs[name]
}
