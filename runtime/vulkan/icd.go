package vulkan

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tvmgo/internal/dl"
)

// icdFiles returns the manifest files in which the loader finds the names of drivers, and in `where` the folders or the
// variable that determine these files. A variable that is set to "" names no files.
func icdFiles() (where string, files []string) {
	for _, variable := range []string{"VK_DRIVER_FILES", "VK_ICD_FILENAMES"} {
		if v, ok := os.LookupEnv(variable); ok {
			return variable + "=" + v, namedFiles(v)
		}
	}
	folders := icdFolders()
	for _, f := range folders {
		more, _ := filepath.Glob(filepath.Join(f, "*.json"))
		files = append(files, more...)
	}
	return strings.Join(folders, ", "), append(namedFiles(os.Getenv("VK_ADD_DRIVER_FILES")), files...)
}

// namedFiles expands a list of files and folders to files.
func namedFiles(list string) (files []string) {
	for _, f := range filepath.SplitList(list) {
		if info, err := os.Stat(f); err == nil && info.IsDir() {
			more, _ := filepath.Glob(filepath.Join(f, "*.json"))
			files = append(files, more...)
		} else if f != "" {
			files = append(files, f)
		}
	}
	return files
}

// icdFolders returns the folders in which the loader searches if no variable names files: the user's and the system's
// configuration folders, then the user's and the system's data folders.
func icdFolders() []string {
	home, _ := os.UserHomeDir()
	or := func(variable, otherwise string) []string {
		if v := os.Getenv(variable); v != "" {
			return filepath.SplitList(v)
		}
		return filepath.SplitList(otherwise)
	}
	var all []string
	for _, roots := range [][]string{or("XDG_CONFIG_HOME", filepath.Join(home, ".config")),
		or("XDG_CONFIG_DIRS", "/etc/xdg"), {"/etc"},
		or("XDG_DATA_HOME", filepath.Join(home, ".local/share")), or("XDG_DATA_DIRS", "/usr/local/share:/usr/share")} {
		for _, root := range roots {
			if f := filepath.Join(root, "vulkan/icd.d"); root != "" && !slices.Contains(all, f) {
				all = append(all, f)
			}
		}
	}
	return all
}

// brokenDrivers returns, for each driver that a manifest file names but that cannot be opened, the reason. The loader
// skips such drivers without an error.
func brokenDrivers() []string {
	var broken []string
	_, files := icdFiles()
	for _, file := range files {
		if cause := whyBroken(file); cause != "" {
			broken = append(broken, cause)
		}
	}
	return broken
}

// whyBroken reads a manifest file and opens its driver. It returns the reason why that fails; "" if it does not.
func whyBroken(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	var manifest struct {
		ICD struct {
			Library string `json:"library_path"`
		}
	}
	if err := json.Unmarshal(text, &manifest); err != nil || manifest.ICD.Library == "" {
		return file + " does not name a driver"
	}
	library := manifest.ICD.Library
	if strings.Contains(library, "/") && !filepath.IsAbs(library) {
		library = filepath.Join(filepath.Dir(file), library)
	}
	if _, err := dl.OpenFile(library); err != nil { // never closed: threads that it started would lose their code
		return fmt.Sprintf("%s names a driver that cannot be opened: %v", file, err)
	}
	return ""
}

// noDriver returns the error that the loader found no driver, with the reason if it can be determined.
func noDriver(code string) error {
	where, files := icdFiles()
	cause := "no file of " + where + " names one"
	if broken := brokenDrivers(); len(broken) > 0 {
		cause = strings.Join(broken, "; ")
	} else if len(files) > 0 {
		cause = strings.Join(files, ", ") + ": the drivers named there have no device"
		if slices.ContainsFunc(files, func(f string) bool { return strings.Contains(filepath.Base(f), "nvidia") }) {
			if _, err := dl.OpenFile("libEGL.so.1"); err != nil { // no display: the driver uses this library
				cause += "; NVIDIA's driver needs libEGL.so.1 on a machine without a display (Debian: libegl1)"
			}
		}
	}
	return unavailable("%s was opened, but finds no Vulkan driver: %s (%s): install a driver (Debian: "+
		"mesa-vulkan-drivers), or set VK_DRIVER_FILES to its .json file",
		dl.VulkanPath(), cause, code)
}
