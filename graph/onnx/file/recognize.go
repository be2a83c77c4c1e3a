package file

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// nextTags are the tags of a model's fields that can follow ir_version.
var nextTags = []byte{2<<3 | 2, 3<<3 | 2, 4<<3 | 2, 5<<3 | 0, 6<<3 | 2, 7<<3 | 2, 8<<3 | 2, 14<<3 | 2}

// Recognizes reports whether the file at a path seems to be a model, by its name (*.onnx) or its first bytes: most
// producers write ir_version first.
func Recognizes(path string) bool {
	info, err := os.Stat(path) // opening a pipe would wait
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	if strings.EqualFold(filepath.Ext(path), ".onnx") {
		return true
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [3]byte
	if _, err := io.ReadFull(f, head[:]); err != nil {
		return false
	}
	return head[0] == 1<<3 && head[1] > 0 && head[1] < 32 && bytes.IndexByte(nextTags, head[2]) >= 0
}
