package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"tvmgo/internal/nearest"
	"tvmgo/internal/version"
	"tvmgo/runtime"
	"tvmgo/serve/oip"
)

// theVersion is the version of every model: a file is replaced, and has no versions beside each other.
const theVersion = "1"

// Server has models, and answers requests. Its methods are safe for concurrent use.
type Server struct {
	options Options
	limits  Limits
	log     *slog.Logger
	sources []Source
	metrics *metrics
	tokens  atomic.Pointer[[]string]
	loading atomic.Pointer[[]runtime.LoadOption]

	mu      sync.RWMutex // of entries
	entries map[string]*entry

	ready    atomic.Bool
	closed   atomic.Bool
	watching *watcher
	ending   chan struct{} // closed by EndStreams
	end      func()        // closes it

	retiredMu sync.Mutex
	retired   map[*loaded]chan struct{} // models that were replaced and still answer; closed when they have ended
}

// entry is a model by name. It stays when the model is unloaded, and its counters go on.
type entry struct {
	name    string
	source  Source
	metrics *modelMetrics
	current atomic.Pointer[loaded] // nil: it is not loaded
	change  sync.Mutex             // held while the model is loaded or unloaded
	state   atomic.Pointer[state]
}

// state is what the index of the repository says about a model.
type state struct{ name, reason string }

// The states of models, as the protocol names them.
const (
	stateReady       = "READY"
	stateLoading     = "LOADING"
	stateUnloading   = "UNLOADING"
	stateUnavailable = "UNAVAILABLE"
)

func (e *entry) set(name, reason string) { e.state.Store(&state{name, reason}) }

// New makes a server and loads its models. A model that cannot be loaded is an error, and nothing stays loaded.
func New(ctx context.Context, o Options) (_ *Server, err error) {
	if err := errors.Join(o.Model.check(), o.Limits.check()); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	s := &Server{options: o, limits: o.Limits.withDefaults(), log: o.Logger, entries: map[string]*entry{},
		retired: map[*loaded]chan struct{}{}, ending: make(chan struct{})}
	s.end = sync.OnceFunc(func() { close(s.ending) })
	if s.log == nil {
		s.log = slog.Default()
	}
	s.SetTokens(o.Tokens)
	s.SetLoad(o.Load)
	s.metrics = newMetrics(s)
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if len(o.Models) == 0 {
		return nil, errors.New("start the server: there are no models: name a library, or a folder with libraries")
	}
	for _, text := range o.Models {
		source, err := ParseSource(text)
		if err != nil {
			return nil, fmt.Errorf("start the server: %w", err)
		}
		s.sources = append(s.sources, source)
	}
	if err := s.scan(); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	if len(s.entries) == 0 {
		s.log.Warn("there is no model: put a library into a folder that is served", "folders", o.Models, "watched", o.Watch)
	}
	files := s.stamps() // before they are read
	for _, e := range s.all() {
		if err := s.load(ctx, e); err != nil {
			return nil, fmt.Errorf("start the server: %w", err)
		}
	}
	if o.Watch {
		if s.watching, err = s.watch(files); err != nil {
			return nil, fmt.Errorf("start the server: %w", err)
		}
	}
	s.ready.Store(true)
	return s, nil
}

// scan adds the models that the sources have and the server does not know. A source that cannot be read is an error,
// and does not keep it from the others.
func (s *Server) scan() error {
	var errs []error
	for _, source := range s.sources {
		files, err := source.files()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for name := range files {
			errs = append(errs, s.add(name, source))
		}
	}
	return errors.Join(errs...)
}

// add adds a model of a source, if the server does not know it.
func (s *Server) add(name string, source Source) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.entries[name]; other == nil {
		e := &entry{name: name, source: source, metrics: s.metrics.model(name)}
		e.set(stateUnavailable, "not loaded")
		s.entries[name] = e
	} else if other.source != source {
		return fmt.Errorf("%s and %s both have a model %q: give one another name by NAME=FILE", other.source.Path,
			source.Path, name)
	}
	return nil
}

// all returns the models in the order of their names.
func (s *Server) all() []*entry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := make([]*entry, 0, len(s.entries))
	for _, e := range s.entries {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b *entry) int { return strings.Compare(a.name, b.name) })
	return list
}

// find returns a model that a request names.
func (s *Server) find(name, version string) (*entry, error) {
	s.mu.RLock()
	e := s.entries[name]
	s.mu.RUnlock()
	switch {
	case e == nil:
		return nil, oip.Errorf(oip.NotFound, "there is no model %q%s", name, s.suggest(name))
	case version != "" && version != theVersion:
		return nil, oip.Errorf(oip.NotFound, "model %q has no version %q: its version is %q", name, version, theVersion)
	}
	return e, nil
}

func (s *Server) suggest(name string) string {
	var names []string
	for _, e := range s.all() {
		names = append(names, e.name)
	}
	if near := nearest.Name(name, names); near != "" {
		return fmt.Sprintf(": did you mean %q?", near)
	}
	return ": /v2/repository/index lists them"
}

// serving returns a model that is loaded. The entry is nil only if there is no such model.
func (s *Server) serving(name, version string) (*entry, *loaded, error) {
	e, err := s.find(name, version)
	if err != nil {
		return nil, nil, err
	}
	l := e.current.Load()
	if l == nil {
		st := e.state.Load()
		return e, nil, oip.Errorf(oip.Unavailable, "model %q is not ready (%s: %s)", name, st.name, st.reason)
	}
	return e, l, nil
}

// load loads a model, or its file again. The loaded one answers requests until the new one has been tried; if that
// fails, it goes on.
func (s *Server) load(ctx context.Context, e *entry) error {
	e.change.Lock()
	defer e.change.Unlock()
	if s.closed.Load() {
		return oip.Errorf(oip.Unavailable, "the server stops")
	}
	old := e.current.Load()
	if old == nil {
		e.set(stateLoading, "")
	}
	fresh, err := s.open(ctx, e)
	if err != nil {
		if old == nil {
			e.set(stateUnavailable, err.Error())
		}
		s.log.Error("a model was not loaded", "model", e.name, "error", err, "still_served", old != nil)
		return fmt.Errorf("load model %s: %w", e.name, err)
	}
	e.current.Store(fresh)
	e.set(stateReady, "")
	s.log.Info("a model was loaded", "model", e.name, "file", fresh.path, "replaced", old != nil)
	s.retire(old)
	return nil
}

func (s *Server) open(ctx context.Context, e *entry) (*loaded, error) {
	files, err := e.source.files()
	if err != nil {
		return nil, err
	}
	path, ok := files[e.name]
	if !ok {
		return nil, fmt.Errorf("folder %s has no library for it any longer", e.source.Path)
	}
	d, err := e.source.define(e.name, path, s.options.Model)
	if err != nil {
		return nil, err
	}
	return d.load(ctx, s, e.metrics)
}

// retire lets a model answer what it has accepted, and closes it. The channel is closed when that is done.
func (s *Server) retire(old *loaded) <-chan struct{} {
	done := make(chan struct{})
	if old == nil {
		close(done)
		return done
	}
	old.retire()
	s.retiredMu.Lock()
	s.retired[old] = done
	s.retiredMu.Unlock()
	go func() {
		defer func() {
			s.retiredMu.Lock()
			delete(s.retired, old)
			s.retiredMu.Unlock()
			close(done)
		}()
		if err := old.finish(context.Background()); err != nil {
			s.log.Error("a model was not closed", "model", old.name, "error", err)
		}
	}()
	return done
}

// unload stops serving a model. What was accepted is answered, until ctx ends; then it fails.
func (s *Server) unload(ctx context.Context, e *entry) error {
	e.change.Lock()
	defer e.change.Unlock()
	old := e.current.Swap(nil)
	if old == nil {
		return nil
	}
	e.set(stateUnloading, "")
	err := old.finish(ctx)
	e.set(stateUnavailable, "unloaded")
	s.log.Info("a model was unloaded", "model", e.name)
	return err
}

// Reload loads every model again, and those that were added to folders. It returns the errors of those that failed,
// whose old code goes on.
func (s *Server) Reload(ctx context.Context) error {
	errs := []error{s.scan()}
	for _, e := range s.all() {
		errs = append(errs, s.load(ctx, e))
	}
	return errors.Join(errs...)
}

// loadOptions are the options for loading a library. A file that is replaced in place must not change code that runs,
// so libraries are private copies.
func (s *Server) loadOptions() []runtime.LoadOption {
	return append([]runtime.LoadOption{runtime.PrivateCopy()}, *s.loading.Load()...)
}

// SetLoad replaces [Options.Load] for what is loaded from now on, for example by new keys of [runtime.WithTrust].
// Models that are loaded stay.
func (s *Server) SetLoad(options []runtime.LoadOption) {
	options = slices.Clone(options)
	s.loading.Store(&options)
}

// SetTokens replaces [Options.Tokens] for requests from now on. With no tokens, every client is accepted.
func (s *Server) SetTokens(tokens []string) {
	tokens = slices.Clone(tokens)
	s.tokens.Store(&tokens)
}

// Live reports whether the server runs.
func (s *Server) Live() bool { return !s.closed.Load() }

// Ready reports whether the server takes requests, and no model is being loaded for the first time. Models that were
// unloaded since do not count.
func (s *Server) Ready() bool {
	if !s.ready.Load() || s.closed.Load() {
		return false
	}
	for _, e := range s.all() {
		if st := e.state.Load(); st.name == stateLoading {
			return false
		}
	}
	return true
}

// NotReady makes Ready false, so that balancers send no more requests. Those that come are still answered; responses of
// HTTP end their connections.
func (s *Server) NotReady() { s.ready.Store(false) }

// EndStreams ends streams of gRPC when the requests that were read from them are answered, with the code UNAVAILABLE:
// clients may keep them open forever. Call it before grpc.Server.GracefulStop, which waits for them.
func (s *Server) EndStreams() { s.end() }

// Shutdown answers no more requests and waits for those that were accepted, until ctx ends. Then it closes the models.
func (s *Server) Shutdown(ctx context.Context) error {
	s.ready.Store(false)
	if s.closed.Swap(true) {
		return nil
	}
	s.end()
	s.watching.close()
	var errs []error
	for _, e := range s.all() {
		errs = append(errs, s.unload(ctx, e))
	}
	s.retiredMu.Lock()
	retired := maps.Clone(s.retired)
	s.retiredMu.Unlock()
	for old, ended := range retired {
		select {
		case <-ended:
			continue
		case <-ctx.Done():
		}
		if old.answered() { // only its workers have to end
			<-ended
		} else {
			errs = append(errs, fmt.Errorf("stop the server: requests of model %s, which was replaced, are still running: %w",
				old.name, ctx.Err()))
		}
	}
	var succeeded, failed uint64
	for _, e := range s.all() {
		sum := e.metrics.statistics.read(e.name)
		succeeded, failed = succeeded+sum.Success.Count, failed+sum.Fail.Count
	}
	s.log.Info("the server has stopped", "succeeded", succeeded, "failed", failed)
	return errors.Join(errs...)
}

// Close is Shutdown that does not wait.
func (s *Server) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return s.Shutdown(ctx)
}

// Server describes the server.
func (s *Server) Server() oip.ServerMetadata {
	return oip.ServerMetadata{Name: "tvmgo", Version: version.Number(), Extensions: []string{"binary_tensor_data",
		"model_repository", "statistics"}}
}

// ModelReady reports whether a model takes requests.
func (s *Server) ModelReady(name, version string) (bool, error) {
	e, err := s.find(name, version)
	return err == nil && e.current.Load() != nil, err
}

// Metadata describes a model that is loaded.
func (s *Server) Metadata(name, version string) (*oip.Metadata, error) {
	_, l, err := s.serving(name, version)
	if err != nil {
		return nil, err
	}
	return &l.meta, nil
}

// Index lists the models of the repository, also those that are not loaded.
func (s *Server) Index(readyOnly bool) []oip.IndexEntry {
	list := []oip.IndexEntry{}
	for _, e := range s.all() {
		st := e.state.Load()
		if e.current.Load() != nil || !readyOnly {
			list = append(list, oip.IndexEntry{Name: e.name, Version: theVersion, State: st.name, Reason: st.reason})
		}
	}
	return list
}

// Load loads a model of the repository, or its file again. Files that were added to a folder are found.
func (s *Server) Load(ctx context.Context, name string) error {
	e, err := s.find(name, "")
	if err != nil {
		unread := s.scan()
		if e, err = s.find(name, ""); err != nil && unread != nil {
			return oip.Errorf(oip.Internal, "%w", unread)
		} else if err != nil {
			return err
		}
	}
	if err := s.load(ctx, e); err != nil {
		return asError(err, oip.Internal)
	}
	return nil
}

// Unload stops serving a model, and waits until what was accepted is answered, or ctx ends. What was accepted is
// answered in both cases.
func (s *Server) Unload(ctx context.Context, name string) error {
	e, err := s.find(name, "")
	if err != nil {
		return err
	}
	e.change.Lock()
	old := e.current.Swap(nil)
	if old != nil {
		e.set(stateUnavailable, "unloaded")
		s.log.Info("a model was unloaded", "model", e.name)
	}
	done := s.retire(old)
	e.change.Unlock()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return asError(fmt.Errorf("unload model %s: requests are still running: %w", name, ctx.Err()), oip.Internal)
	}
}
