package c

import (
	"fmt"
	"strings"

	"tvmgo/tir"
)

// reserved are identifiers that variables must not have: words of C and of similar languages, and names that generated
// code uses.
var reserved = func() map[string]bool {
	all := map[string]bool{}
	for _, s := range strings.Fields(`
		auto break case char const continue default do double else enum extern float for goto if inline int long register
		restrict return short signed sizeof static struct switch typedef union unsigned void volatile while asm typeof bool
		true false
		alignas alignof constexpr nullptr thread_local static_assert
		class template typename new delete this operator private public protected namespace using try catch throw virtual
		friend explicit export mutable and or not xor bitand bitor compl
		kernel global local constant half uint uchar ushort ulong read_only write_only
		blockIdx threadIdx blockDim gridDim warpSize
		NULL NAN INFINITY EOF errno stdin stdout stderr linux unix i386
		memcpy memset memmove main isnan isinf isfinite
		self args num_args result rc p lane penv task_id cdata closure tasks share from to limits signature taken type_codes
		out_value out_code resource`) {
		all[s] = true
	}
	for _, i := range tir.Intrinsics() {
		all[i.Name], all[i.Name+"f"] = true, true
	}
	return all
}()

var reservedPrefixes = []string{"__", "tvmgo_", "TVM", "kTVM", "kDL", "DL", "INT", "UINT"}

// isIdentifier reports whether s is an identifier of C.
func isIdentifier(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// identifier turns any text into a readable name.
func identifier(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; isIdentifier("_" + string(rune(c))) {
			b.WriteByte(c)
		} else if i == 0 || s[i-1] < 0x80 { // one for each run of other bytes is enough
			b.WriteByte('_')
		}
	}
	name := b.String()
	bad := !isIdentifier(name) || reserved[name] || strings.Trim(name, "_") == "" || strings.HasSuffix(name, "_t") ||
		looksLikeType(name)
	for _, p := range reservedPrefixes {
		bad = bad || strings.HasPrefix(name, p)
	}
	if bad {
		name = "v_" + strings.TrimLeft(name, "_")
	}
	return name
}

// looksLikeType reports whether name looks like a vector type: int32x4.
func looksLikeType(name string) bool {
	rest := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(name, "float"), "u"), "int")
	return rest != name && rest != "" && rest[0] >= '0' && rest[0] <= '9'
}

// names assigns names that are unique in a scope and in the scopes around it.
type names struct {
	taken  map[string]bool
	also   func(name string) bool // further reserved names; may be nil
	around *names                 // names of the enclosing scope; nil: none
	order  []string               // in which names were assigned
	tried  map[string]int         // for an assigned name: the next number to try, because smaller ones are assigned
}

func (n *names) has(name string) bool { return n.hasBelow(name, nil) }

// hasBelow is has without the names of scope end and of the scopes around it.
func (n *names) hasBelow(name string, end *names) bool {
	for ; n != end; n = n.around {
		if n.taken[name] {
			return true
		}
	}
	return false
}

func (n *names) take(name string) {
	n.taken[name] = true
	n.order = append(n.order, name)
}

func (n *names) pick(want string) string {
	want = identifier(want)
	if n.also != nil && n.also(want) {
		want = "v_" + want
	}
	name := want
	if n.has(name) || reserved[name] {
		i := max(n.tried[want], 1)
		for name = fmt.Sprintf("%s_%d", want, i); n.has(name) || reserved[name]; name = fmt.Sprintf("%s_%d", want, i) {
			i++
		}
		if n.tried == nil {
			n.tried = map[string]int{}
		}
		n.tried[want] = i
	}
	n.take(name)
	return name
}

// within returns a nested scope, such as a function in a file.
func (n *names) within() *names {
	return &names{taken: map[string]bool{}, also: n.also, around: n}
}

// giveBack frees all names except the first n.
func (n *names) giveBack(first int) {
	for _, name := range n.order[first:] {
		delete(n.taken, name)
	}
	if len(n.order) > first {
		n.tried = nil
	}
	n.order = n.order[:first]
}
