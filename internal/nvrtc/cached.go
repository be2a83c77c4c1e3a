package nvrtc

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"tvmgo/internal/diskcache"
)

// kept are results on the disk.
const kept diskcache.Cache = "nvrtc"

// CompileCached is Compile, but takes the result from the disk if one was kept, and keeps it there. What it was made of
// counts: the source with its headers, options, architecture and kind, this NVRTC and its folders of headers. A file
// that was damaged is made anew; that nothing can be kept is no error.
func (c *Compiler) CompileCached(ctx context.Context, s Source) (Result, error) {
	if err := c.check(s); err != nil {
		return Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return Result{}, c.fail(s, err, "%v", err)
	}
	key := c.key(s)
	var r Result
	if b := kept.Read(key); b != nil && json.Unmarshal(b, &r) == nil && len(r.Image) > 0 && r.Kind == s.Want {
		return r, nil
	}
	r, err := c.run(ctx, s)
	if err != nil {
		return Result{}, err
	}
	if b, err := json.Marshal(r); err == nil {
		_ = kept.Write(key, b) // without it the next start takes longer, no more
	}
	return r, nil
}

// key is what a result is kept under.
func (c *Compiler) key(s Source) string {
	parts := []string{fmt.Sprint(c.major, c.minor, c.size), s.Want.String(), s.Name, s.Code}
	list := func(texts []string) { parts = append(append(parts, strconv.Itoa(len(texts))), texts...) }
	list(c.options(s)) // the architecture and the folders of headers are among them
	list(s.Names)
	var headers []string
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		headers = append(headers, name, s.Headers[name])
	}
	list(headers)
	return diskcache.Key(parts...)
}
