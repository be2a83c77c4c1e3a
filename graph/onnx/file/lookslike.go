package file

import (
	"bytes"
	"unicode/utf8"
)

// magics are the beginnings of files that are taken for models, with remedies.
var magics = []struct{ begin, what string }{
	{"\x7fELF", "a library or program (ELF): give the model that it was made from"},
	{"!<arch>\n", "a static library: give the model that it was made from"},
	{"\x1f\x8b", "gzip data: unpack it first"},
	{"\x28\xb5\x2f\xfd", "zstd data: unpack it first"},
	{"PK\x03\x04", "a zip archive, as PyTorch's .pt files are: unpack it, or export the model with torch.onnx.export"},
	{"\x80\x02", "a pickle of Python: export the model with torch.onnx.export"},
	{"\x80\x04", "a pickle of Python: export the model with torch.onnx.export"},
	{"\x89HDF", "an HDF5 file: convert the model to ONNX"},
	{"GGUF", "a GGUF file: convert the model to ONNX"},
	{"\x93NUMPY", "an array in NumPy's format: give the model, not its data"},
	{"version https://git-lfs", "a pointer of Git LFS: fetch the file with git lfs pull"},
}

// looksLike describes a file that is no model, with a remedy; "" if it does not look like something else.
func looksLike(data []byte) string {
	if len(data) == 0 {
		return "an empty file: write it again"
	}
	for _, m := range magics {
		if bytes.HasPrefix(data, []byte(m.begin)) {
			return m.what
		}
	}
	head := data[:min(len(data), 512)]
	switch {
	case len(bytes.Trim(head, "\x00")) == 0:
		return "zeros, perhaps an unfinished copy: copy it again"
	case len(head) >= 8 && string(head[4:8]) == "TFL3":
		return "a model of TensorFlow Lite: convert it to ONNX"
	case len(head) >= 8 && string(head[4:8]) == "ORTM":
		return "a model in ONNX Runtime's own format (.ort): give the .onnx file that it was made from"
	case len(head) > 9 && head[8] == '{' && bytes.Count(head[4:8], []byte{0}) == 4:
		return "a safetensors file: give the model, not its weights"
	case isText(head, len(data) > len(head)):
		return "text: give a binary ONNX model, as onnx.save writes it"
	}
	return ""
}

// isText reports whether the beginning of a file is text. It may end within a character if the file is cut there.
func isText(head []byte, cut bool) bool {
	for len(head) > 0 {
		c, n := utf8.DecodeRune(head)
		switch {
		case c == utf8.RuneError && n == 1:
			return cut && len(head) < utf8.UTFMax
		case c < ' ' && c != '\n' && c != '\t' && c != '\r':
			return false
		}
		head = head[n:]
	}
	return true
}
