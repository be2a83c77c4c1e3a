package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// component is something that is linked into a binary.
type component struct {
	name, version string
	sum           string // of go.sum, "" for Go itself and for C code
	licence       string // an SPDX expression
	files         []string
}

// standardLibrary is the name of Go's runtime and standard library among the components.
const standardLibrary = "std"

// linked returns the main module of the binaries and what is linked into any of them: Go's standard library first, then
// modules in the order of their names.
func linked(binaries []string) (own component, all []component, err error) {
	modules := map[string]component{}
	goVersion := ""
	for _, path := range binaries {
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return own, nil, fmt.Errorf("%s: %w", path, err)
		}
		if goVersion != "" && goVersion != info.GoVersion {
			return own, nil, fmt.Errorf("%s was built by %s, and another binary by %s", path, info.GoVersion, goVersion)
		}
		goVersion = info.GoVersion
		own = component{name: info.Main.Path}
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			modules[m.Path] = component{name: m.Path, version: m.Version, sum: m.Sum}
		}
	}
	all = []component{{name: standardLibrary, version: strings.TrimPrefix(goVersion, "go")}}
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		all = append(all, modules[path])
	}
	return own, all, nil
}

// licenceFile matches the names of files that have a licence or what it asks to be kept with it.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([-.].*)?$`)

// chosen has the licences of modules whose files name several, among which a user chooses.
var chosen = map[string]string{
	"github.com/golang/freetype": "FTL OR GPL-2.0-or-later",
}

// readLicence sets the licence and its files.
func (c *component) readLicence() error {
	dir, err := c.folder()
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var found []string
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		c.files = append(c.files, path)
		for _, m := range licensecheck.Scan(text).Match {
			// A grant of patents is beside the licence, and has no name in SPDX.
			if m.ID != "" && m.ID != "GooglePatentClause" && m.ID != "GooglePatentsFile" && !slices.Contains(found, m.ID) {
				found = append(found, m.ID)
			}
		}
	}
	if either, ok := chosen[c.name]; ok && len(c.files) > 0 {
		c.licence = either
		return nil
	}
	if len(found) == 0 {
		return fmt.Errorf("%s %s: no file in %s has a known licence", c.name, c.version, dir)
	}
	c.licence = strings.Join(found, " AND ")
	return nil
}

// folder returns the folder that has the component's licence.
func (c *component) folder() (string, error) {
	if c.name == standardLibrary {
		out, err := exec.Command("go", "env", "GOROOT").Output()
		return strings.TrimSpace(string(out)), err
	}
	var said bytes.Buffer
	cmd := exec.Command("go", "mod", "download", "-json", c.name+"@"+c.version)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", cmd, err, out, said.Bytes())
	}
	var module struct{ Dir, Sum string }
	if err := json.Unmarshal(out, &module); err != nil {
		return "", fmt.Errorf("%s: %w", cmd, err)
	}
	if c.sum != "" && module.Sum != c.sum {
		return "", fmt.Errorf("%s@%s in the module cache has checksum %s, but %s is linked in", c.name, c.version,
			module.Sum, c.sum)
	}
	return module.Dir, nil
}

// copyLicences copies the files of licences to folders of the components.
func copyLicences(dir string, all []component) error {
	for _, c := range all {
		for _, file := range c.files {
			to := filepath.Join(dir, filepath.FromSlash(c.name))
			if err := os.MkdirAll(to, 0o755); err != nil {
				return err
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(to, filepath.Base(file)), text, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
