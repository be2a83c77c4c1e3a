package unpack

import (
	"fmt"
	"strings"
)

// Limits of the parts of a file name that are taken from the library.
const (
	maxNamePart  = 64
	maxExtension = 16
)

// names chooses file names that differ on any file system. The keys are the chosen names in lower case, the values the
// last numbers that were added to make names different.
type names map[string]int

// pick returns "<parts joined by dots>.<ext>", with a number if that name is taken.
func (n names) pick(ext string, parts ...string) string {
	for i := range parts {
		parts[i] = safe(parts[i], maxNamePart)
	}
	base, ext := strings.Join(parts, "."), "."+safe(ext, maxExtension)
	key := strings.ToLower(base + ext)
	if _, taken := n[key]; !taken {
		n[key] = 1
		return base + ext
	}
	for {
		n[key]++
		name := fmt.Sprintf("%s~%d%s", base, n[key], ext)
		if _, taken := n[strings.ToLower(name)]; !taken {
			n[strings.ToLower(name)] = 1
			return name
		}
	}
}

// safe keeps ASCII letters, digits, and a few characters that are not special in any file system or shell.
func safe(text string, most int) string {
	var out strings.Builder
	for _, c := range text {
		if out.Len() == most {
			break
		}
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.ContainsRune("_-+.", c):
			out.WriteRune(c)
		default:
			out.WriteByte('_')
		}
	}
	name := out.String()
	if name == "" || strings.HasSuffix(name, ".") { // some systems drop a dot at the end
		return strings.TrimRight(name, ".") + "_"
	}
	return name
}
