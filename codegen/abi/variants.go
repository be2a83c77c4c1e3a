package abi

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"strings"

	"tvmgo/dlpack"
)

// VariantsPrefix begins the symbol of a constant that lists the variants of a function for readers that execute
// nothing: see [VariantTable.Text]. A zero byte ends it.
const VariantsPrefix = "__tvmgo_variants_"

// VariantTable lists the variants of a function, in the order in which they are tried on a type of device.
type VariantTable struct {
	Function string    `json:"function"`
	Variants []Variant `json:"variants"`
}

// Variant is a function for one target, with the parameters of the function that calls it.
type Variant struct {
	Function string            `json:"function"`
	Device   dlpack.DeviceType `json:"device"`          // of the tensors, a number
	Target   string            `json:"target"`          // "cuda -arch=sm_80"
	Needs    []Need            `json:"needs,omitempty"` // all must be met; none: any device of the type is suitable
}

// Need is a range of an attribute of a device, by the numbers of the global function runtime.GetDeviceAttr.
type Need struct {
	Attribute int32 `json:"attribute"`
	Least     int32 `json:"least"`
	Most      int32 `json:"most"`
}

// Attributes of devices that variants need. Compute capability 8.6 is 806.
const (
	NeedThreads    = 1
	NeedWarp       = 2
	NeedShared     = 3
	NeedCapability = 4
	NoLimit        = math.MaxInt32
)

var needNames = map[int32]string{NeedThreads: "max_threads_per_block", NeedWarp: "thread_warp_size",
	NeedShared: "max_shared_memory_per_block", NeedCapability: "compute capability"}

// String returns the need in words: "compute capability 8.0 to 8.99", "max_threads_per_block 512 or more".
func (n Need) String() string {
	name := needNames[n.Attribute]
	if name == "" {
		name = fmt.Sprintf("attribute %d", n.Attribute)
	}
	value := func(x int32) string {
		if n.Attribute == NeedCapability {
			return fmt.Sprintf("%d.%d", x/100, x%100)
		}
		return fmt.Sprint(x)
	}
	switch {
	case n.Least == n.Most:
		return name + " " + value(n.Least)
	case n.Most == NoLimit:
		return name + " " + value(n.Least) + " or more"
	}
	return name + " " + value(n.Least) + " to " + value(n.Most)
}

// Text returns the constant: the CRC-32 of what follows as 8 hexadecimal digits, a space, and the table as JSON.
func (t VariantTable) Text() (string, error) {
	text, err := json.Marshal(t)
	return fmt.Sprintf("%08x %s", crc32.ChecksumIEEE(text), text), err
}

// ParseVariants reads what Text returned, from a file that may be damaged.
func ParseVariants(text string) (VariantTable, error) {
	var t VariantTable
	sum, content, _ := strings.Cut(text, " ")
	if sum != fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(content))) {
		return t, errors.New("its checksum differs")
	}
	if err := json.Unmarshal([]byte(content), &t); err != nil {
		return t, err
	}
	if t.Function == "" || len(t.Variants) == 0 {
		return t, errors.New("it has no variants")
	}
	return t, nil
}
