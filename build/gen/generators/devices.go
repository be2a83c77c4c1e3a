package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// registersDevice is a call that registers a device, in C or Go, or a kind of module.
var registersDevice = regexp.MustCompile(
	`\b(tvmgo_device_builtin|TVMGODeviceAPIRegister|runtime\.RegisterDeviceAPI|runtime\.RegisterModuleKind)\(`)

// findDevices returns the packages in the folders of runtime that register devices or kinds of modules, sorted, without
// those that package runtime itself imports.
func findDevices(root string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(root, "runtime", "*", "*.*"))
	if err != nil {
		return nil, err
	}
	var all []string
	for _, file := range files {
		path := "runtime/" + filepath.Base(filepath.Dir(file))
		source := strings.HasSuffix(file, ".c") || strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go")
		if !source || slices.Contains(all, path) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if !registersDevice.Match(text) {
			continue
		}
		imported, err := importedByRuntime(root, path)
		if err != nil {
			return nil, err
		}
		if !imported {
			all = append(all, path)
		}
	}
	return all, nil
}

// importedByRuntime reports whether package runtime imports a package.
func importedByRuntime(root, path string) (bool, error) {
	files, err := filepath.Glob(filepath.Join(root, "runtime", "*.go"))
	if err != nil {
		return false, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return false, err
		}
		if !strings.HasSuffix(file, "_test.go") && strings.Contains(string(text), `"`+module+"/"+path+`"`) {
			return true, nil
		}
	}
	return false, nil
}
