package operators

import (
	"context"
	"errors"
	"fmt"
	"math"
	goruntime "runtime"
	"sync"
	"sync/atomic"
)

// run is the verification of a result.
type run struct {
	context.Context
	of     *Operator
	inputs [][]float32
	got    func(at int) float64 // an element of the result
	count  int                  // of the result's elements
}

// chunk is the number of elements that a thread handles at a time.
const chunk = 1 << 16

// Elements whose reference takes no more than allOps operations are all compared; else someSpans spans.
const (
	allOps    = 1 << 31
	someSpans = 1024
)

// in returns an element of an input of integers.
func (r *run) in(input, at int) int64 { return int64(r.inputs[input][at]) }

// vector returns an element of a random vector of integers other than 0.
func (r *run) vector(at int) int64 {
	v := int64(hash(100, at)>>20&0xffff) - 1<<15
	if v >= 0 {
		v++
	}
	return v
}

// equal compares an element with an exact reference.
func (r *run) equal(at int, want int64) error {
	if got := r.got(at); got != float64(want) {
		return r.of.wrong(at, got, float64(want), 0)
	}
	return nil
}

// elements compares all elements with an exact reference.
func (r *run) elements(want func(at int) int64) error {
	return r.parallel((r.count+chunk-1)/chunk, func(i int) error {
		for at := i * chunk; at < min(r.count, (i+1)*chunk); at++ {
			if err := r.equal(at, want(at)); err != nil {
				return err
			}
		}
		return nil
	})
}

// projected compares the product of each row of the result and a random vector with an exact reference, which prepare
// returns. A row has width elements; their positions in the result are those of position. element is the reference
// of an element, to find the wrong one.
func (r *run) projected(rows, width int, position func(row, j int) int,
	prepare func(v func(j int) int64) (func(row int) int64, error), element func(at int) int64) error {
	v := make([]int64, width)
	for j := range v {
		v[j] = r.vector(j)
	}
	want, err := prepare(func(j int) int64 { return v[j] })
	if err != nil {
		return err
	}
	return r.parallel(rows, func(row int) error {
		var total int64
		for j := range width {
			at := position(row, j)
			got := r.got(at)
			if got != math.Trunc(got) || math.Abs(got) > 1<<30 { // or NaN
				return r.of.wrong(at, got, float64(element(at)), 0)
			}
			total += int64(got) * v[j]
		}
		if total == want(row) {
			return nil
		}
		for j := range width {
			if err := r.equal(position(row, j), element(position(row, j))); err != nil {
				return err
			}
		}
		return errors.New("the reference contradicts itself")
	})
}

// compare compares elements with a reference in float64, and returns which. All others are numbers, at least.
func (r *run) compare(c *rounded) (how string, err error) {
	spans := r.count / c.span
	compared, start := spans, func(i int) int { return i * c.span }
	if float64(spans)*c.cost > allOps {
		compared = min(spans, someSpans)
		start = func(i int) int { // the first, the last, and random ones
			switch i {
			case 0:
				return 0
			case 1:
				return (spans - 1) * c.span
			}
			return int(hash(101, i)>>1%uint64(spans)) * c.span
		}
	}
	at := func(input, at int) float64 { return float64(r.inputs[input][at]) }
	err = r.parallel(compared, func(i int) error {
		want, tolerance, from := make([]float64, c.span), make([]float64, c.span), start(i)
		c.compute(at, from, want, tolerance)
		for k := range want {
			if got := r.got(from + k); !(math.Abs(got-want[k]) <= tolerance[k]) {
				return r.of.wrong(from+k, got, want[k], tolerance[k])
			}
		}
		return nil
	})
	if err != nil || compared == spans {
		return "all elements within a tolerance, reference in float64", err
	}
	err = r.parallel((r.count+chunk-1)/chunk, func(i int) error {
		for at := i * chunk; at < min(r.count, (i+1)*chunk); at++ {
			if got := r.got(at); math.IsNaN(got) || math.IsInf(got, 0) {
				from := at / c.span * c.span
				want, tolerance := make([]float64, c.span), make([]float64, c.span)
				c.compute(func(input, at int) float64 { return float64(r.inputs[input][at]) }, from, want, tolerance)
				return r.of.wrong(at, got, want[at-from], tolerance[at-from])
			}
		}
		return nil
	})
	return fmt.Sprintf("%d elements within a tolerance, reference in float64", compared*c.span), err
}

// parallel calls f with 0 to n-1 on all processors, and returns the error of the smallest argument that it had. It ends
// early if there is one, or if the context ends.
func (r *run) parallel(n int, f func(i int) error) error {
	var next atomic.Int64
	var group sync.WaitGroup
	var lock sync.Mutex
	var first error
	at := n
	for range min(n, goruntime.GOMAXPROCS(0)) {
		group.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				err := r.Err()
				if err == nil {
					err = f(i)
				}
				if err != nil {
					lock.Lock()
					if i < at {
						at, first = i, err
					}
					lock.Unlock()
					next.Store(int64(n))
					return
				}
			}
		})
	}
	group.Wait()
	return first
}
