package cuda

import (
	"fmt"
	"strconv"
	"strings"

	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// operandNames are the names of types of operands in PTX, and the k of the products that a warp computes at once.
var operandNames = map[tir.Type]struct {
	name string
	k    []int
	arch int
}{
	tir.Float16:  {"f16", []int{16}, 75},
	tir.BFloat16: {"bf16", []int{16}, 80},
	tir.Float32:  {"tf32", []int{8}, 80},
	tir.Int8:     {"s8", []int{16, 32}, 75},
	tir.UInt8:    {"u8", []int{16, 32}, 75},
}

// fragments returns an error if the tensor cores of a target cannot execute an intrinsic of fragments: the products of
// mma.sync have 16 rows, and 8 columns, of which 16 are two.
func fragments(t *target.Target, f *tir.FragmentCall) error {
	if f.M != 16 || f.N != 8 && f.N != 16 {
		return fmt.Errorf("CUDA has products of 16 rows, and 8 or 16 columns, found m %d and n %d", f.M, f.N)
	}
	b := f.Fragment.Buffer
	t0 := b.DType
	switch {
	case f.A != nil:
		t0 = f.A.Buffer.DType
	case b.StorageScope() == tir.ScopeFragmentAcc:
		return nil // whatever the operands are
	}
	own, known := operandNames[t0]
	if !known {
		return fmt.Errorf("CUDA has no fragments of %s", t0)
	}
	found := false
	for _, k := range own.k {
		found = found || f.K == k
	}
	if !found {
		return fmt.Errorf("CUDA has products of %s with k %s, found %d", t0, strings.Trim(fmt.Sprint(own.k), "[]"), f.K)
	}
	if t == nil {
		return nil
	}
	if _, arch := archOf(t); arch != 0 && arch < own.arch {
		return fmt.Errorf("tensor cores compute with %s from sm_%d on, and the target has arch sm_%d: build for a later "+
			"one, as in {\"kind\": \"cuda\", \"arch\": \"sm_%d\"}, or schedule without fragments", t0, own.arch, arch, own.arch)
	}
	return nil
}

// registers returns the number of registers in which each thread of a warp holds its part of some elements.
func registers(t tir.Type, elements int64) int64 { return elements * int64(t.Bits) / 32 / 32 }

// declareFragments returns the declaration of fragments: each thread has its registers of all of them.
func declareFragments(b *tir.Buffer, name string) string {
	element := "unsigned int"
	if b.StorageScope() == tir.ScopeFragmentAcc && b.DType.Bits == 32 {
		element = types[b.DType]
	}
	return fmt.Sprintf("%s %s[%d];", element, name, max(1, registers(b.DType, bytesOf(b)*8/int64(b.DType.Bits))))
}

// fragmentAt returns the registers of the fragment that begins at an element.
func fragmentAt(b *tir.Buffer, name, index string) string {
	if n, err := strconv.ParseInt(index, 10, 64); err == nil {
		return fmt.Sprintf("%s + %d", name, registers(b.DType, n))
	}
	return fmt.Sprintf("%s + (%s) / %d", name, index, 1024/int64(b.DType.Bits))
}

// fragmentLoad describes how a fragment is loaded.
type fragmentLoad struct {
	*tir.FragmentCall
	scope     string
	t         tir.Type
	registers int64 // of the whole fragment, in each thread
	matrices  int   // for ldmatrix; 0: elements are loaded one by one
	down      bool
	transpose bool
}

// loadOf decides how a fragment is loaded: by ldmatrix if its rows in shared memory begin at multiples of 16 bytes, and
// if the instruction has the layout.
func loadOf(f *tir.FragmentCall) *fragmentLoad {
	b := f.Fragment.Buffer
	l := &fragmentLoad{FragmentCall: f, scope: b.StorageScope(), t: b.DType}
	rows, columns := f.Size(l.scope)
	l.registers = registers(l.t, int64(rows*columns))
	if l.scope == tir.ScopeFragmentAcc {
		return l
	}
	along := f.Layout == tir.RowMajor // neighbours in memory are neighbours along k
	if l.scope == tir.ScopeFragmentB {
		along = !along
	}
	memory := f.Memory.Buffer
	var known arith.Multiples
	lanes := int64(128 / int(l.t.Bits)) // of 16 bytes
	aligned := known.Element(memory, f.Memory.Indices)%lanes == 0 && known.Of(f.Stride)%lanes == 0
	scope := memory.StorageScope()
	if scope != "shared" && scope != dynamicScope || !aligned || !along && l.t.Bits != 16 ||
		l.registers != 2 && l.registers != 4 {
		return l
	}
	l.matrices, l.transpose = int(l.registers), !along
	// Registers of a left operand are first of rows 8 below, then further along k; those of a right one first further
	// along k, then of columns 8 to the right.
	if l.down = l.scope == tir.ScopeFragmentA; l.transpose {
		l.down = !l.down
	}
	if k := f.K * int(l.t.Bits); l.scope == tir.ScopeFragmentB && k == 128 { // one register along k
		l.down = true
	}
	return l
}

// fragmentNeeds lists the snippets of an intrinsic of fragments.
func fragmentNeeds(call *tir.Call) []string {
	f, err := tir.DescribeFragmentCall(call)
	if err != nil {
		return nil
	}
	b := f.Fragment.Buffer
	half := b.DType == tir.Float16
	switch call.Name {
	case "fragment_fill":
		return []string{"fragment_fill"}
	case "fragment_mma":
		return []string{"fragment_mma_" + product(f)}
	case "fragment_store":
		if half {
			return []string{"fragment_half_sums"}
		}
		return []string{"fragment_sums"}
	default:
		var names []string
		switch load := loadOf(f); {
		case load.scope == tir.ScopeFragmentAcc && half:
			return []string{"fragment_half_sums"}
		case load.scope == tir.ScopeFragmentAcc:
			return []string{"fragment_sums"}
		case load.matrices > 0:
			names = []string{"fragment_ldmatrix"}
		case load.scope == tir.ScopeFragmentA:
			names = []string{"fragment_load_a"}
		default:
			names = []string{"fragment_load_b"}
		}
		if b.DType == tir.Float32 {
			names = append(names, "fragment_tf32")
		}
		return names
	}
}

// product names the function of a product.
func product(f *tir.FragmentCall) string {
	name := operandNames[f.A.Buffer.DType].name
	if tir.IsInt(f.A.Buffer.DType) {
		return fmt.Sprintf("%s_k%d", name, f.K)
	}
	return name + "_" + map[tir.Type]string{tir.Float16: "f16", tir.Float32: "f32"}[f.Fragment.Buffer.DType]
}

// fragmentCall returns the code of an intrinsic of fragments.
func fragmentCall(call *tir.Call, args []string) (string, error) {
	f, err := tir.DescribeFragmentCall(call)
	if err != nil {
		return "", err
	}
	switch call.Name {
	case "fragment_fill":
		l := loadOf(f)
		value := args[4]
		if f.Fragment.Buffer.StorageScope() == tir.ScopeFragmentAcc && l.t.Bits == 32 {
			return fmt.Sprintf("tvmgo_fragment_fill<%d>(%s, %s)", l.registers, args[0], value), nil
		}
		return fmt.Sprintf("tvmgo_fragment_fill<%d>(%s, %s)", l.registers, args[0], repeated(l.t, value)), nil
	case "fragment_mma":
		return fmt.Sprintf("tvmgo_mma_%s<%d>(%s, %s, %s)", product(f), f.N/8, args[0], args[4], args[5]), nil
	case "fragment_load":
		return loadOf(f).code(args), nil
	}
	var known arith.Multiples
	pairs := f.Layout == tir.RowMajor && f.Memory.Buffer.StorageScope() != "global" && // whose address may be any
		known.Element(f.Memory.Buffer, f.Memory.Indices)%2 == 0 && known.Of(f.Stride)%2 == 0
	name := "tvmgo_store_sums"
	if f.Fragment.Buffer.DType == tir.Float16 {
		name = "tvmgo_store_half_sums"
	}
	return fmt.Sprintf("%s<%d, %t>(%s, %s, %s)", name, f.N/8, pairs, args[4], args[0], steps(f.Layout, args[5])), nil
}

// steps returns the distances of neighbours in a column and in a row of a matrix in memory.
func steps(layout, stride string) string {
	if layout == tir.ColMajor {
		return "1, " + stride
	}
	return stride + ", 1"
}

// repeated returns 32 bits that contain a value as often as they can.
func repeated(t tir.Type, value string) string {
	switch {
	case t.Bits == 8:
		return fmt.Sprintf("0x1010101u * (unsigned char)(%s)", value)
	case t.Bits == 16:
		return fmt.Sprintf("0x10001u * (%s).bits", value)
	}
	return fmt.Sprintf("__float_as_uint(%s)", value)
}

// code returns the code of a load.
func (l *fragmentLoad) code(args []string) string {
	code := ""
	switch word := map[uint8]string{8: "unsigned char", 16: "unsigned short", 32: "unsigned int"}[l.t.Bits]; {
	case l.scope == tir.ScopeFragmentAcc && l.t == tir.Float16:
		return fmt.Sprintf("tvmgo_load_half_sums<%d>(%s, %s, %s)", l.N/8, args[0], args[4], steps(l.Layout, args[5]))
	case l.scope == tir.ScopeFragmentAcc:
		return fmt.Sprintf("tvmgo_load_sums<%d>(%s, %s, %s)", l.N/8, args[0], args[4], steps(l.Layout, args[5]))
	case l.matrices > 0:
		stride := "(" + args[5] + ") * " + strconv.Itoa(int(l.t.Bits)/8)
		if n, err := strconv.Atoi(args[5]); err == nil {
			stride = strconv.Itoa(n * int(l.t.Bits) / 8)
		}
		code = fmt.Sprintf("tvmgo_ldmatrix<%d, %t, %t>(%s, %s, %s)", l.matrices, l.down, l.transpose, args[0], args[4],
			stride)
	case l.scope == tir.ScopeFragmentA:
		code = fmt.Sprintf("tvmgo_load_a<%d, %s>(%s, %s, %s)", l.registers, word, args[0], args[4],
			steps(l.Layout, args[5]))
	default:
		code = fmt.Sprintf("tvmgo_load_b<%d, %d, %s>(%s, %s, %s)", l.registers, int(l.registers)*8/l.N, word, args[0],
			args[4], steps(l.Layout, args[5]))
	}
	if l.t == tir.Float32 {
		code += fmt.Sprintf(", tvmgo_round_tf32<%d>(%s)", l.registers, args[0])
	}
	return code
}
