package inference

import (
	"compress/zlib"
	"io"
	"sync"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // clients may use it
)

// deflate is the compression of that name in gRPC: the format of zlib. Package grpc has only gzip.
type deflate struct {
	writers, readers sync.Pool
}

func init() {
	if encoding.GetCompressor("deflate") == nil {
		encoding.RegisterCompressor(&deflate{})
	}
}

func (d *deflate) Name() string { return "deflate" }

// Compress returns a writer that goes back to the pool when it is closed.
func (d *deflate) Compress(w io.Writer) (io.WriteCloser, error) {
	if z, ok := d.writers.Get().(*deflateWriter); ok {
		z.Reset(w)
		return z, nil
	}
	return &deflateWriter{zlib.NewWriter(w), d}, nil
}

type deflateWriter struct {
	*zlib.Writer
	from *deflate
}

func (z *deflateWriter) Close() error {
	err := z.Writer.Close()
	z.from.writers.Put(z)
	return err
}

// Decompress returns a reader that goes back to the pool when it is closed, which package grpc does.
func (d *deflate) Decompress(r io.Reader) (io.Reader, error) {
	if z, ok := d.readers.Get().(*deflateReader); ok {
		if err := z.ReadCloser.(zlib.Resetter).Reset(r, nil); err != nil {
			return nil, err
		}
		return z, nil
	}
	z, err := zlib.NewReader(r)
	if err != nil {
		return nil, err
	}
	return &deflateReader{z, d}, nil
}

type deflateReader struct {
	io.ReadCloser
	from *deflate
}

func (z *deflateReader) Close() error {
	err := z.ReadCloser.Close()
	z.from.readers.Put(z)
	return err
}
