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

// icdFiles lists the files that name the drivers for the loader, and where it looks for them. A variable that is set
// and empty names none.
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

// namedFiles are those of a list of files and folders.
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

// icdFolders are where the loader looks when no variable names files: the user's settings, the machine's, the user's
// data, the machine's.
func icdFolders() []string {
	home, _ := os.UserHomeDir()
	or := func(variable, otherwise string) []string {
		if v := os.Getenv(variable); v != "" {
			return filepath.SplitList(v)
		}
		return filepath.SplitList(otherwise)
	}
	var all []string
	for _, roots := range [][]string{or("XDG_CONFIG_HOME", filepath.Join(home, ".config")), or("XDG_CONFIG_DIRS",
		"/etc/xdg"), {"/etc"},
		or("XDG_DATA_HOME", filepath.Join(home, ".local/share")), or("XDG_DATA_DIRS", "/usr/local/share:/usr/share")} {
		for _, root := range roots {
			if f := filepath.Join(root, "vulkan/icd.d"); root != "" && !slices.Contains(all, f) {
				all = append(all, f)
			}
		}
	}
	return all
}

// brokenDrivers says of each driver that is named and cannot be opened, why. The loader passes over those in silence.
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

// whyBroken reads a driver's file and tries its library; "" when it opens.
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
	if _, err := dl.OpenFile(library); err != nil { // stays open: what drivers start does not survive their end
		return fmt.Sprintf("%s names a driver that cannot be opened: %v", file, err)
	}
	return ""
}

// noDriver says that the loader has no driver, and why where that can be seen.
func noDriver(code string) error {
	where, files := icdFiles()
	cause := "no file of " + where + " names one"
	if broken := brokenDrivers(); len(broken) > 0 {
		cause = strings.Join(broken, "; ")
	} else if len(files) > 0 {
		cause = strings.Join(files, ", ") + ": what is named there has no device"
	}
	return unavailable("%s was opened and finds no Vulkan driver: %s (%s): install a driver (Debian: "+
		"mesa-vulkan-drivers), or set VK_DRIVER_FILES to its .json file",
		dl.VulkanPath(), cause, code)
}
