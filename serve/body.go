package serve

import (
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"

	"tvmgo/serve/oip"
)

// uncompressed returns the body of a request and its size; -1 if it is not known. Who reads it counts what it expands
// to.
func (s *Server) uncompressed(w http.ResponseWriter, r *http.Request) (io.ReadCloser, int64, error) {
	limit := s.limits.BodyBytes
	if r.ContentLength > limit {
		return nil, 0, oip.Errorf(oip.TooLarge, "the body has %d bytes: the server takes %d at most", r.ContentLength, limit)
	}
	raw := http.MaxBytesReader(w, r.Body, limit)
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
		return raw, r.ContentLength, nil
	case "gzip":
		z, err := gzip.NewReader(raw)
		if err != nil {
			return nil, 0, oip.Errorf(oip.InvalidArgument, "read the body: it is not gzip: %w", err)
		}
		return z, -1, nil
	case "deflate":
		z, err := zlib.NewReader(raw)
		if err != nil {
			return nil, 0, oip.Errorf(oip.InvalidArgument, "read the body: it is not deflate: %w", err)
		}
		return z, -1, nil
	default:
		return nil, 0, oip.Errorf(oip.InvalidArgument, "Content-Encoding %q: want gzip, deflate or none", encoding)
	}
}
