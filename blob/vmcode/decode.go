package vmcode

import "fmt"

// The numbers of words of instructions, without the operands of calls.
const (
	callWords = 4 // operation, destination, callee, number of operands
	retWords  = 2 // operation, register
	gotoWords = 2 // operation, offset
	ifWords   = 3 // operation, register, offset
)

// An operand is a word: its kind in the high byte, its value in the others.
const (
	valueBits = 56
	maxValue  = 1<<(valueBits-1) - 1
	minValue  = -1 << (valueBits - 1)
)

// decode reads the instructions. Each begins where the one before ends, as all producers write them: otherwise the
// operands of one could count for many.
func (f *file) decode() error {
	n := f.starts.len()
	if n > f.words.len()/retWords {
		return f.fail(n-1, "", "there are %d instructions in %d words", n, f.words.len())
	}
	f.Code = make([]Instruction, n)
	operands := make([]Operand, 0, f.words.len()-retWords*n) // never grows
	next := 0
	for i := range f.Code {
		if start := f.starts.at(i); start != int64(next) {
			return f.fail(i, "", "it begins at word %d, but the one before ends at word %d", start, next)
		}
		size, err := f.decodeOne(i, next, &operands)
		if err != nil {
			return err
		}
		next += size
	}
	if next != f.words.len() {
		return f.fail(n-1, "", "%d words are left over after the last instruction", f.words.len()-next)
	}
	return nil
}

// decodeOne reads instruction i from the words at a position, and returns their number.
func (f *file) decodeOne(i, at int, operands *[]Operand) (int, error) {
	left := f.words.len() - at
	if left < 1 {
		return 0, f.fail(i, "", "it lies beyond the end of the %d words", f.words.len())
	}
	in := &f.Code[i]
	in.Op = Op(f.words.at(at))
	size := map[Op]int{Call: callWords, Ret: retWords, Goto: gotoWords, If: ifWords}[in.Op]
	if size == 0 {
		return 0, f.fail(i, "", "unknown operation %d: expected 1 (call), 2 (ret), 3 (goto) or 4 (if)", in.Op)
	}
	if left < size {
		return 0, f.fail(i, in.Op.String(), "it takes %d words, %d are left", size, left)
	}
	switch in.Op {
	case Call:
		in.Dst, in.Callee = Register(f.words.at(at+1)), int(f.words.at(at+2))
		count := f.words.at(at + 3)
		if count < 0 || count > int64(left-size) {
			return 0, f.fail(i, f.brief(in), "it has %d arguments, but only %d words are left", count, left-size)
		}
		first := len(*operands)
		for k := range int(count) {
			*operands = append(*operands, operandOf(f.words.at(at+callWords+k)))
		}
		in.Args = (*operands)[first:len(*operands):len(*operands)]
		size += int(count)
	case Ret:
		in.Source = Register(f.words.at(at + 1))
	case Goto:
		in.Jump = int(f.words.at(at + 1))
	case If:
		in.Source, in.Jump = Register(f.words.at(at+1)), int(f.words.at(at+2))
	}
	return size, nil
}

func operandOf(word int64) Operand {
	return Operand{Kind: OperandKind(uint64(word) >> valueBits), Value: word << (64 - valueBits) >> (64 - valueBits)}
}

func (o Operand) word() int64 {
	return int64(uint64(o.Kind)<<valueBits | uint64(o.Value)&(1<<valueBits-1))
}

// fail makes an error about an instruction, by its number among all. brief is what is known of it.
func (e *Executable) fail(i int, brief, format string, args ...any) error {
	err := &CodeError{Instruction: i, Brief: brief, Problem: fmt.Sprintf(format, args...)}
	for k := range e.Functions {
		if f := &e.Functions[k]; f.Kind == Bytecode && f.Begin >= 0 && i >= f.Begin && i < f.End {
			err.Function, err.Instruction = f.Name, i-f.Begin
			break
		}
	}
	return err
}
