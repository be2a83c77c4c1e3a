package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"

	"tvmgo/dlpack"
	"tvmgo/runtime"
)

// Limits of one request.
const (
	maxBody   = 16 << 20
	maxLength = 1 << 20 // elements of a vector
)

// request and response are the JSON of /predict.
type request struct {
	A vector `json:"a"`
	B vector `json:"b"`
}

type response struct {
	C vector `json:"c"`
}

// httpError is an error for the client, with its status.
type httpError struct {
	status int
	text   string
}

func (e *httpError) Error() string { return e.text }

func bad(status int, format string, args ...any) error {
	return &httpError{status, fmt.Sprintf(format, args...)}
}

// newHandler serves a function, which requests call concurrently, with tensors on a device.
func newHandler(f *runtime.Function, dev dlpack.Device) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/predict", func(w http.ResponseWriter, r *http.Request) {
		if !allow(w, r, http.MethodPost) {
			return
		}
		var out response
		in, err := decode(w, r)
		if err == nil {
			out.C, err = predict(f, dev, in)
		}
		if err != nil {
			writeError(w, err)
			return
		}
		writeJSON(w, http.StatusOK, out)
	})
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, r *http.Request) {
		if allow(w, r, http.MethodGet, http.MethodHead) {
			writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
		}
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, bad(http.StatusNotFound, "there is no %s: use POST /predict or GET /healthz", r.URL.Path))
	})
	return mux
}

func allow(w http.ResponseWriter, r *http.Request, methods ...string) bool {
	for _, m := range methods {
		if r.Method == m {
			return true
		}
	}
	w.Header().Set("Allow", methods[0])
	writeError(w, bad(http.StatusMethodNotAllowed, "%s takes %s, not %s", r.URL.Path, methods[0], r.Method))
	return false
}

// decode reads one JSON object and nothing after it.
func decode(w http.ResponseWriter, r *http.Request) (*request, error) {
	if kind := r.Header.Get("Content-Type"); kind != "" {
		if media, _, err := mime.ParseMediaType(kind); err != nil || media != "application/json" {
			return nil, bad(http.StatusUnsupportedMediaType, "the body is %q: send application/json", kind)
		}
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	d.DisallowUnknownFields()
	var in request
	err := d.Decode(&in)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is more after the object")
		}
	}
	var tooLarge *http.MaxBytesError
	var own *httpError
	switch {
	case errors.As(err, &tooLarge):
		return nil, bad(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes", tooLarge.Limit)
	case errors.As(err, &own):
		return nil, own
	case err != nil:
		return nil, bad(http.StatusBadRequest, `the body is not {"a":[numbers],"b":[numbers]}: %v`, err)
	}
	if len(in.A) == 0 || len(in.A) != len(in.B) {
		return nil, bad(http.StatusBadRequest, "a has %d elements and b %d: send as many, at least one", len(in.A), len(in.B))
	}
	return &in, nil
}

// vectorOn copies a vector to a device.
func vectorOn(dev dlpack.Device, v vector) (*runtime.Tensor, error) {
	x, err := runtime.NewTensor(dlpack.Float32, []int64{int64(len(v))}, dev)
	if err != nil {
		return nil, err
	}
	if err := runtime.CopyFrom(x, []float32(v)); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// predict calls the function with tensors that belong to the request.
func predict(f *runtime.Function, dev dlpack.Device, in *request) (vector, error) {
	a, err := vectorOn(dev, in.A)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	b, err := vectorOn(dev, in.B)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	c, err := runtime.NewTensor(dlpack.Float32, a.Shape(), dev)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if _, err := f.Call(a, b, c); err != nil {
		if errors.Is(err, runtime.ErrInvalidArgument) {
			return nil, bad(http.StatusUnprocessableEntity, "the module refuses the input: %v", err)
		}
		return nil, err
	}
	out, err := runtime.ToSlice[float32](c)
	if err != nil {
		return nil, err
	}
	for i, v := range out {
		if math.IsInf(float64(v), 0) || math.IsNaN(float64(v)) {
			return nil, bad(http.StatusUnprocessableEntity, "element %d of the result is %v, which JSON cannot say", i, v)
		}
	}
	return out, nil
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

func writeError(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	var e *httpError
	if errors.As(err, &e) {
		status = e.status
	}
	writeJSON(w, status, map[string]string{"error": err.Error()})
}
