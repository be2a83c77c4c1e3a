package daemon_test

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/serve"
	"tvmgo/serve/daemon"
)

// What is wrong with an address or a time is an error that says what to give instead.
func TestStart_Remedies(t *testing.T) {
	s := must.Get(serve.New(t.Context(), serve.Options{Models: []string{t.TempDir()}, Logger: quiet}))(t)
	defer s.Close()
	taken := must.Open(net.Listen("tcp", "127.0.0.1:0"))(t).Addr().String()
	inUse := "listen tcp " + taken + ": bind: address already in use: give another port, or stop the program that has it"
	for _, c := range []struct {
		config daemon.Config
		want   string
	}{
		{daemon.Config{HTTP: taken}, "HTTP: " + inUse},
		{daemon.Config{HTTP: "127.0.0.1:0", GRPC: taken}, "gRPC: " + inUse},
		{daemon.Config{HTTP: "localhost"}, "HTTP: listen tcp: address localhost: missing port in address: want HOST:PORT, " +
			"with an address of this machine"},
		{daemon.Config{HTTP: "127.0.0.1:0", Pprof: "x"}, "pprof: address x: missing port in address: want localhost:PORT"},
		{daemon.Config{HTTP: "127.0.0.1:0", StopTime: -time.Second}, "the time to stop cannot be negative (-1s)"},
		{daemon.Config{HTTP: "127.0.0.1:0", Connections: -1}, "the connections cannot be negative (-1)"},
	} {
		d, err := daemon.Start(s, c.config)
		require.Nil(t, d)
		require.EqualError(t, err, "start the server: "+c.want)
	}
}
