package page_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/chromium"
	"tvmgo/serve/page"
)

type object = map[string]any

// server is a server of models that says what a test wants.
type server struct {
	t     *testing.T
	url   string
	lock  sync.Mutex
	asked []request

	// set by edit
	status object
	token  string // "": none is needed
	gone   bool   // connections end without an answer
	infer  http.HandlerFunc
}

// request is a request that arrived, without those of the page's files.
type request struct{ call, authorization, contentType, body string }

// serve starts a server with a status, below a path that ends in /.
func serve(t *testing.T, status object, below string) *server {
	s := &server{t: t, status: status}
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", page.Handler())
	mux.Handle("GET /page/", page.Handler())
	mux.HandleFunc("/v2/", s.answer)
	h := httptest.NewServer(http.StripPrefix(strings.TrimSuffix(below, "/"), mux))
	t.Cleanup(h.Close)
	s.url = h.URL + below
	return s
}

func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	s.lock.Lock()
	s.asked = append(s.asked, request{r.Method + " " + r.URL.EscapedPath(), r.Header.Get("Authorization"),
		r.Header.Get("Content-Type"), string(body)})
	status, token, gone, infer := s.status, s.token, s.gone, s.infer
	s.lock.Unlock()
	switch {
	case gone:
		panic(http.ErrAbortHandler)
	case token != "" && r.Header.Get("Authorization") != "Bearer "+token:
		fail(w, 401, "there is no token: send the header Authorization: Bearer TOKEN")
	case r.URL.Path == "/v2/status":
		writeJSON(w, 200, status)
	case strings.HasSuffix(r.URL.Path, "/infer") && infer != nil:
		infer(w, r)
	default:
		fail(w, 404, "there is no "+r.URL.Path)
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // of a browser that has gone
}

func fail(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, object{"error": message})
}

// edit changes what the server says.
func (s *server) edit(change func()) {
	s.lock.Lock()
	defer s.lock.Unlock()
	change()
}

// calls returns the requests whose call contains a text.
func (s *server) calls(text string) (list []request) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, r := range s.asked {
		if strings.Contains(r.call, text) {
			list = append(list, r)
		}
	}
	return list
}

// last returns the last request to a model.
func (s *server) last() request {
	list := s.calls("/infer")
	require.NotEmpty(s.t, list)
	return list[len(list)-1]
}

// clock replaces the timers of a page, which run a minute later, when the test calls tick. It counts calls of fetch.
const clock = `(() => {
  const timers = new Map();
  let last = 0;
  window.setTimeout = (f) => { timers.set(++last, f); return last; };
  window.clearTimeout = (id) => timers.delete(id);
  window.timers = () => timers.size;
  let now = Date.UTC(2026, 0, 1, 12);
  window.Date = class extends Date { constructor(...list) { super(...(list.length ? list : [now])); } };
  window.tick = () => {
    now += 60000;
    const due = [...timers.values()];
    timers.clear();
    due.forEach((f) => f());
  };
  const fetch = window.fetch;
  window.fetches = 0;
  window.fetch = (...list) => { window.fetches++; return fetch(...list); };
})()`

// tab is the page of a server, whose time stands still.
type tab struct {
	*chromium.Tab
	s *server
}

// open opens the page. It waits for the first answer, unless the server is gone.
func open(in context.Context, s *server, before ...chromedp.Action) *tab {
	s.t.Helper()
	stopped := chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := cdppage.AddScriptToEvaluateOnNewDocument(clock).Do(ctx)
		return err
	})
	root := strings.Join(strings.SplitAfter(s.url, "/")[:3], "")
	b := &tab{chromium.Open(s.t, in, s.url, func(url string) bool { return strings.HasPrefix(url, root) },
		append(before, stopped, emulation.SetTimezoneOverride("UTC"))...), s}
	b.answered()
	return b
}

// answered waits until the page has shown an answer: it then waits for the next, or for a token.
func (b *tab) answered() {
	b.s.t.Helper()
	b.Await(`timers() > 0 || !document.getElementById("login").hidden`)
}

// poll makes the page ask for the status now.
func (b *tab) poll() {
	b.s.t.Helper()
	chromium.Eval[any](b.Tab, `tick(), null`)
	b.answered()
}

// hide makes the page hidden, or visible again, and returns how often it has asked the server. The event comes twice
// before any answer can arrive: a page that is asking does not ask again.
func (b *tab) hide(hidden bool) (fetches int) {
	b.s.t.Helper()
	return chromium.Eval[int](b.Tab, fmt.Sprintf(`Object.defineProperty(document, "hidden", { value: %t,
		configurable: true }), document.dispatchEvent(new Event("visibilitychange")),
		document.dispatchEvent(new Event("visibilitychange")), fetches`, hidden))
}

// text is the text of an element that the user sees.
func (b *tab) text(selector string) string {
	b.s.t.Helper()
	return chromium.Eval[string](b.Tab, fmt.Sprintf(`document.querySelector(%q).innerText`, selector))
}

func (b *tab) shown(selector string) bool {
	b.s.t.Helper()
	return chromium.Eval[bool](b.Tab, fmt.Sprintf(`document.querySelector(%q).checkVisibility()`, selector))
}

func (b *tab) click(selector string) {
	b.s.t.Helper()
	b.Run(chromedp.Click(selector, chromedp.ByQuery))
}

// write replaces the text of a field.
func (b *tab) write(selector, text string) {
	b.s.t.Helper()
	chromium.Eval[any](b.Tab, fmt.Sprintf(`document.querySelector(%q).select()`, selector))
	b.Run(chromedp.SendKeys(selector, kb.Backspace+text, chromedp.ByQuery))
}

// send sends the form and waits for what comes of it.
func (b *tab) send() {
	b.s.t.Helper()
	b.click("#send")
	b.Await(`document.getElementById("cancel").hidden`)
}

func tensor(name, datatype string, shape ...int64) object {
	if shape == nil {
		shape = []int64{}
	}
	return object{"name": name, "datatype": datatype, "shape": shape}
}

func metadata(name string, inputs, outputs []object) object {
	return object{"name": name, "versions": []string{"1"}, "platform": "tvmgo_relax", "inputs": inputs, "outputs": outputs}
}

// models is a status with models in every state.
func models() object {
	return object{
		"server": object{"name": "tvmgo", "version": "0.9.0", "extensions": []string{"binary_tensor_data"}},
		"ready":  true,
		"models": []object{
			{"name": "bert-base", "state": "READY", "file": "models/bert-base.so", "devices": []string{"cuda:0", "cuda:1"},
				"instances": 2, "max_batch": 16, "queue": 37, "running": 32, "capacity": 256,
				"latency": object{"p50_us": 4210.5, "p90_us": 6853.0, "p99_us": 11932.0},
				"metadata": metadata("bert-base", []object{tensor("input_ids", "INT64", -1, 128),
					tensor("attention_mask", "INT64", -1, 128)}, []object{tensor("logits", "FP32", -1, 2)})},
			{"name": "mlp", "state": "READY", "file": "models/mlp.so", "devices": []string{"cpu:0"}, "instances": 1,
				"queue": 0, "running": 0, "capacity": 64,
				"metadata": metadata("mlp", []object{tensor("x", "FP32", 2, 4), tensor("scale", "INT64"),
					tensor("mask", "BOOL", -1)}, []object{tensor("y", "FP32", 2, 4)})},
			{"name": "ranker", "state": "LOADING"},
			{"name": "resnet50", "state": "READY", "file": "models/resnet50.so", "devices": []string{"vulkan:0"},
				"instances": 1, "max_batch": 8, "queue": 250, "running": 8, "capacity": 256,
				"latency": object{"p50_us": 87.4, "p90_us": 812.0, "p99_us": 1204000.0},
				"metadata": metadata("resnet50", []object{tensor("image", "FP32", -1, 3, 224, 224)},
					[]object{tensor("scores", "FP32", -1, 1000)})},
			{"name": "whisper", "state": "UNAVAILABLE", "reason": "load models/whisper.so: module kind \"cuda\" has no " +
				"loader: import tvmgo/runtime/cuda"},
		},
	}
}

// picture writes a picture of the whole page into a folder, if the flag -pictures names one.
func (b *tab) picture(name string) {
	if *pictures == "" {
		return
	}
	var png []byte
	b.Run(chromedp.FullScreenshot(&png, 100))
	require.NoError(b.s.t, os.MkdirAll(*pictures, 0o777))
	require.NoError(b.s.t, os.WriteFile(filepath.Join(*pictures, name+".png"), png, 0o666))
}

// decode returns the value of a JSON text.
func decode(t *testing.T, body string) (v any) {
	require.NoError(t, json.Unmarshal([]byte(body), &v))
	return v
}
