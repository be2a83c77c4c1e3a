package serve

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long a file must not have changed before it is loaded: a copy of a large file changes it many times.
const settle = 250 * time.Millisecond

// watcher reloads models whose files change.
type watcher struct {
	server *Server
	events *fsnotify.Watcher
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// watch starts to watch the folders of all sources. A folder is watched instead of a file: a file that is replaced by
// renaming another one is a new file.
//
// seen are the stamps of the files before they were loaded.
func (s *Server) watch(seen map[string]string) (*watcher, error) {
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch the files of models: %w", err)
	}
	folders := map[string]bool{}
	for _, source := range s.sources {
		folder := source.Path
		if info, err := os.Stat(folder); err == nil && !info.IsDir() {
			folder = filepath.Dir(folder)
		}
		folders[folder] = true
	}
	for folder := range folders {
		if err := events.Add(folder); err != nil {
			events.Close()
			return nil, fmt.Errorf("watch the files of models: %s: %w", folder, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &watcher{server: s, events: events, cancel: cancel}
	w.done.Go(func() { w.run(ctx, seen) })
	return w, nil
}

func (w *watcher) close() {
	if w == nil {
		return
	}
	w.cancel()
	w.events.Close()
	w.done.Wait()
}

// run reloads the models whose files have changed, once they have not for a while.
func (w *watcher) run(ctx context.Context, seen map[string]string) {
	timer := time.NewTimer(settle) // files may have changed since they were loaded
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-w.events.Events:
			if !ok {
				return
			}
			timer.Reset(settle)
		case err, ok := <-w.events.Errors:
			if !ok {
				return
			}
			w.server.log.Error("watching the files of models failed", "error", err)
			timer.Reset(settle) // events may be missing
		case <-timer.C:
			now := w.server.stamps()
			w.server.changed(ctx, seen, now)
			seen = now
		}
	}
}

// stamps returns those of the files of every model that the folders have now.
func (s *Server) stamps() map[string]string {
	all := map[string]string{}
	for _, source := range s.sources {
		files, err := source.files()
		if err != nil {
			continue
		}
		for name, path := range files {
			d, err := source.define(name, path, s.options.Model)
			if err != nil {
				d = &definition{name: name, path: path}
			}
			text := ""
			for _, file := range d.watched() {
				if info, err := os.Stat(file); err == nil {
					text += fmt.Sprintf("%s %d %d %d\n", file, info.Size(), info.ModTime().UnixNano(), inode(info))
				}
			}
			all[name] = text
		}
	}
	return all
}

// changed loads the models that were added and those whose files have changed, and unloads those that have gone. A
// model whose folder cannot be read stays.
func (s *Server) changed(ctx context.Context, before, now map[string]string) {
	if maps.Equal(before, now) {
		return
	}
	if err := s.scan(); err != nil {
		s.log.Error("the folders of models were not read", "error", err)
	}
	for _, e := range s.all() {
		text, exists := now[e.name]
		switch {
		case !exists && e.current.Load() != nil:
			if files, err := e.source.files(); err != nil || files[e.name] != "" {
				continue
			}
			if err := s.unload(ctx, e); err != nil {
				s.log.Error("a model was not closed", "model", e.name, "error", err)
			}
		case exists && before[e.name] != text:
			_ = s.load(ctx, e) // it logs
		}
	}
}

// inode is the number of a file: another one after it was replaced.
func inode(info os.FileInfo) uint64 {
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		return sys.Ino
	}
	return 0
}
