package rewrite

// Limits of a module. They are far above the output of compilers, and keep the work of compiling a hostile module in proportion to its size.
// None exceeds the web platform's limit (https://webassembly.github.io/spec/js-api/#limits).
const (
	maxTypes     = 20_000
	maxSignature = 1000    // parameters or results of a type
	maxValues    = 100_000 // parameters and results of all types together
	maxImports   = 1000
	maxFunctions = 500_000
	maxTables    = 16
	maxElements  = 1 << 20 // of one table, and of all element segments together
	maxGlobals   = 100_000
	maxExports   = 100_000
	maxSegments  = 100_000
	maxCode      = 32 << 20 // bytes of all functions
	maxBody      = 2 << 20  // bytes of one function
	maxLocals    = 10_000   // of one function, parameters not counted
	maxDepth     = 20_000   // of nested blocks
	maxLoopDepth = 200
	maxTargets   = 65_520 // of one br_table
	// maxFunctionName is the maximum size of a function's name in stack traces, in bytes.
	maxFunctionName = 300
)

const (
	// budget is the number of units that a module may run until it asks the host.
	budget = 1 << 16
	// perUnit is the number of bytes of code per unit.
	perUnit = 32
	// slowUnits is the number of units of an instruction on a table, a segment or the size of memory.
	slowUnits = budget / 8
	// leafBytes is the maximum size of a function without calls that needs no check, because its caller's check covers it.
	leafBytes = 128
	// chunk is the number of bytes that memory.fill and memory.copy move per step.
	chunk = 1 << 20
)

// maxWork limits the part of compiling all functions that is not proportional to their size, in microseconds of a processor of 2024. Real
// programs need a few percent of it.
const maxWork = 30_000_000

// work estimates this part for a function. wazero's time grows with the square of the numbers of blocks, of loops, and of variables for every
// loop and block; the divisors were measured with version 1.12.
func work(blocks, loops, locals int) int64 {
	b, l, v := int64(blocks), int64(loops), int64(locals)
	return b*b/65 + l*l/4 + v*v*(4*l+b)/1600
}
