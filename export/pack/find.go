package pack

import (
	"strings"
)

// FindSignature returns the signature in the comments at the beginning of a source: lines that begin with //, up to an
// empty comment or another line. It is nil if there is none. A comment with parentheses and the word launch that is no
// signature is a *SignatureError, if no other comment is one.
func FindSignature(source []byte) (*Signature, error) {
	var why error
	paragraph := ""
	try := func() *Signature {
		text := strings.TrimSpace(paragraph)
		paragraph = ""
		if !strings.Contains(text, "(") {
			return nil
		}
		sig, err := ParseSignature(text)
		if err != nil && why == nil && strings.Contains(text, "launch ") {
			why = err
		}
		return sig
	}
	for line := range strings.Lines(string(source)) {
		line = strings.TrimSpace(line)
		comment, is := strings.CutPrefix(line, "//")
		if is && strings.TrimSpace(comment) != "" {
			paragraph += strings.TrimSpace(comment) + " "
			continue
		}
		if sig := try(); sig != nil {
			return sig, nil
		}
		if !is && line != "" && !strings.HasPrefix(line, "#") {
			return nil, why // the code begins
		}
	}
	if sig := try(); sig != nil {
		return sig, nil
	}
	return nil, why
}
