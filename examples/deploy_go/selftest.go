package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// selftest sends a request to the service at url, and checks the sum.
func selftest(ctx context.Context, url string, w io.Writer) error {
	const n = 1000
	in := request{A: make(vector, n), B: make(vector, n)}
	for i := range n {
		in.A[i], in.B[i] = float32(i), float32(2*i)+0.5
	}
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	begin := time.Now()
	out, err := post(ctx, url+"/predict", body)
	if err != nil {
		return fmt.Errorf("self-test: %w", err)
	}
	took := time.Since(begin)
	if len(out.C) != n {
		return fmt.Errorf("self-test: %d elements came back instead of %d", len(out.C), n)
	}
	for i, v := range out.C {
		if want := in.A[i] + in.B[i]; v != want {
			return fmt.Errorf("self-test: element %d is %v, not %v", i, v, want)
		}
	}
	fmt.Fprintf(w, "one request added %d elements, and all are right: %v + %v = %v at the end\n", n, in.A[n-1],
		in.B[n-1], out.C[n-1])
	fmt.Fprintf(w, "time of the request: %v, with JSON and HTTP\n", took.Round(time.Microsecond))
	return nil
}

func post(ctx context.Context, url string, body []byte) (*response, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", answer.Status, bytes.TrimSpace(text))
	}
	var out response
	return &out, json.Unmarshal(text, &out)
}
