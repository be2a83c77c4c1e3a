package arith

// rule is a rewrite rule of the simplifier. Tests check that each is used.
type rule uint8

const (
	ruleFold            rule = iota // an operation on constants
	ruleIdentity                    // x+0, x*1, x/1, x*0, x-x, … for all integers
	ruleFloatIdentity               // x*1, x/1, x-0 for floats
	ruleSameOperands                // x<x, min(x, x), x&&x, …
	ruleConstRange                  // an expression with a single possible value
	ruleBoundVar                    // a variable with a single possible value
	ruleSum                         // a sum in canonical order
	ruleSumExpand                   // expanded products of sums, where that is shorter
	ruleDivMod                      // (x/c)*c + x%c = x
	ruleDivModSymbol                // the same for a divisor that is not constant
	ruleModLevels                   // ((x/a+k)%b)*a + x%a = (x+k*a)%(a*b)
	ruleSubMod                      // x - x%c = (x/c)*c
	ruleSubDiv                      // x - (x/c)*c = x%c
	ruleDivExact                    // (x/c)*c = x, where x%c is known
	ruleSumMinMax                   // min(a+b, c) - a = min(b, c-a)
	ruleNegDivisor                  // x/(-c) = (-x)/c
	ruleDivTerms                    // (x*c + y)/c = x + y/c
	ruleDivRange                    // y/c where y stays between two multiples of c
	ruleDivFactor                   // (x*g + y)/(c*g) = x/c
	ruleDivNested                   // (x/a)/b = x/(a*b)
	ruleDivOfMod                    // (x%(a*b))/a = (x/a)%b
	ruleModNested                   // (x%a)%b = x%b, where a is a multiple of b
	ruleModTerms                    // (x*c + y)%c = y%c
	ruleModRange                    // y%c where y stays between two multiples of c
	ruleModFactor                   // (x*g + y)%(c*g) = (x%c)*g + y
	ruleModKnown                    // y%c where the remainder of y is known
	ruleDivSymbol                   // (x*n + y)/n = x + y/n
	ruleModSymbol                   // (x*n + y)%n = y%n
	ruleTruncToFloor                // truncating division is floor division
	ruleTruncExact                  // x*c/c = x, for both kinds of rounding
	ruleSmallDividend               // x/y = 0, x%y = x for unsigned x < y
	ruleCompareProved               // a comparison that is always true or always false
	ruleCompareOrder                // a comparison in canonical order
	ruleCompareFactor               // x*g + y < z*g is x < z
	ruleCompareDiv                  // x/c < k is x < k*c
	ruleCompareParity               // x*2 == 3 is false
	ruleMinMaxProved                // min(a, b) = a
	ruleMinMaxFlat                  // min(min(a, b), c) with redundant operands
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
	ruleCastBool                    // an integer used as a condition
	ruleLetInline                   // let x = 1 in …
	ruleLetUnused                   // let x = … in 1
	ruleRampFlat                    // a ramp of stride 0, or of one lane
	ruleBroadcastOp                 // an operation on broadcasts
	ruleRampAdd                     // ramp + broadcast, ramp + ramp
	ruleRampMul                     // ramp * broadcast
	ruleRampDiv                     // ramp / broadcast
	ruleRampMod                     // ramp % broadcast
	ruleRampCompare                 // a comparison of ramps with one result for all lanes
	ruleRampMinMax                  // min of ramps
	ruleVectorCast                  // a cast of a ramp or a broadcast
	ruleLoopNone                    // a loop without iterations, or with an empty body
	ruleLoopOnce                    // a loop with one iteration
	ruleIfConst                     // if true
	ruleIfEmpty                     // if with empty branches
	ruleAssertTrue                  // an assertion that holds
	ruleAssertFalse                 // code after an assertion that never holds
	ruleLetStmt                     // let x = 1, or an unused x
	ruleEvaluatePure                // an unused value
	ruleWhileFalse                  // while false
	ruleEmptyScope                  // an allocation or attribute with an empty body
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

// String returns the rule's name, as in the test table.
func (r rule) String() string { return ruleNames[r] }
