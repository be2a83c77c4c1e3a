package explain

import (
	"tvmgo/tir"
)

// fragments adds the accesses of an intrinsic of fragments to memory, and its operations. Threads access what they hold
// in the registers of mma.sync: rows of 16 bytes (ldmatrix), or, if a matrix has none, single elements.
func (w *warp) fragments(e *tir.Call) {
	f, err := tir.DescribeFragmentCall(e)
	if err != nil {
		return
	}
	if f.A != nil {
		w.k.operations[tensorPrefix+f.A.Buffer.DType.String()] += 2 * float64(f.M*f.N*f.K) * w.weight
		return
	}
	if f.Memory == nil {
		return
	}
	store := f.Name == "fragment_store"
	s := w.k.site(f.Memory, f.Memory.Buffer, f.Memory.Indices, store)
	if s == nil {
		return
	}
	for _, x := range f.Memory.Indices {
		w.expr(x, false)
	}
	first, stride := w.offset(f.Memory.Buffer, f.Memory.Indices, 0), w.eval(f.Stride, 0)
	element := elementBytes(f.Memory.Buffer)
	if !first.known || !stride.known {
		s.DataDependent, w.k.estimated = true, w.k.estimated || !isShared(s.Scope)
		w.request(s, nil, element, 1)
		return
	}
	base, step := first.at(0), stride.at(0)*element
	scope := f.Fragment.Buffer.StorageScope()
	rows, columns := f.Size(scope)
	if f.Layout == tir.ColMajor { // rows are those in memory
		rows, columns = columns, rows
	}
	all, bytes := matrixRows(base, step, rows, int64(columns)*element), int64(requestBytes)
	along := (f.Layout == tir.RowMajor) == (scope == tir.ScopeFragmentA)
	switch {
	case scope == tir.ScopeFragmentAcc:
		all, bytes = heldSums(base, step, rows, columns, element, f.Layout == tir.RowMajor)
	case !isShared(s.Scope) || base%requestBytes != 0 || step%requestBytes != 0 || !along && element != 2:
		all, bytes = heldOperands(base, step, rows, columns, element, along), element
	}
	for len(all) > 0 {
		n := min(w.threads, len(all))
		request := make([]piece, w.threads)
		copy(request, all[:n])
		w.request(s, request, bytes, 1)
		all = all[n:]
	}
}

// matrixRows are the parts of 16 bytes of a matrix, those of a column of parts one after the other.
func matrixRows(base, step int64, rows int, width int64) (all []piece) {
	for at := int64(0); at < width; at += requestBytes {
		for r := range rows {
			all = append(all, piece{base + int64(r)*step + at, requestBytes})
		}
	}
	return all
}

// heldSums are the accesses of threads to sums: to columns 2·(lane % 4) and the next of row lane / 4, together if they
// are adjacent.
func heldSums(base, step int64, rows, columns int, element int64, adjacent bool) (all []piece, bytes int64) {
	if !adjacent {
		rows, columns = columns, rows
	}
	address := func(row, column int) int64 {
		if adjacent {
			return base + int64(row)*step + int64(column)*element
		}
		return base + int64(column)*step + int64(row)*element
	}
	for row := 0; row < rows; row += 8 {
		for column := 0; column < columns; column += 8 {
			for second := range 2 {
				if adjacent && second == 1 {
					continue
				}
				for lane := range 32 {
					p := piece{address(row+lane/4, column+lane%4*2+second), element}
					if adjacent {
						p.bytes = 2 * element
					}
					all = append(all, p)
				}
			}
		}
	}
	return all, all[0].bytes
}

// heldOperands are the accesses of threads to single elements of an operand: 32 bits along k from (lane % 4) of row or
// column lane / 4.
func heldOperands(base, step int64, rows, columns int, element int64, along bool) (all []piece) {
	per := int(max(1, 4/element))
	lanes, depth := rows, columns
	if !along {
		lanes, depth = columns, rows
	}
	for at := 0; at < lanes; at += 8 {
		for k := 0; k+4*per <= depth; k += 4 * per {
			for e := range per {
				for lane := range 32 {
					x, z := int64(at+lane/4), int64(k+lane%4*per+e)
					if !along {
						x, z = z, x
					}
					all = append(all, piece{base + x*step + z*element, element})
				}
			}
		}
	}
	return all
}
