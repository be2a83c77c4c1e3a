package transform

import "tvmgo/tir"

// The intrinsics by which kernels report indices that are out of bounds to the function that launches them, if
// [CheckBounds] is on. The record is memory of the device that the function allocates: three numbers of type int64. The
// first 32 bits of the first one are the number of the access, 0 for none; the other two are the index and the size of
// the dimension.
const (
	// ReportIndex has type bool and returns false. A kernel calls it to fill the record, whose address is its first
	// argument, if the record is empty: with the second argument, which is the number of the access, counted from 1,
	// and with the index and the size, both int64. If several threads call it, one of them must win.
	ReportIndex = "report_index"
	// ClearReports clears the record whose memory is its argument, on the host.
	ClearReports = "clear_reports"
	// CheckReports returns an IndexError from the host function if the record contains a report. It waits for the
	// kernels first. Its arguments are the memory of the record, then the buffer's name and the dimension of each
	// access.
	CheckReports = "check_reports"
)

// boundsReport describes how a function receives the reports of its kernels.
type boundsReport struct {
	record   *tir.Buffer
	accesses []tir.Expr  // two for each access: the name of the buffer, and the dimension
	checks   []*tir.Call // checks of the record, to which the accesses are added
}

// reporting returns the body of a function that launches kernels, with checks.
func (c *boundsChecker) reporting() tir.Stmt {
	r := &boundsReport{record: &tir.Buffer{Name: "bounds_record", Data: tir.NewVar("bounds_record", tir.Handle),
		DType: tir.Int64, Shape: []tir.Expr{tir.I64(3)}}}
	c.report = r
	body := c.function()
	if len(r.accesses) == 0 { // only the checks of the record were added
		c.report, c.count = nil, 0
		return c.function()
	}
	last := r.check()
	for _, call := range r.checks {
		call.Args = append(call.Args, r.accesses...)
	}
	clear := &tir.Evaluate{Value: tir.NewCall(tir.CallIntrinsic, tir.Void, ClearReports, r.record.Data)}
	return &tir.Alloc{Buffer: r.record, Body: tir.Sequence(clear, body, last)}
}

// check returns a statement that checks the record.
func (r *boundsReport) check() tir.Stmt {
	call := &tir.Call{Kind: tir.CallIntrinsic, Name: CheckReports, Type: tir.Void, Args: []tir.Expr{r.record.Data}}
	r.checks = append(r.checks, call)
	return &tir.Evaluate{Value: call}
}

// reports changes the condition of a dimension's indices: indices that do not meet it are reported.
func (c *boundsChecker) reports(b *tir.Buffer, dim int) func(within, index, size tir.Expr) tir.Expr {
	r := c.report
	if r == nil || !c.kernel {
		return func(within, _, _ tir.Expr) tir.Expr { return within }
	}
	r.accesses = append(r.accesses, tir.Text(b.Name), tir.I32(int32(dim)))
	number := tir.I32(int32(len(r.accesses) / 2))
	address := tir.NewCall(tir.CallIntrinsic, tir.Handle, "address_of", tir.BufferAt(r.record, tir.I64(0)))
	return func(within, index, size tir.Expr) tir.Expr {
		return tir.Or(within, tir.NewCall(tir.CallIntrinsic, tir.Bool, ReportIndex, address, number, index, size))
	}
}

// forget drops the indices and accesses that were found after these counts.
func (c *boundsChecker) forget(count, accesses int) {
	c.count = count
	if c.report != nil {
		c.report.accesses = c.report.accesses[:accesses]
	}
}

// reported returns the number of entries in the table of accesses.
func (c *boundsChecker) reported() int {
	if c.report == nil {
		return 0
	}
	return len(c.report.accesses)
}
