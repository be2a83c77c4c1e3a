package explain

import (
	"slices"
)

const (
	sectorBytes  = 32
	bankBytes    = 4
	banks        = 32
	requestBytes = 16 // at most, of a thread
)

// piece is the part of a request of one thread.
type piece struct{ address, bytes int64 }

// sectors returns how many sectors a request touches, and how many as many different bytes need at least.
func sectors(request []piece) (touched, minimal int64) {
	var all, starts []int64
	for _, p := range request {
		for s := floorDiv(p.address, sectorBytes); s <= floorDiv(p.address+p.bytes-1, sectorBytes); s++ {
			all = append(all, s)
		}
		starts = append(starts, p.address)
	}
	slices.Sort(starts)
	different := int64(len(slices.Compact(starts)))
	slices.Sort(all)
	return int64(len(slices.Compact(all))), max(1, ceilDiv(different*request[0].bytes, sectorBytes))
}

// conflicts returns the worst number of ways of a request to shared memory, and how many passes it needs in how many
// phases: 1 phase, 2 of half warps if threads access 8 bytes, 4 of quarter warps for 16. Threads are by their positions
// in the warp; those without a piece (bytes 0) are not active.
func conflicts(request []piece) (worst, passes, phases int64) {
	width := int64(bankBytes)
	for _, p := range request {
		width = max(width, p.bytes)
	}
	perPhase := int(max(1, banks*bankBytes/width))
	for part := range slices.Chunk(request, perPhase) {
		var words []int64
		for _, p := range part {
			if p.bytes == 0 {
				continue
			}
			for a := floorDiv(p.address, bankBytes); a <= floorDiv(p.address+p.bytes-1, bankBytes); a++ {
				words = append(words, a)
			}
		}
		if len(words) == 0 {
			continue
		}
		slices.Sort(words)
		var used [banks]int64
		most := int64(0)
		for _, a := range slices.Compact(words) {
			bank := a - floorDiv(a, banks)*banks
			used[bank]++
			most = max(most, used[bank])
		}
		worst, passes, phases = max(worst, most), passes+most, phases+1
	}
	return worst, passes, phases
}
