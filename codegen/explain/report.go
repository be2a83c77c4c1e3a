package explain

// Report has the figures of the kernels of a program for one target. Its fields are those of the JSON form, too.
type Report struct {
	Target   string           `json:"target"`            // the target, as a command line
	Machine  string           `json:"machine,omitempty"` // the GPU whose peak figures the expected bounds use
	WarpSize int              `json:"warp_size"`         // threads of a warp
	Sizes    map[string]int64 `json:"sizes,omitempty"`   // the sizes that were given
	Kernels  []*Kernel        `json:"kernels"`
	Notes    []string         `json:"notes,omitempty"` // what limits the report
}

// Kernel has the figures of one kernel. Figures that need unknown sizes are absent.
type Kernel struct {
	Name            string     `json:"name"`
	GridText        [3]string  `json:"grid_text"`         // blocks along x, y, z, as expressions
	Grid            []int64    `json:"grid,omitempty"`    // the same as numbers
	Block           []int64    `json:"block,omitempty"`   // threads of a block along x, y, z
	ThreadsPerBlock int64      `json:"threads_per_block"` // 0 if unknown
	SharedBytes     int64      `json:"shared_bytes"`      // shared memory of a block
	Resources       *Resources `json:"resources,omitempty"`
	Occupancy       *Occupancy `json:"occupancy,omitempty"`
	Limits          []Limit    `json:"limits,omitempty"`        // of targets without a table of multiprocessors
	UnknownSizes    []string   `json:"unknown_sizes,omitempty"` // to be given
	Work            *Work      `json:"work,omitempty"`
	Accesses        []*Access  `json:"accesses"`
	Notes           []string   `json:"notes,omitempty"`
}

// Resources are what the assembler reports about a kernel.
type Resources struct {
	Registers   int64 `json:"registers"`    // of a thread
	SpillStores int64 `json:"spill_stores"` // bytes of a thread
	SpillLoads  int64 `json:"spill_loads"`  // bytes of a thread
}

// Occupancy is how many warps of a kernel a multiprocessor can hold.
type Occupancy struct {
	Blocks    int64    `json:"blocks_per_sm"`
	Warps     int64    `json:"warps_per_sm"`
	MaxWarps  int64    `json:"max_warps_per_sm"`
	Fraction  float64  `json:"fraction"`          // Warps / MaxWarps
	LimitedBy []string `json:"limited_by"`        // "warps", "blocks", "registers", "shared memory"
	Registers bool     `json:"registers_known"`   // otherwise registers are assumed not to limit
	Waves     float64  `json:"waves,omitempty"`   // blocks of the grid / blocks that the machine holds
	Problem   string   `json:"problem,omitempty"` // why no block fits
}

// Limit compares a kernel with a limit of the target.
type Limit struct {
	Name  string `json:"name"` // the attribute of the target
	Used  int64  `json:"used"`
	Limit int64  `json:"limit"`
}

// Work is what all threads of a kernel do together.
type Work struct {
	BytesRead      float64            `json:"bytes_read"`      // that threads load from global memory, with repetitions
	BytesWritten   float64            `json:"bytes_written"`   // that threads store to global memory
	BytesMoved     float64            `json:"bytes_moved"`     // 32 for each sector of each request
	FootprintRead  float64            `json:"footprint_read"`  // at most the sizes of the tensors that are loaded
	FootprintWrite float64            `json:"footprint_write"` // at most the sizes of the tensors that are stored
	Operations     float64            `json:"operations"`      // arithmetic on values, without that of indices
	ByType         map[string]float64 `json:"operations_by_type,omitempty"`
	Intensity      float64            `json:"intensity"`                  // Operations / (BytesRead + BytesWritten)
	Reuse          float64            `json:"reuse_intensity"`            // Operations / (FootprintRead + FootprintWrite)
	Bound          string             `json:"bound,omitempty"`            // Memory, Compute or Cache
	Ridge          float64            `json:"ridge,omitempty"`            // operations per byte of a balanced kernel
	AtLeastSeconds float64            `json:"at_least_seconds,omitempty"` // by the machine's peak figures
	Estimated      bool               `json:"estimated,omitempty"`        // a condition or a loop depends on loaded values
}

// The expected bounds of a kernel.
const (
	BoundMemory  = "memory"  // reading and writing each byte of its tensors once takes longer than its operations
	BoundCompute = "compute" // its operations take longer than all bytes that its requests move
	BoundCache   = "cache"   // between these: it depends on how many of the repeated loads caches serve
)

// Access is a load or a store of the program.
type Access struct {
	Buffer        string  `json:"buffer"`
	Scope         string  `json:"scope"` // "global" or "shared"
	Op            string  `json:"op"`    // "load" or "store"
	Index         string  `json:"index"`
	Path          string  `json:"path"`                     // its place in the lowered kernel
	Bytes         int64   `json:"bytes"`                    // of a thread in one request
	Requests      float64 `json:"requests,omitempty"`       // of all warps
	DataDependent bool    `json:"data_dependent,omitempty"` // its index depends on loaded values: figures are the worst
	Sectors       *Figure `json:"sectors,omitempty"`        // of a request to global memory
	Ways          *Figure `json:"ways,omitempty"`           // of a request to shared memory; 1 is without conflicts
}

// Figure is a figure of the requests of an access.
type Figure struct {
	Worst   float64 `json:"worst"`
	Average float64 `json:"average"`
	Minimal float64 `json:"minimal"` // what requests for as many different bytes need, on average
}

// MinimalSectors reports whether the requests to global memory touch as few sectors as possible, apart from one more
// where a row does not begin at a sector.
func (a *Access) MinimalSectors() bool {
	return a.Sectors == nil || a.Sectors.Average <= a.Sectors.Minimal+1
}

// ConflictFree reports whether no request to shared memory has a bank conflict.
func (a *Access) ConflictFree() bool { return a.Ways == nil || a.Ways.Worst <= 1 }
