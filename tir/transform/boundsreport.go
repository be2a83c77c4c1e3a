package transform

import "tvmgo/tir"

// The intrinsics by which kernels report indices that are outside of their buffers to the function that launches them,
// when [CheckBounds] is on. The record is memory of the device that the function allocates: three numbers of type
// int64, of which the first 32 bits are the number of the access, 0 for none, and the others the index and the size of
// the dimension.
const (
	// ReportIndex is of type bool, and false: in a kernel it fills the record whose address is its first argument, if
	// it has no report yet, with its second argument, the number of the access from 1 on, and the index and the size,
	// both int64. Of several threads one must win.
	ReportIndex = "report_index"
	// ClearReports empties the record whose memory is its argument, on the host.
	ClearReports = "clear_reports"
	// CheckReports ends the host's function with an IndexError if the record has a report. It waits for the kernels
	// before. Its arguments are the memory of the record, then the buffer's name and the dimension of each access.
	CheckReports = "check_reports"
)

// boundsReport is how a function learns of the indices that its kernels find to be outside.
type boundsReport struct {
	record   *tir.Buffer
	accesses []tir.Expr  // two for each: the name of the buffer, and the dimension
	checks   []*tir.Call // of the record, which want the accesses
}

// reporting is the body of a function that launches kernels, with checks.
func (c *boundsChecker) reporting() tir.Stmt {
	r := &boundsReport{record: &tir.Buffer{Name: "bounds_record", Data: tir.NewVar("bounds_record", tir.Handle),
		DType: tir.Int64, Shape: []tir.Expr{tir.I64(3)}}}
	c.report = r
	body := c.function()
	if len(r.accesses) == 0 { // the checks of the record are all that could be other than before
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

// check is a statement that looks for a report.
func (r *boundsReport) check() tir.Stmt {
	call := &tir.Call{Kind: tir.CallIntrinsic, Name: CheckReports, Type: tir.Void, Args: []tir.Expr{r.record.Data}}
	r.checks = append(r.checks, call)
	return &tir.Evaluate{Value: call}
}

// reports makes the condition of a dimension's indices one that reports what does not meet it.
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

// forget takes back what was found since there were so many indices and accesses.
func (c *boundsChecker) forget(count, accesses int) {
	c.count = count
	if c.report != nil {
		c.report.accesses = c.report.accesses[:accesses]
	}
}

// reported is how many entries the table of accesses has.
func (c *boundsChecker) reported() int {
	if c.report == nil {
		return 0
	}
	return len(c.report.accesses)
}
