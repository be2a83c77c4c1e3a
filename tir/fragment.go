package tir

import (
	"fmt"
	"strings"
)

// Scopes of fragments: tiles of matrices that the threads of a warp hold together, in registers. A buffer in one of
// these scopes is an array of fragments. Each has as many elements as its matrix, and they follow each other: fragment
// i of a buffer of 16x16 tiles begins at element 256·i, counted in row-major order. Which thread holds which element is
// up to the device, so that only the intrinsics of fragments access such a buffer.
const (
	ScopeFragmentA   = "fragment.a"   // the left operand of a product: m x k elements
	ScopeFragmentB   = "fragment.b"   // the right operand: k x n elements
	ScopeFragmentAcc = "fragment.acc" // the sums: m x n elements
)

// Layouts of a matrix in memory, as fragment_load and fragment_store name them.
const (
	RowMajor = "row_major" // the elements of a row are neighbours, and the stride is that from row to row
	ColMajor = "col_major" // the elements of a column are neighbours, and the stride is that from column to column
)

// IsFragment reports whether a storage scope is one of fragments.
func IsFragment(scope string) bool {
	return scope == ScopeFragmentA || scope == ScopeFragmentB || scope == ScopeFragmentAcc
}

// FragmentCall describes a call of an intrinsic of fragments. Its fields hold what the intrinsic has; others are nil.
type FragmentCall struct {
	Name     string      // "fragment_fill", "fragment_load", "fragment_mma", "fragment_store"
	M, N, K  int         // the shape of the product that the fragments are for
	Fragment *BufferLoad // the first element of the fragment that is filled, loaded, stored, or accumulated into
	A, B     *BufferLoad // fragment_mma: the first elements of the operands
	Value    Expr        // fragment_fill: of all elements
	Memory   *BufferLoad // fragment_load and fragment_store: the first element of the matrix in memory
	Stride   Expr        // in elements, from row to row (RowMajor) or from column to column (ColMajor)
	Layout   string      // RowMajor or ColMajor
}

// Size returns the numbers of rows and columns of a fragment in a scope.
func (f *FragmentCall) Size(scope string) (rows, columns int) {
	switch scope {
	case ScopeFragmentA:
		return f.M, f.K
	case ScopeFragmentB:
		return f.K, f.N
	}
	return f.M, f.N
}

// Operand returns the type of the operands that a fragment's product has, or, of an accumulator, the type of the sums.
func (f *FragmentCall) Operand() Type {
	if f.A != nil {
		return f.A.Buffer.DType
	}
	return f.Fragment.Buffer.DType
}

// IsFragmentCall reports whether a call is that of an intrinsic of fragments.
func IsFragmentCall(c *Call) bool {
	return c != nil && c.Kind == CallIntrinsic && strings.HasPrefix(c.Name, "fragment_")
}

// DescribeFragmentCall returns the parts of a call of an intrinsic of fragments, or an error that says what is wrong
// with it.
func DescribeFragmentCall(c *Call) (*FragmentCall, error) {
	f := &FragmentCall{Name: c.Name}
	if err := f.describe(c); err != nil {
		return nil, fmt.Errorf("intrinsic %s: %w", c.Name, err)
	}
	return f, nil
}

func (f *FragmentCall) describe(c *Call) (err error) {
	want := map[string]int{"fragment_fill": 5, "fragment_load": 7, "fragment_mma": 6, "fragment_store": 7}[c.Name]
	if !IsFragmentCall(c) || want == 0 {
		return fmt.Errorf("it is none of fragments")
	}
	if len(c.Args) != want {
		return fmt.Errorf("takes %d arguments, found %d", want, len(c.Args))
	}
	if c.Type != Void {
		return fmt.Errorf("returns nothing, found type %s", TypeName(c.Type))
	}
	for i, to := range []*int{&f.M, &f.N, &f.K} {
		n, constant := c.Args[1+i].(*IntImm)
		if !constant || n == nil || n.Value < 1 || n.Value > 256 {
			return fmt.Errorf("argument %d is %s of the shape: want a constant from 1 to 256", 1+i, "mnk"[i:i+1])
		}
		*to = int(n.Value)
	}
	if f.Fragment, err = f.fragment(c.Args[0], 0); err != nil {
		return err
	}
	scope, t := f.Fragment.Buffer.StorageScope(), f.Fragment.Buffer.DType
	switch c.Name {
	case "fragment_fill":
		f.Value = c.Args[4]
		if f.Value.DType() != t {
			return fmt.Errorf("the value is of type %s, and the elements of buffer %s of %s", TypeName(f.Value.DType()),
				f.Fragment.Buffer.Name, t)
		}
	case "fragment_mma":
		return f.product(c.Args[4], c.Args[5])
	default:
		return f.transfer(c.Args[4], c.Args[5], c.Args[6])
	}
	return fragmentType(scope, t)
}

// fragment returns the first element of the fragment at an argument.
func (f *FragmentCall) fragment(e Expr, i int) (*BufferLoad, error) {
	load := addressed(e)
	if load == nil || !IsFragment(load.Buffer.StorageScope()) {
		return nil, fmt.Errorf("argument %d: want the address_of an element of a buffer in scope %q, %q or %q", i,
			ScopeFragmentA, ScopeFragmentB, ScopeFragmentAcc)
	}
	return load, nil
}

// addressed returns the element whose address an expression is; nil for other expressions.
func addressed(e Expr) *BufferLoad {
	c, ok := e.(*Call)
	if !ok || c == nil || c.Kind != CallIntrinsic || c.Name != "address_of" || len(c.Args) != 1 {
		return nil
	}
	load, ok := c.Args[0].(*BufferLoad)
	if !ok || load == nil || load.Buffer == nil {
		return nil
	}
	return load
}

// product describes acc += a·b.
func (f *FragmentCall) product(a, b Expr) (err error) {
	if f.A, err = f.fragment(a, 4); err != nil {
		return err
	}
	if f.B, err = f.fragment(b, 5); err != nil {
		return err
	}
	for i, x := range []struct {
		load *BufferLoad
		want string
	}{{f.Fragment, ScopeFragmentAcc}, {f.A, ScopeFragmentA}, {f.B, ScopeFragmentB}} {
		if scope := x.load.Buffer.StorageScope(); scope != x.want {
			return fmt.Errorf("buffer %s is in scope %q: want %q for the %s", x.load.Buffer.Name, scope, x.want,
				[]string{"sums", "left operand", "right operand"}[i])
		}
	}
	acc, left, right := f.Fragment.Buffer.DType, f.A.Buffer.DType, f.B.Buffer.DType
	if left != right {
		return fmt.Errorf("the operands have the types %s and %s: want one type", left, right)
	}
	for _, pair := range fragmentTypes {
		if pair.operand == left && pair.sum == acc {
			return nil
		}
	}
	return fmt.Errorf("there is no product of %s with sums of %s: want one of %s", left, acc, fragmentPairs())
}

// transfer describes a load or a store.
func (f *FragmentCall) transfer(memory, stride, layout Expr) error {
	b := f.Fragment.Buffer
	f.Memory, f.Stride = addressed(memory), stride
	switch {
	case f.Memory == nil || IsFragment(f.Memory.Buffer.StorageScope()) || f.Memory.Buffer.StorageScope() == "local":
		return fmt.Errorf("argument 4: want the address_of an element of a buffer in memory that threads share")
	case f.Memory.Buffer.DType != b.DType:
		return fmt.Errorf("buffer %s has elements of type %s, and buffer %s of %s", f.Memory.Buffer.Name,
			f.Memory.Buffer.DType, b.Name, b.DType)
	case f.Name == "fragment_store" && b.StorageScope() != ScopeFragmentAcc:
		return fmt.Errorf("buffer %s is in scope %q: only sums (%q) are stored", b.Name, b.StorageScope(), ScopeFragmentAcc)
	case stride.DType() != Int32 && stride.DType() != Int64:
		return fmt.Errorf("the stride is of type %s: want an int32 or an int64", TypeName(stride.DType()))
	}
	text, ok := layout.(*StringImm)
	if !ok || text == nil || text.Value != RowMajor && text.Value != ColMajor {
		return fmt.Errorf("argument 6: want the layout %q or %q", RowMajor, ColMajor)
	}
	f.Layout = text.Value
	rows, columns := f.Size(b.StorageScope())
	least := columns
	if f.Layout == ColMajor {
		least = rows
	}
	if n, constant := stride.(*IntImm); constant && n.Value < int64(least) {
		return fmt.Errorf("the stride is %d, and the matrix in memory has %d elements from one to the next", n.Value, least)
	}
	return fragmentType(b.StorageScope(), b.DType)
}

// fragmentTypes are the types of operands, and of the sums of their products. A float32 operand is rounded to
// TensorFloat-32.
var fragmentTypes = []struct{ operand, sum Type }{{Float16, Float32}, {Float16, Float16}, {BFloat16, Float32},
	{Float32, Float32}, {Int8, Int32}, {UInt8, Int32}}

func fragmentPairs() string {
	var list []string
	for _, p := range fragmentTypes {
		list = append(list, fmt.Sprintf("%s with %s", p.operand, p.sum))
	}
	return strings.Join(list, ", ")
}

// fragmentType returns an error if a fragment in a scope cannot have a type.
func fragmentType(scope string, t Type) error {
	for _, p := range fragmentTypes {
		if scope == ScopeFragmentAcc && t == p.sum || scope != ScopeFragmentAcc && t == p.operand {
			return nil
		}
	}
	return fmt.Errorf("no fragment in scope %q has elements of type %s: want one of %s", scope, t, fragmentPairs())
}

// fragmentIntrin returns a call of an intrinsic of fragments, for the product of an m x k and a k x n matrix. The
// fragment is the address of its first element.
func fragmentIntrin(name string, fragment Expr, m, n, k int, rest ...Expr) Stmt {
	args := append([]Expr{fragment, I32(int32(m)), I32(int32(n)), I32(int32(k))}, rest...)
	return &Evaluate{Value: NewCall(CallIntrinsic, Void, name, args...)}
}

// FragmentFill returns the statement that sets all elements of a fragment to a value.
func FragmentFill(fragment Expr, m, n, k int, value Expr) Stmt {
	return fragmentIntrin("fragment_fill", fragment, m, n, k, value)
}

// FragmentLoad returns the statement that loads a fragment from the matrix at an address. layout is [RowMajor] or
// [ColMajor]; the stride is in elements.
func FragmentLoad(fragment Expr, m, n, k int, address, stride Expr, layout string) Stmt {
	return fragmentIntrin("fragment_load", fragment, m, n, k, address, stride, Text(layout))
}

// FragmentMMA returns the statement that adds the product of two fragments to a third one.
func FragmentMMA(acc Expr, m, n, k int, a, b Expr) Stmt {
	return fragmentIntrin("fragment_mma", acc, m, n, k, a, b)
}

// FragmentStore returns the statement that stores a fragment of sums to the matrix at an address.
func FragmentStore(fragment Expr, m, n, k int, address, stride Expr, layout string) Stmt {
	return fragmentIntrin("fragment_store", fragment, m, n, k, address, stride, Text(layout))
}
