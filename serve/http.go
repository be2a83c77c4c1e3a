package serve

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"tvmgo/serve/oip"
	"tvmgo/serve/page"
	"tvmgo/serve/queue"
)

// Handler answers requests of the protocol by HTTP: the paths below /v2, /metrics, and a page at /. It needs no other
// state than the server, so that any number of HTTP servers may mount it.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, h func(http.ResponseWriter, *http.Request) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := h(w, r); err != nil {
				s.fail(w, r, err)
			}
		})
	}
	handle("GET /v2/health/live", func(w http.ResponseWriter, _ *http.Request) error {
		return status(w, s.Live(), map[string]any{"live": true})
	})
	handle("GET /v2/health/ready", func(w http.ResponseWriter, _ *http.Request) error {
		return status(w, s.Ready(), map[string]any{"ready": true})
	})
	handle("GET /v2", func(w http.ResponseWriter, _ *http.Request) error {
		m := s.Server()
		return send(w, oip.MarshalServerMetadata(&m))
	})
	for _, model := range []string{"/v2/models/{model}", "/v2/models/{model}/versions/{version}"} {
		handle("GET "+model, s.getMetadata)
		handle("GET "+model+"/ready", s.getReady)
		handle("GET "+model+"/stats", s.getStatistics)
		handle("POST "+model+"/infer", s.postInfer)
	}
	handle("GET /v2/models/stats", s.getStatistics)
	handle("POST /v2/repository/index", s.postIndex)
	handle("POST /v2/repository/models/{model}/load", s.postLoad)
	handle("POST /v2/repository/models/{model}/unload", s.postUnload)
	if s.options.Profiling {
		handle("POST /v2/models/{model}/profile", s.record)
	}
	handle("GET /v2/status", s.getStatus)
	mux.Handle("GET /metrics", s.metrics.handler())
	mux.Handle("GET /{$}", page.Handler())
	mux.Handle("GET /page/", page.Handler())
	handle("/", func(w http.ResponseWriter, r *http.Request) error {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			other := *r
			other.Method = method
			if _, pattern := mux.Handler(&other); pattern != "/" {
				w.Header().Set("Allow", method)
				return oip.Errorf(oip.MethodNotAllowed, "%s %s: the method is %s", r.Method, r.URL.Path, method)
			}
		}
		return oip.Errorf(oip.NotFound, "there is no %s %s: the paths of the protocol begin with /v2", r.Method, r.URL.Path)
	})
	return s.guard(mux)
}

// guard checks the token of a request, and bounds the time to read it, and to write a response for which no model is
// waited for. Others set their deadline when they write: one of an earlier request on the connection must not count.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control, end := http.NewResponseController(w), time.Now().Add(s.limits.Time)
		if r.Body != http.NoBody { // without one, the deadline would end the request
			_ = control.SetReadDeadline(end) // not of writers made for tests
		}
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			_ = control.SetWriteDeadline(end)
		} else {
			_ = control.SetWriteDeadline(time.Time{})
		}
		if err := s.admit(r.URL.Path, r.Header.Get("Authorization")); err != nil {
			w.Header().Set("WWW-Authenticate", `Bearer realm="tvmgo"`)
			s.fail(w, r, err)
			return
		}
		s.lastOf(w)
		next.ServeHTTP(w, r)
	})
}

// boundWrite bounds the time that a client takes to read a response of what took a time of its own.
func (s *Server) boundWrite(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.limits.Time)) // not of writers made for tests
}

// lastOf makes a response the last one of its connection if the server is going to stop, so that the client connects to
// another one, and sends no request while this one closes the connection.
func (s *Server) lastOf(w http.ResponseWriter) {
	if !s.ready.Load() {
		w.Header().Set("Connection", "close")
	}
}

// open are the paths that need no token, beside those of the page, which has no data: an orchestrator asks them.
var open = map[string]bool{"/v2/health/live": true, "/v2/health/ready": true}

// admit checks the value of the header Authorization.
func (s *Server) admit(path, authorization string) error {
	tokens := *s.tokens.Load()
	if len(tokens) == 0 || open[path] || page.Owns(path) {
		return nil
	}
	scheme, token, _ := strings.Cut(authorization, " ")
	if token == "" || !strings.EqualFold(scheme, "Bearer") {
		return oip.Errorf(oip.Unauthenticated, "there is no token: send the header Authorization: Bearer TOKEN")
	}
	got, valid := sha256.Sum256([]byte(token)), 0
	for _, t := range tokens {
		want := sha256.Sum256([]byte(t))
		valid |= subtle.ConstantTimeCompare(got[:], want[:])
	}
	if valid == 0 {
		return oip.Errorf(oip.Unauthenticated, "the token is not one of the server's")
	}
	return nil
}

// fail sends an error.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	var known *oip.Error
	if !errors.As(asError(err, oip.Internal), &known) {
		return
	}
	if known.RetryAfter > 0 {
		seconds := int64((known.RetryAfter + time.Second - 1) / time.Second)
		w.Header().Set("Retry-After", strconv.FormatInt(seconds, 10))
	}
	if known.Code == oip.Internal {
		s.log.Error("a request failed", "path", r.URL.Path, "error", known.Message)
	} else {
		s.log.Debug("a request was refused", "path", r.URL.Path, "error", known.Message)
	}
	body, code := oip.MarshalError(known)
	s.lastOf(w)
	s.boundWrite(w)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(body) // the client may have gone
}

func answer(w http.ResponseWriter, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return send(w, text)
}

func send(w http.ResponseWriter, text []byte) error {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // the client may have gone
	return nil
}

// status sends the body of a server or model that is ready. Clients of Triton read the status alone, those of KServe
// the body, too.
func status(w http.ResponseWriter, ok bool, body map[string]any) error {
	if !ok {
		return oip.Errorf(oip.Unavailable, "not ready")
	}
	return answer(w, body)
}

func (s *Server) getReady(w http.ResponseWriter, r *http.Request) error {
	ready, err := s.ModelReady(r.PathValue("model"), r.PathValue("version"))
	if err != nil {
		return err
	}
	return status(w, ready, map[string]any{"name": r.PathValue("model"), "ready": true})
}

func (s *Server) getMetadata(w http.ResponseWriter, r *http.Request) error {
	m, err := s.Metadata(r.PathValue("model"), r.PathValue("version"))
	if err != nil {
		return err
	}
	text, err := oip.MarshalMetadata(m)
	if err != nil {
		return err
	}
	return send(w, text)
}

func (s *Server) getStatistics(w http.ResponseWriter, r *http.Request) error {
	list, err := s.Statistics(r.PathValue("model"), r.PathValue("version"))
	if err != nil {
		return err
	}
	return answer(w, statisticsJSON(list))
}

// small reads a small JSON body, which may be empty.
func small(r *http.Request, into any) error {
	const most = 1 << 16
	text, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, most))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return oip.Errorf(oip.TooLarge, "the body has more than %d bytes", most)
	case err == nil && len(bytes.TrimSpace(text)) > 0:
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return oip.Errorf(oip.InvalidArgument, "read the body: %w: want a JSON object", err)
	}
	return nil
}

func (s *Server) postIndex(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Ready bool `json:"ready"`
	}
	if err := small(r, &body); err != nil {
		return err
	}
	s.boundWrite(w)
	return send(w, oip.MarshalIndex(s.Index(body.Ready)))
}

func (s *Server) postLoad(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Parameters map[string]any `json:"parameters"`
	}
	if err := small(r, &body); err != nil {
		return err
	}
	for name := range body.Parameters {
		return oip.Errorf(oip.InvalidArgument, "load model %s: parameter %q: the files and the settings of models are those "+
			"of the server", r.PathValue("model"), name)
	}
	if err := s.Load(r.Context(), r.PathValue("model")); err != nil {
		return err
	}
	s.boundWrite(w)
	return answer(w, map[string]any{"name": r.PathValue("model"), "load": true})
}

func (s *Server) postUnload(w http.ResponseWriter, r *http.Request) error {
	if err := s.Unload(r.Context(), r.PathValue("model")); err != nil {
		return err
	}
	s.boundWrite(w)
	return answer(w, map[string]any{"name": r.PathValue("model"), "unload": true})
}

// postInfer reads a request, computes it, and writes the response.
func (s *Server) postInfer(w http.ResponseWriter, r *http.Request) error {
	name, version := r.PathValue("model"), r.PathValue("version")
	start := time.Now()
	if e, _, err := s.serving(name, version); err != nil { // before the body is read
		s.metrics.request(e, start, queue.Times{}, err)
		return err
	}
	header := int64(-1)
	if text := r.Header.Get("Inference-Header-Content-Length"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return oip.Errorf(oip.InvalidArgument, "header Inference-Header-Content-Length: %q is no number of bytes", text)
		}
		header = n
	}
	body, size, err := s.uncompressed(w, r)
	if err != nil {
		return err
	}
	defer body.Close()
	request, err := oip.ReadRequest(body, size, header, s.limits.oip(), s.Alloc)
	if err != nil {
		if request != nil {
			s.Release(request.Inputs)
		}
		return err
	}
	request.Model, request.Version = name, version
	response, err := s.Infer(s.traceparent(r.Context(), r.Header), request)
	if err != nil {
		return err
	}
	defer s.Release(response.Outputs)
	s.lastOf(w) // it may have changed
	s.boundWrite(w)
	return s.write(w, request, response)
}

func (s *Server) write(w http.ResponseWriter, request *oip.Request, response *oip.Response) error {
	err := response.Write(w, request, func(jsonBytes, bodyBytes int64, binary bool) {
		h := w.Header()
		if binary {
			h.Set("Content-Type", "application/octet-stream")
			h.Set("Inference-Header-Content-Length", strconv.FormatInt(jsonBytes, 10))
		} else {
			h.Set("Content-Type", "application/json")
		}
		h.Set("Content-Length", strconv.FormatInt(bodyBytes, 10))
	})
	var known *oip.Error
	if errors.As(err, &known) {
		return known
	}
	if err != nil {
		s.log.Debug("a client did not take its response", "model", response.Model, "error", err)
	}
	return nil
}
