package serving

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// The environment variable makes this program the other side of a test.
const role = "TVMGO_TEST_SERVING"

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "same":
		err = Same([]byte("twelve bytes"))
	case "echo":
		err = Echo(5)
	}
	if err != nil {
		os.Exit(1)
	}
}

func child(t *testing.T, as string) *Server {
	cmd := exec.Command(must.Get(os.Executable())(t))
	cmd.Env = append(os.Environ(), role+"="+as)
	s := must.Get(Start(cmd))(t)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// The clients send a whole request, get a whole answer, and count each request once.
func TestClients(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		head := must.Get(strconv.Atoi(r.Header.Get("Inference-Header-Content-Length")))(t)
		body := must.Get(io.ReadAll(r.Body))(t)
		require.Contains(t, string(body[:head]), `"shape":[2,3]`)
		require.Len(t, body, head+24)
		_, _ = io.WriteString(w, r.URL.Path)
	}))
	defer server.Close()
	address, request := server.Listener.Addr().String(), Request("m", 2, 3)
	c := must.Get(Dial(address))(t)
	for range 2 {
		require.Equal(t, "/v2/models/m/infer", string(must.Get(c.Do(request))(t)))
	}
	require.NoError(t, c.Close())
	require.EqualValues(t, 2, requests.Swap(0))
	calls := 0
	require.Positive(t, must.Get(OneClient(address, request, 3, func() error { calls++; return nil }))(t))
	require.EqualValues(t, 3, requests.Swap(0))
	require.Equal(t, 3, calls)
	require.Positive(t, must.Get(OneClient(address, request, 1, nil))(t))
	require.EqualValues(t, 1, requests.Swap(0))
	l := must.Get(ManyClients(address, request, 4, 10))(t)
	require.EqualValues(t, 14, requests.Load(), "each client sends one more, before the time counts")
	require.Positive(t, l.PerRequest)
	require.GreaterOrEqual(t, l.P99, l.PerRequest)
}

// A request that is rejected is sent again, and its time is that of the answer.
func TestManyClients_Rejected(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1)%2 == 0 {
			http.Error(w, "full", http.StatusTooManyRequests)
		}
	}))
	defer server.Close()
	l := must.Get(ManyClients(server.Listener.Addr().String(), Request("m", 1, 1), 1, 4))(t)
	require.EqualValues(t, 9, requests.Load(), "one before the time counts, and four, each after one that is rejected")
	require.GreaterOrEqual(t, l.PerRequest, patience)
}

func TestDo_Errors(t *testing.T) {
	for answer, want := range map[string]string{
		"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 4\r\n\r\nfull": "the request was rejected: full",
		"HTTP/1.1 200 OK\r\n\r\n":                       "the answer has no Content-Length",
		"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n":  `parsing "x"`,
		"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\na": "EOF",
		"HTTP/1.1 200 OK\r\n":                           "EOF",
	} {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			_, _ = http.ReadRequest(bufio.NewReader(theirs))
			_, _ = io.WriteString(theirs, answer)
		}()
		c := &Client{conn: ours, reader: bufio.NewReader(ours)}
		_, err := c.Do([]byte("GET / HTTP/1.1\r\n\r\n"))
		require.ErrorContains(t, err, want)
		require.NoError(t, c.Close())
	}
}

// The other sides of the rows are processes, which end when they are closed.
func TestServers(t *testing.T) {
	same := child(t, "same")
	c := must.Get(Dial(same.Address))(t)
	require.Equal(t, "twelve bytes", string(must.Get(c.Do(Request("m", 1, 1)))(t)))
	require.NoError(t, c.Close())
	require.NoError(t, same.Close())

	echo := child(t, "echo")
	for range 2 { // a connection each
		require.Positive(t, must.Get(Copies(echo.Address, []byte("12345"), 3))(t))
	}
	require.NoError(t, echo.Close())

	_, err := Start(exec.Command("echo", "no address"))
	require.ErrorContains(t, err, "does not listen")
	_, err = Start(exec.Command("/nowhere"))
	require.Error(t, err)
}

func TestQuantile(t *testing.T) {
	var list []time.Duration
	for i := range 101 {
		list = append(list, time.Duration(100-i))
	}
	for q, want := range map[float64]time.Duration{0: 0, 0.5: 50, 0.99: 99, 1: 100} {
		require.Equal(t, want, quantile(list, q))
	}
	require.EqualValues(t, 7, quantile([]time.Duration{7}, 0.99))
}
