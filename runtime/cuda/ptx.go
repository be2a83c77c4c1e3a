//go:build cuda

package cuda

import (
	"bytes"
	"fmt"
	"strings"

	"tvmgo/internal/cudaimage"
)

// ptxVersions has the newest PTX version that the driver of each CUDA version supports, newest first (from the release
// history of the PTX ISA).
var ptxVersions = []struct{ driver, major, minor int }{
	{13050, 9, 5}, {13040, 9, 4}, {13030, 9, 3}, {13020, 9, 2}, {13010, 9, 1}, {13000, 9, 0},
	{12090, 8, 8}, {12080, 8, 7}, {12070, 8, 6}, {12050, 8, 5}, {12040, 8, 4}, {12030, 8, 3}, {12020, 8, 2}, {12010, 8, 1},
	{12000, 8, 0},
	{11080, 7, 8}, {11070, 7, 7}, {11060, 7, 6}, {11050, 7, 5}, {11040, 7, 4}, {11030, 7, 3}, {11020, 7, 2}, {11010, 7, 1},
	{11000, 7, 0},
}

// ptxOf returns the newest PTX version that a driver is known to support; "" for a driver that is too old for the
// table.
func ptxOf(driver int) string {
	for _, v := range ptxVersions {
		if driver >= v.driver {
			return fmt.Sprintf("%d.%d", v.major, v.minor)
		}
	}
	return ""
}

func newestPTX() string { return ptxOf(driverVersionNumber()) }

// ptxVersionAt returns where the first line .version of a PTX image has its version, as "8.5"; begin is -1 if there is
// none.
func ptxVersionAt(image []byte) (begin, end int) {
	for at := 0; at < len(image); {
		rest := string(image[at:min(len(image), at+maxVersionLine)])
		line, _, _ := strings.Cut(rest, "\n")
		version, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), ".version")
		number := strings.TrimLeft(version, " \t")
		if ok && number != version {
			major := cudaimage.Digits(number)
			if minor, ok := strings.CutPrefix(number[major:], "."); ok && major > 0 && cudaimage.Digits(minor) > 0 {
				begin = at + len(line) - len(number)
				return begin, begin + major + 1 + cudaimage.Digits(minor)
			}
		}
		next := bytes.IndexByte(image[at:], '\n')
		if next < 0 {
			break
		}
		at += next + 1
	}
	return -1, -1
}

// maxVersionLine bounds what is read of each line.
const maxVersionLine = 256

// inOlderPTX returns a PTX image with its version replaced by the newest version that the driver supports; nil for
// other images. Compilers write the newest version that they know, even if the code does not need it. The driver still
// rejects code that does need it.
func (l *loadedImage) inOlderPTX() []byte {
	version := newestPTX()
	if version == "" || l.about == nil || l.about.Format != cudaimage.PTX {
		return nil
	}
	begin, end := ptxVersionAt(l.image)
	if begin < 0 || !newer(string(l.image[begin:end]), version) {
		return nil
	}
	older := append([]byte(nil), l.image[:begin]...)
	return append(append(older, version...), l.image[end:]...)
}

// newer reports whether version a is newer than version b.
func newer(a, b string) bool {
	var x, y [2]int
	fmt.Sscanf(a, "%d.%d", &x[0], &x[1])
	fmt.Sscanf(b, "%d.%d", &y[0], &y[1])
	return x[0] > y[0] || x[0] == y[0] && x[1] > y[1]
}
