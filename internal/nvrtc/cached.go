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

// results caches results on the disk.
const results diskcache.Cache = "nvrtc"

// CompileCached is Compile with a cache on the disk. The key of a result consists of the source with its headers,
// options, architecture and kind, of this NVRTC's version, and of its folders of headers. When a cached file is
// damaged, the source is compiled again. An error of writing the cache is ignored.
func (c *Compiler) CompileCached(ctx context.Context, s Source) (Result, error) {
	if err := c.check(s); err != nil {
		return Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return Result{}, c.fail(s, err, "%v", err)
	}
	key := c.key(s)
	var o output
	if b := results.Read(key); b != nil && json.Unmarshal(b, &o) == nil && len(o.Image) > 0 && o.Kind == s.Want &&
		(len(o.Cubin) > 0 || !s.Resources) {
		return c.result(s, o)
	}
	o, err := c.run(ctx, s) // an entry without what is needed is replaced
	if err != nil {
		return Result{}, err
	}
	if b, err := json.Marshal(o); err == nil {
		_ = results.Write(key, b) // if this fails, the next process compiles again
	}
	return c.result(s, o)
}

// key returns the cache key of a source.
func (c *Compiler) key(s Source) string {
	parts := []string{fmt.Sprint(c.major, c.minor, c.size), s.Want.String(), s.Name, s.Code}
	list := func(texts []string) { parts = append(append(parts, strconv.Itoa(len(texts))), texts...) }
	list(c.options(s)) // includes the architecture and the folders of headers
	parts = append(parts, strconv.FormatBool(s.Resources))
	list(s.Names)
	var headers []string
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		headers = append(headers, name, s.Headers[name])
	}
	list(headers)
	return diskcache.Key(parts...)
}
