package main_test

import (
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Go's runtime handles five signals and forwards those that are not its own. All other handlers of the host, and all
// defaults, remain in effect.
func TestSignals(t *testing.T) {
	t.Parallel()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // children of "nohup make test" would ignore it
	l := newLab(t)
	program := l.compile(t, "signals_test", "signals_test.c", "-ldl")
	args := []string{program, l.library(), l.modern("multi_c"), l.carrier()}
	args = args[:len(args):len(args)]
	for _, when := range []string{"before", "after", "between", "ignored"} {
		t.Run(when, func(t *testing.T) { l.runOK(t, nil, append(args, when)...) })
	}
	t.Run("none", func(t *testing.T) {
		for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGBUS,
			syscall.SIGFPE, syscall.SIGUSR1, syscall.SIGSEGV, syscall.SIGUSR2, syscall.SIGPIPE, syscall.SIGALRM,
			syscall.SIGTERM, syscall.SIGPROF, 34, 64} {
			r := l.run(t, nil, append(args, "none", strconv.Itoa(int(s)))...)
			require.Equal(t, s, r.signal, "%v:\n%s", s, r.out)
		}
		for _, s := range []syscall.Signal{syscall.SIGCHLD, syscall.SIGURG, syscall.SIGWINCH, syscall.SIGCONT} {
			r := l.run(t, nil, append(args, "none", strconv.Itoa(int(s)))...)
			require.True(t, r.ok && strings.HasSuffix(r.out, "ok\n"), "%v:\n%s", s, r.out)
		}
	})
}
