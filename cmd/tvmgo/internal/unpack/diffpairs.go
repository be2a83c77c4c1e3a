package unpack

import (
	"bytes"
	"crypto/sha256"

	"tvmgo/internal/inspect"
)

// part is a module in a comparison.
type part struct {
	node
	*contents
	payload []byte
	other   int // the index of its partner in the other file, -1 for none
}

// takeApart splits every module, and returns the problems of damaged ones.
func takeApart(c *inspect.Contents) (list []part, damage []string) {
	for _, n := range nodes(c) {
		p := part{node: n, contents: &contents{}, other: -1}
		if n.entry != nil && !n.entry.IsLibrary() {
			var err error
			p.payload = n.entry.Payload
			if p.contents, err = split(n.Kind, p.payload, c.Parsed.Layout); err != nil {
				damage = append(damage, inspect.ModuleProblem(n.Kind, err))
			}
		}
		list = append(list, p)
	}
	return list, damage
}

// pair chooses the partner of each module, which has the same kind. Equal payloads take precedence over equal
// positions. The remaining modules are paired in order.
func pair(a, b []part) {
	link := func(i, k int) { a[i].other, b[k].other = k, i }
	for i := range min(len(a), len(b)) {
		if a[i].Kind == b[i].Kind && bytes.Equal(a[i].payload, b[i].payload) {
			link(i, i)
		}
	}
	type identity struct {
		kind string
		sum  [sha256.Size]byte
	}
	match(a, b, link, func(p *part) identity { return identity{p.Kind, sha256.Sum256(p.payload)} })
	for i := range min(len(a), len(b)) {
		if a[i].other < 0 && b[i].other < 0 && a[i].Kind == b[i].Kind {
			link(i, i)
		}
	}
	match(a, b, link, func(p *part) string { return p.Kind })
}

// match links modules without a partner whose keys are equal, in order.
func match[K comparable](a, b []part, link func(i, k int), key func(*part) K) {
	waiting := map[K][]int{}
	for k := range b {
		if b[k].other < 0 {
			waiting[key(&b[k])] = append(waiting[key(&b[k])], k)
		}
	}
	if len(waiting) == 0 {
		return
	}
	for i := range a {
		if a[i].other >= 0 {
			continue
		}
		own := key(&a[i])
		if list := waiting[own]; len(list) > 0 {
			link(i, list[0])
			waiting[own] = list[1:]
		}
	}
}
