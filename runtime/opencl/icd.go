//go:build opencl

package opencl

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tvmgo/internal/dl"
)

// icdFiles returns the .icd files in which the loader finds the names of drivers, and the folder that contains them.
func icdFiles() (where string, files []string) {
	where = "/etc/OpenCL/vendors"
	for _, variable := range []string{"OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"} {
		if v := os.Getenv(variable); v != "" {
			where = v
			break
		}
	}
	if strings.HasSuffix(where, ".icd") {
		return where, []string{where}
	}
	files, _ = filepath.Glob(filepath.Join(where, "*.icd"))
	return where, files
}

// brokenDrivers returns, for each driver that an .icd file names but that cannot be opened, the reason. Loaders skip
// such drivers without an error.
func brokenDrivers() []string {
	var broken []string
	_, files := icdFiles()
	for _, file := range files {
		text, err := os.ReadFile(file)
		library := strings.TrimSpace(string(text))
		switch {
		case err != nil:
			broken = append(broken, err.Error())
		case library == "" || strings.ContainsAny(library, "\n\x00"):
			broken = append(broken, file+" does not name one library")
		default:
			// The library is never closed: threads that it started would lose their code.
			if _, err := dl.OpenFile(library); err != nil {
				broken = append(broken, fmt.Sprintf("%s names a driver that cannot be opened: %v", file, err))
			}
		}
	}
	return broken
}

// noDriver returns the error that the loader found no driver, with the reason if it can be determined.
func noDriver(loader, code string) error {
	where, files := icdFiles()
	cause := "no file in " + where + " names one"
	if broken := brokenDrivers(); len(broken) > 0 {
		cause = strings.Join(broken, "; ")
	} else if len(files) > 0 {
		cause = strings.Join(files, ", ") + ": the drivers named there have no platform"
	}
	return unavailable("%s was opened, but finds no OpenCL driver: %s (%s): install a driver (Debian: pocl-opencl-icd "+
		"for CPUs), or set OCL_ICD_VENDORS to the folder of its .icd file",
		loader, cause, code)
}
