package arith

// rule is a way in which the simplifier changes a program. Tests see to it that each is used.
type rule uint8

const (
	ruleFold            rule = iota // an operation on constants
	ruleIdentity                    // x+0, x*1, x/1, x*0, x-x, …, of any numbers
	ruleFloatIdentity               // x*1, x/1, x-0 of floats
	ruleSameOperands                // x<x, min(x, x), x&&x, …
	ruleConstRange                  // a value that can only be one
	ruleBoundVar                    // a variable of one value
	ruleSum                         // a sum put in order
	ruleSumExpand                   // products of sums, where that shortens
	ruleDivMod                      // (x/c)*c + x%c = x
	ruleDivModSymbol                // the same of a divisor that is no constant
	ruleModLevels                   // ((x/a)%b)*a + x%a = x%(a*b)
	ruleSubMod                      // x - x%c = (x/c)*c
	ruleSubDiv                      // x - (x/c)*c = x%c
	ruleDivExact                    // (x/c)*c = x, where x%c is known
	ruleSumMinMax                   // min(a+b, c) - a = min(b, c-a)
	ruleNegDivisor                  // x/(-c) = (-x)/c
	ruleDivTerms                    // (x*c + y)/c = x + y/c
	ruleDivRange                    // y/c of y that stays between two multiples of c
	ruleDivFactor                   // (x*g + y)/(c*g) = x/c
	ruleDivNested                   // (x/a)/b = x/(a*b)
	ruleDivOfMod                    // (x%(a*b))/a = (x/a)%b
	ruleModNested                   // (x%a)%b = x%b, where b divides a
	ruleModTerms                    // (x*c + y)%c = y%c
	ruleModRange                    // y%c of y that stays between two multiples of c
	ruleModFactor                   // (x*g + y)%(c*g) = (x%c)*g + y
	ruleModKnown                    // y%c of y whose remainder is known
	ruleDivSymbol                   // (x*n + y)/n = x + y/n
	ruleModSymbol                   // (x*n + y)%n = y%n
	ruleTruncToFloor                // rounding towards zero is rounding down
	ruleTruncExact                  // x*c/c = x, rounding whichever way
	ruleSmallDividend               // x/y = 0, x%y = x of unsigned x < y
	ruleCompareProved               // a comparison that always holds, or never
	ruleCompareOrder                // a comparison put in order
	ruleCompareFactor               // x*g + y < z*g is x < z
	ruleCompareDiv                  // x/c < k is x < k*c
	ruleCompareParity               // x*2 == 3 is never
	ruleMinMaxProved                // min(a, b) = a
	ruleMinMaxFlat                  // min(min(a, b), c), some of which are of no account
	ruleMinMaxCommon                // min(x+y, x+z) = x + min(y, z)
	ruleMinMaxFactor                // min(x*g, y*g) = min(x, y)*g
	ruleAndOrConst                  // true && x
	ruleAndOrImplied                // x && y, where one implies the other
	ruleAndOrContradict             // x && y, where one excludes the other
	ruleNotNot                      // !!x
	ruleNotCompare                  // !(x < y)
	ruleNotLogical                  // !(x && y)
	ruleSelectConst                 // select(true, x, y)
	ruleSelectSame                  // select(c, x, x)
	ruleSelectNot                   // select(!c, x, y)
	ruleSelectBool                  // select(c, true, false)
	ruleLikely                      // likely(true)
	ruleIntrinsicFold               // an intrinsic of constants
	ruleCastFold                    // a cast of a constant
	ruleCastCast                    // a cast of a cast
	ruleCastBool                    // a number as a truth value
	ruleLetInline                   // let x = 1 in …
	ruleLetUnused                   // let x = … in 1
	ruleRampFlat                    // a ramp of stride 0, or of one lane
	ruleBroadcastOp                 // an operation on broadcasts
	ruleRampAdd                     // ramp + broadcast, ramp + ramp
	ruleRampMul                     // ramp * broadcast
	ruleRampDiv                     // ramp / broadcast
	ruleRampMod                     // ramp % broadcast
	ruleRampCompare                 // a comparison of ramps that holds for all lanes, or for none
	ruleRampMinMax                  // min of ramps
	ruleVectorCast                  // a cast of a ramp or a broadcast
	ruleLoopNone                    // a loop of no turns, or of nothing
	ruleLoopOnce                    // a loop of one turn
	ruleIfConst                     // if true
	ruleIfEmpty                     // if of nothing
	ruleAssertTrue                  // an assertion that holds
	ruleAssertFalse                 // what stands behind an assertion that never holds
	ruleLetStmt                     // let x = 1, or let x that nobody uses
	ruleEvaluatePure                // a value that nobody uses
	ruleWhileFalse                  // while false
	ruleEmptyScope                  // memory, or an attribute, of nothing
	numRules
)

var ruleNames = [numRules]string{"fold", "identity", "float-identity", "same-operands", "const-range", "bound-var",
	"sum", "sum-expand", "divmod",
	"divmod-symbol", "mod-levels", "sub-mod", "sub-div", "div-exact", "sum-minmax", "neg-divisor", "div-terms",
	"div-range", "div-factor", "div-nested",
	"div-of-mod", "mod-nested", "mod-terms", "mod-range", "mod-factor", "mod-known", "div-symbol", "mod-symbol",
	"trunc-to-floor", "trunc-exact",
	"small-dividend", "compare-proved", "compare-order", "compare-factor", "compare-div", "compare-parity",
	"minmax-proved", "minmax-flat",
	"minmax-common", "minmax-factor", "andor-const", "andor-implied", "andor-contradict", "not-not", "not-compare",
	"not-logical",
	"select-const", "select-same", "select-not", "select-bool", "likely", "intrinsic-fold", "cast-fold", "cast-cast",
	"cast-bool", "let-inline",
	"let-unused", "ramp-flat", "broadcast-op", "ramp-add", "ramp-mul", "ramp-div", "ramp-mod", "ramp-compare",
	"ramp-minmax", "vector-cast", "loop-none",
	"loop-once", "if-const", "if-empty", "assert-true", "assert-false", "let-stmt", "evaluate-pure", "while-false",
	"empty-scope"}

// String is the rule's name, which the table of simplifications uses.
func (r rule) String() string { return ruleNames[r] }
