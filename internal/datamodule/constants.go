package datamodule

import (
	"slices"
	"sync"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/internal/fault"
	"tvmgo/internal/value"
)

// constants is a module of tensors, which other modules get before their first use.
type constants struct {
	Base
	self    uintptr // the module itself, borrowed
	saved   Payload
	symbols []*symbolConstants
	init    threadLock // held while a symbol is initialised, and guards the symbols

	mu    sync.Mutex // guards the tensors
	table []constant
}

// constant is a tensor, or the bytes from which it is made when it is first needed. The bytes of a file are not aligned
// as generated code requires, so they are copied.
type constant struct {
	name   string
	raw    blob.Tensor
	tensor Tensor // owned; nil until then
}

// symbolConstants lists the constants that __init_<symbol> gets, in order.
type symbolConstants struct {
	blob.SymbolConstants
	begun bool // true also while the initialisation is in progress
}

// initPrefix is the prefix of functions that take the constants of a symbol.
const initPrefix = "__init_"

// NewConstants makes a module of constants.
func NewConstants(c *blob.Constants) (Module, error) { return newConstants(c) }

func newConstants(c *blob.Constants) (*constants, error) {
	const op = "make constants module"
	if c == nil {
		return nil, fault.New(op, fault.InvalidArgument, "there are no constants")
	}
	if len(c.Tensors) != len(c.Names) {
		return nil, fault.New(op, fault.InvalidArgument, "%d tensors for %d names", len(c.Tensors), len(c.Names))
	}
	if err := checkNames(op, "constant", c.Names); err != nil {
		return nil, err
	}
	m := &constants{}
	for i, name := range c.Names {
		t := c.Tensors[i]
		if want, err := dlpack.SerializedDataSize(t.Shape, t.DType); err != nil || want != int64(len(t.Data)) {
			return nil, fault.New(op, fault.InvalidArgument, "constant %q: %d bytes for shape %v of %v", name, len(t.Data),
				t.Shape, t.DType)
		}
		m.table = append(m.table, constant{name: name, raw: t})
	}
	return m, m.setSymbols(op, c.Symbols)
}

func (m *constants) setSymbols(op string, symbols []blob.SymbolConstants) error {
	names := make([]string, len(symbols))
	for i, s := range symbols {
		names[i] = s.Symbol
		for _, name := range s.Names {
			if m.find(name) < 0 {
				return fault.New(op, fault.InvalidArgument, "symbol %q needs constant %q, which is missing", s.Symbol, name)
			}
		}
		m.symbols = append(m.symbols, &symbolConstants{SymbolConstants: s})
	}
	return checkNames(op, "symbol", names)
}

func (m *constants) find(name string) int {
	return slices.IndexFunc(m.table, func(c constant) bool { return c.name == name })
}

// LoadConstants makes a module from a payload.
func LoadConstants(p Payload) (Module, error) {
	c, err := blob.ParseConstants(p.Data)
	if err != nil {
		return nil, fault.Wrap("load "+p.Kind, fault.CorruptModule, err)
	}
	m, err := newConstants(c)
	if err != nil {
		return nil, fault.Wrap("load "+p.Kind, fault.CorruptModule, err)
	}
	m.saved = p
	return m, nil
}

// CreateConstants implements ffi.Module.create.const_loader(tensors by name, names by symbol).
func CreateConstants(args []any) (Module, error) {
	const op = "ffi.Module.create.const_loader"
	if err := value.CheckCount(op, args, 2, 2); err != nil {
		return nil, err
	}
	m := &constants{}
	if err := m.fill(op, args); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

func (m *constants) fill(op string, args []any) error {
	tensors, ok := args[0].(value.Map)
	if !ok {
		return fault.New(op, fault.InvalidArgument, "argument 0: expected a map from names to tensors, got %T", args[0])
	}
	for _, e := range tensors {
		name, isText := e.Key.(string)
		t, isTensor := e.Value.(Tensor)
		if !isText || !isTensor {
			return fault.New(op, fault.InvalidArgument, "argument 0: expected a map from names to tensors, got %T to %T",
				e.Key, e.Value)
		}
		own, err := Host.Share(op, t)
		if err != nil {
			return err
		}
		m.table = append(m.table, constant{name: name, tensor: own})
	}
	bySymbol, ok := args[1].(value.Map)
	if !ok {
		return fault.New(op, fault.InvalidArgument, "argument 1: expected a map from symbols to lists of names, got %T",
			args[1])
	}
	var symbols []blob.SymbolConstants
	for i, e := range bySymbol {
		symbol, isText := e.Key.(string)
		if !isText {
			return fault.New(op, fault.InvalidArgument,
				"argument 1: expected a map from symbols to lists of names, key %d is a %T", i, e.Key)
		}
		names, err := value.Texts(op, []any{nil, e.Value}, 1)
		if err != nil {
			return err
		}
		symbols = append(symbols, blob.SymbolConstants{Symbol: symbol, Names: names})
	}
	return m.setSymbols(op, symbols)
}

// SetModule stores the module's object.
func (m *constants) SetModule(self uintptr) { m.self = self }

// Close releases the tensors.
func (m *constants) Close() error {
	for i := range m.table {
		if t := m.table[i].tensor; t != nil {
			t.Close()
		}
	}
	return nil
}

// tensor returns a constant in aligned memory. It is made when it is first needed, and the module keeps it.
func (m *constants) tensor(i int) (Tensor, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &m.table[i]
	if c.tensor != nil {
		return c.tensor, nil
	}
	t, err := Host.NewTensor(c.raw)
	if err != nil {
		return nil, err
	}
	c.tensor = t
	return t, nil
}

// Functions lists the symbols that have constants.
func (m *constants) Functions() []string {
	names := make([]string, len(m.symbols))
	for i, s := range m.symbols {
		names[i] = s.Symbol
	}
	slices.Sort(names)
	return names
}

// Function passes a symbol its constants, and finds the function of this name in the imports. get_const_var_tensor and
// get_const_var_ndarray return the constants as a map from names to tensors.
func (m *constants) Function(name string) (Function, error) {
	if name == "get_const_var_ndarray" || name == "get_const_var_tensor" {
		return answer(name, m.all)
	}
	for _, s := range m.symbols {
		if s.Symbol == name {
			if err := m.initialise(s); err != nil {
				return nil, err
			}
		}
	}
	f, err := Host.Imported(m.self, name)
	if err == nil && f == nil {
		err = fault.NotFound
	}
	return f, err
}

func (m *constants) all() (any, error) {
	out := make(value.Map, len(m.table))
	for i := range m.table {
		t, err := m.tensor(i)
		if err != nil {
			return nil, err
		}
		out[i] = value.Entry{m.table[i].name, t}
	}
	return out, nil
}

// initialise passes a symbol its constants once. After an error the next call tries again. Other threads wait until it
// is done; look-ups by the initialisation itself, on the same thread, do not wait and may find it in progress.
func (m *constants) initialise(s *symbolConstants) (err error) {
	op := "initialise " + s.Symbol
	m.init.lock()
	defer m.init.unlock()
	if s.begun {
		return nil
	}
	s.begun = true
	defer func() { s.begun = err == nil }()
	f, err := Host.Imported(m.self, initPrefix+s.Symbol)
	if err != nil {
		return err
	}
	if f == nil {
		return fault.New(op, fault.Failed,
			"no imported module has the function %s%s, which takes its %d constants: import the module that has it",
			initPrefix, s.Symbol, len(s.Names))
	}
	defer f.Close()
	list := make([]any, len(s.Names))
	for i, name := range s.Names {
		if list[i], err = m.tensor(m.find(name)); err != nil {
			return err
		}
	}
	v, err := f.Call(list)
	if err != nil {
		return err
	}
	value.Close(v)
	if code, ok := v.(int64); ok && code != 0 {
		return fault.New(op, fault.Failed, "%s%s returned %d", initPrefix, s.Symbol, code)
	}
	return nil
}

// SaveToBinary returns the loaded payload unchanged.
func (m *constants) SaveToBinary() ([]byte, error) {
	if m.saved.Data != nil {
		return m.saved.Data, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &blob.Constants{}
	for i := range m.table {
		raw, err := m.serialised(&m.table[i])
		if err != nil {
			return nil, err
		}
		c.Names = append(c.Names, m.table[i].name)
		c.Tensors = append(c.Tensors, raw)
	}
	for _, s := range m.symbols {
		c.Symbols = append(c.Symbols, s.SymbolConstants)
	}
	data, err := c.Encode()
	return data, fault.Wrap("save module", fault.InvalidArgument, err)
}

// serialised returns a constant in the form of files.
func (m *constants) serialised(c *constant) (blob.Tensor, error) {
	if c.raw.Data != nil || c.tensor == nil {
		return c.raw, nil
	}
	t := blob.Tensor{DType: c.tensor.DType(), Shape: c.tensor.Shape(), Data: make([]byte, c.tensor.Size())}
	return t, c.tensor.CopyToBytes(t.Data)
}
