package serving

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Request returns the bytes of a request for a model with one input x of float32: its elements are zero and raw, as its
// answer's will be.
func Request(model string, rows, columns int) []byte {
	head := fmt.Sprintf(`{"inputs":[{"name":"x","datatype":"FP32","shape":[%d,%d],"parameters":{"binary_data_size":%d}}],`+
		`"parameters":{"binary_data_output":true}}`, rows, columns, rows*columns*4)
	text := fmt.Sprintf("POST /v2/models/%s/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n"+
		"Inference-Header-Content-Length: %d\r\n\r\n%s", model, len(head)+rows*columns*4, len(head), head)
	return append([]byte(text), make([]byte, rows*columns*4)...)
}

// A Client is a connection that sends requests, one after the other.
type Client struct {
	conn   net.Conn
	reader *bufio.Reader
	body   []byte
}

// Dial connects to the address of a server.
func Dial(address string) (*Client, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &Client{conn: conn, reader: bufio.NewReaderSize(conn, 64<<10)}, nil
}

// Close closes the connection.
func (c *Client) Close() error { return c.conn.Close() }

// ErrRejected is an answer with the status 429: the queue of the server is full.
var ErrRejected = errors.New("the request was rejected")

// Do sends a request and returns the body of its answer, which the next call overwrites. An answer with another status
// than 200 is an error.
func (c *Client) Do(request []byte) ([]byte, error) {
	if _, err := c.conn.Write(request); err != nil {
		return nil, err
	}
	size, status := -1, ""
	for {
		line, err := c.reader.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		line = bytes.TrimSuffix(line, []byte("\r\n"))
		if len(line) == 0 {
			break
		}
		if status == "" {
			status = string(line)
		} else if key, value, _ := bytes.Cut(line, []byte(": ")); bytes.EqualFold(key, []byte("Content-Length")) {
			if size, err = strconv.Atoi(string(value)); err != nil {
				return nil, err
			}
		}
	}
	if size < 0 {
		return nil, errors.New("the answer has no Content-Length")
	}
	c.body = slices.Grow(c.body[:0], size)[:size]
	if _, err := io.ReadFull(c.reader, c.body); err != nil {
		return nil, err
	}
	if strings.HasPrefix(status, "HTTP/1.1 429 ") {
		return nil, fmt.Errorf("%w: %s", ErrRejected, c.body)
	}
	if !strings.HasPrefix(status, "HTTP/1.1 200 ") {
		return nil, fmt.Errorf("%s: %s", status, c.body)
	}
	return c.body, nil
}

// OneClient returns the median of the time from a request to its answer. It calls between after each request, unless
// that is nil.
func OneClient(address string, request []byte, requests int, between func() error) (time.Duration, error) {
	c, err := Dial(address)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	times := make([]time.Duration, 0, requests)
	for range requests {
		from := time.Now()
		if _, err := c.Do(request); err != nil {
			return 0, err
		}
		times = append(times, time.Since(from))
		if between != nil {
			if err := between(); err != nil {
				return 0, err
			}
		}
	}
	return quantile(times, 0.5), nil
}

// Copies returns the median of the time in which bytes go to the address of [Echo] and come back.
func Copies(address string, bytes []byte, times int) (time.Duration, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	back := make([]byte, len(bytes))
	var took []time.Duration
	for range times {
		from := time.Now()
		if _, err := conn.Write(bytes); err != nil {
			return 0, err
		}
		if _, err := io.ReadFull(conn, back); err != nil {
			return 0, err
		}
		took = append(took, time.Since(from))
	}
	return quantile(took, 0.5), nil
}

// Load is what many clients saw.
type Load struct {
	PerRequest time.Duration // the time of all, divided by the number of requests that were answered
	P99        time.Duration // of the time from such a request to its answer
}

// patience is the time after which a client sends a request again that was rejected, a tenth of the least that servers
// ask for by Retry-After.
const patience = time.Second / 10

// ManyClients sends requests on a number of connections at a time. Those that are rejected are sent again.
func ManyClients(address string, request []byte, clients, requests int) (l Load, err error) {
	list := make([]*Client, clients)
	defer func() {
		for _, c := range list {
			if c != nil {
				c.Close()
			}
		}
	}()
	for i := range list {
		if list[i], err = Dial(address); err != nil {
			return l, err
		}
		if _, err := list[i].insist(request); err != nil { // before the time counts
			return l, err
		}
	}
	var all sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(requests))
	times, errs := make([][]time.Duration, clients), make([]error, clients)
	from := time.Now()
	for i, c := range list {
		all.Go(func() {
			for errs[i] == nil && left.Add(-1) >= 0 {
				var took time.Duration
				took, errs[i] = c.insist(request)
				times[i] = append(times[i], took)
			}
		})
	}
	all.Wait()
	l.PerRequest = time.Since(from) / time.Duration(requests)
	l.P99 = quantile(slices.Concat(times...), 0.99)
	return l, errors.Join(errs...)
}

// insist sends a request until it is not rejected, and returns the time from the last one to its answer.
func (c *Client) insist(request []byte) (time.Duration, error) {
	for {
		from := time.Now()
		_, err := c.Do(request)
		if !errors.Is(err, ErrRejected) {
			return time.Since(from), err
		}
		time.Sleep(patience)
	}
}

// quantile returns the element below which the part q of all is. There is at least one.
func quantile(times []time.Duration, q float64) time.Duration {
	slices.Sort(times)
	return times[int(q*float64(len(times)-1))]
}
