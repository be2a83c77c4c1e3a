package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"tvmgo/internal/signaturefile"
)

// Source is where models come from: a library, or a folder with libraries, each of which is a model. A folder with a
// name has one library, which is the model of that name.
type Source struct {
	Name     string // of the model; "": the name of the file without its suffix
	Path     string // of a file, or of a folder
	Function string // "": main, or the only one
}

// ParseSource reads [NAME=]FILE[:FUNCTION] or [NAME=]FOLDER.
func ParseSource(text string) (Source, error) {
	s := Source{Path: text}
	if name, path, ok := strings.Cut(text, "="); ok && !strings.ContainsRune(name, filepath.Separator) {
		s.Name, s.Path = name, path
		if !validName(name) {
			return s, fmt.Errorf("model %q: %w", text, errBadName(name))
		}
	}
	info, err := os.Stat(s.Path)
	if i := strings.LastIndexByte(s.Path, ':'); err != nil && i > 0 {
		if more, err2 := os.Stat(s.Path[:i]); err2 == nil && !more.IsDir() {
			s.Path, s.Function = s.Path[:i], s.Path[i+1:]
			info, err = more, nil
		}
	}
	switch {
	case err != nil:
		return s, fmt.Errorf("model %q: %w: want [NAME=]FILE[:FUNCTION], or a folder", text, err)
	case !info.IsDir() && s.Name == "":
		s.Name = nameOf(s.Path)
		if !validName(s.Name) {
			return s, fmt.Errorf("model %q: %w: give it one by NAME=%s", text, errBadName(s.Name), text)
		}
	}
	return s, nil
}

func nameOf(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// validName reports whether a name can be part of a path of the protocol as it is.
func validName(name string) bool {
	const others = "_-."
	return name != "" && len(name) <= 200 && name[0] != '.' && !strings.ContainsFunc(name, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(others, r))
	})
}

func errBadName(name string) error {
	return fmt.Errorf("%q is no name of a model: want letters, digits, '_', '-' and '.', not '.' first", name)
}

// suffixes are the files of a folder that are models.
var suffixes = []string{".so", ".tar", ".o"}

// definition is what a source says about one model.
type definition struct {
	name    string
	path    string
	options ModelOptions
}

// watched returns the files that the model is made of.
func (d *definition) watched() []string {
	list := []string{d.path, d.path + signaturefile.Suffix, settingsFile(d.path)}
	if d.options.Params != "" {
		list = append(list, d.options.Params)
	}
	return list
}

func settingsFile(path string) string { return strings.TrimSuffix(path, filepath.Ext(path)) + ".json" }

// files returns the libraries of a source by the names of their models. Those of a folder are what it has now.
func (s Source) files() (map[string]string, error) {
	info, err := os.Stat(s.Path)
	if err != nil || !info.IsDir() {
		return map[string]string{s.Name: s.Path}, err
	}
	entries, err := os.ReadDir(s.Path)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	var libraries []string
	for _, e := range entries {
		name := nameOf(e.Name())
		if e.IsDir() || e.Name()[0] == '.' || !slices.Contains(suffixes, filepath.Ext(e.Name())) {
			continue
		}
		libraries = append(libraries, e.Name())
		path := filepath.Join(s.Path, e.Name())
		switch other, twice := found[name]; {
		case s.Name != "":
			found = map[string]string{s.Name: path} // its file may have any name
		case twice:
			return nil, fmt.Errorf("%s and %s are both model %q: rename one", other, path, name)
		case validName(name):
			found[name] = path
		}
	}
	switch {
	case s.Name == "" || len(libraries) == 1:
		return found, nil
	case len(libraries) == 0:
		return nil, fmt.Errorf("model %q: %s has no library (%s): put one there", s.Name, s.Path,
			strings.Join(suffixes, ", "))
	}
	return nil, fmt.Errorf("model %q: %s has %d libraries (%s): want one; without %s=, each is a model", s.Name, s.Path,
		len(libraries), strings.Join(libraries, ", "), s.Name)
}

// define reads the settings of a model: those of the server, and those of the file beside the library.
func (s Source) define(name, path string, defaults ModelOptions) (*definition, error) {
	d := &definition{name: name, path: path, options: defaults}
	if s.Function != "" {
		d.options.Function = s.Function
	}
	file := settingsFile(path)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d.options); err != nil {
		return nil, fmt.Errorf("read the settings of model %s: %s: %w", name, file, inWords(err))
	}
	if dec.More() {
		return nil, fmt.Errorf("read the settings of model %s: %s: something follows the object: want one object", name, file)
	}
	if err := d.options.check(); err != nil {
		return nil, fmt.Errorf("read the settings of model %s: %s: %w", name, file, err)
	}
	if p := d.options.Params; p != "" && !filepath.IsLocal(p) {
		return nil, fmt.Errorf("read the settings of model %s: %s: params %q is outside of the folder: want a file beside "+
			"the library", name, file, p)
	} else if p != "" {
		d.options.Params = filepath.Join(filepath.Dir(path), p)
	}
	return d, nil
}

// inWords returns an error of settings without the names of this package.
func inWords(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	want := "a text"
	switch wrong.Type.Kind() {
	case reflect.Int, reflect.Int64:
		want = "an integer"
	case reflect.Slice:
		want = "a list"
	case reflect.Struct:
		want = "an object"
	}
	if wrong.Type == reflect.TypeFor[Duration]() {
		want = `a text such as "5ms"`
	}
	if wrong.Field == "" {
		return fmt.Errorf("it is no object but a JSON %s: want %s", wrong.Value, want)
	}
	return fmt.Errorf("%s is a JSON %s: want %s", wrong.Field, wrong.Value, want)
}
