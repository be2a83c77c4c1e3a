package explain

import (
	"slices"

	"tvmgo/tir"
)

// site collects the figures of one access of the program.
type site struct {
	*Access
	node              any
	store             bool
	buffer            *tir.Buffer
	sectors, ways     sums
	bytes             float64 // of all threads in all requests
	moved             float64
	minimalSum        float64
	passes, allPhases float64
}

// sums has the worst and the sum of a figure over requests.
type sums struct {
	worst, sum float64
}

// access adds the execution of a load or a store to its site.
func (w *warp) access(node any, b *tir.Buffer, indices []tir.Expr, store bool) {
	s := w.k.site(node, b, indices, store)
	if s == nil {
		return
	}
	n, element := 1, elementBytes(b)
	for _, x := range indices {
		n = max(n, int(x.DType().Lanes))
	}
	at := make([]lanes, n)
	for lane := range at {
		at[lane] = w.offset(b, indices, lane)
	}
	if !w.allKnown(at) {
		w.unknownRequests(s, b, indices, at, element)
		return
	}
	w.requests(s, at, element)
}

// copied adds an access to some bytes from an element on.
func (w *warp) copied(load *tir.BufferLoad, bytes int64, store bool) {
	s := w.k.site(load, load.Buffer, load.Indices, store)
	if s == nil {
		return
	}
	for _, x := range load.Indices {
		w.expr(x, false)
	}
	element := elementBytes(load.Buffer)
	first := w.offset(load.Buffer, load.Indices, 0)
	at := []lanes{first}
	if !first.known {
		s.DataDependent, w.k.estimated = true, w.k.estimated || s.Scope != "shared"
		w.request(s, nil, bytes, 1)
		return
	}
	for k := int64(1); k < bytes/element; k++ {
		at = append(at, of(first, same(k*element), w.threads, plus))
	}
	w.requests(s, at, element)
}

// requests divides an access to elements at some known offsets into requests, each of up to 16 bytes if these are
// consecutive and aligned in all threads, as generated code needs it for a vector.
func (w *warp) requests(s *site, at []lanes, element int64) {
	n := 1
	for 2*n <= len(at) && len(at)%(2*n) == 0 && 2*int64(n)*element <= requestBytes {
		n *= 2
	}
	for ; n > 1 && !w.areVectors(at, n, element); n /= 2 {
	}
	for part := range slices.Chunk(at, n) {
		request := make([]piece, w.threads)
		for i := range request {
			if w.active[i] {
				request[i] = piece{part[0].at(i), int64(n) * element}
			}
		}
		w.request(s, request, int64(n)*element, 1)
	}
}

func (w *warp) allKnown(at []lanes) bool {
	for _, v := range at {
		if !v.known {
			return false
		}
	}
	return true
}

// areVectors reports whether each n of the elements are consecutive, and aligned to their size, in all active threads.
func (w *warp) areVectors(at []lanes, n int, element int64) bool {
	for part := range slices.Chunk(at, n) {
		for i := range w.threads {
			if !w.active[i] {
				continue
			}
			first := part[0].at(i)
			if first%(int64(n)*element) != 0 {
				return false
			}
			for k, v := range part {
				if v.at(i) != first+int64(k)*element {
					return false
				}
			}
		}
	}
	return true
}

// request adds the requests of a warp; without pieces the addresses are unknown, and the worst is assumed.
func (w *warp) request(s *site, request []piece, bytes int64, count float64) {
	threads := w.activeThreads()
	if threads == 0 {
		return
	}
	weight := w.weight * count
	s.Bytes = max(s.Bytes, bytes)
	s.Requests += weight
	s.bytes += weight * float64(bytes*threads)
	if isShared(s.Scope) {
		worst, passes, phases := threads, threads, int64(1)
		if request != nil {
			worst, passes, phases = conflicts(request)
		}
		s.ways.worst = max(s.ways.worst, float64(worst))
		s.passes += weight * float64(passes)
		s.allPhases += weight * float64(phases)
		return
	}
	touched, minimal := threads, threads
	if request != nil {
		var some []piece
		for _, p := range request {
			if p.bytes > 0 {
				some = append(some, p)
			}
		}
		touched, minimal = sectors(some)
	}
	s.sectors.worst = max(s.sectors.worst, float64(touched))
	s.sectors.sum += weight * float64(touched)
	s.minimalSum += weight * float64(minimal)
	s.moved += weight * float64(touched*sectorBytes)
}

// finish computes the averages.
func (s *site) finish() {
	if s.Requests == 0 {
		return
	}
	if isShared(s.Scope) {
		s.Ways = &Figure{Worst: s.ways.worst, Average: s.passes / s.allPhases, Minimal: 1}
		return
	}
	s.Sectors = &Figure{Worst: s.sectors.worst, Average: s.sectors.sum / s.Requests, Minimal: s.minimalSum / s.Requests}
}
