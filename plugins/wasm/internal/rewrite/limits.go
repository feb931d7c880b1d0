package rewrite

// Bounds of a module. They are far above what compilers write and keep the work of compiling a hostile module in proportion to its
// size. Where the web platform has a limit (https://webassembly.github.io/spec/js-api/#limits) ours is not above it.
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
)

const (
	// budget is how much a module may do until it asks the host: about 64 K times the code of perIteration bytes.
	budget = 1 << 16
	// perUnit is how many bytes of code count one.
	perUnit = 32
	// slowUnits is what an instruction on a table, a segment or the size of memory counts.
	slowUnits = budget / 8
	// leafBytes is the size up to which a function that calls none needs no check: its caller's check covers it.
	leafBytes = 128
	// chunk is the number of bytes that memory.fill and memory.copy move per step.
	chunk = 1 << 20
)

// maxWork bounds the work of compiling all functions beyond what is in proportion to their size, in microseconds of a processor of
// 2024. Programs need a few hundredths of it.
const maxWork = 30_000_000

// work estimates that work for a function of so many blocks, loops and local variables. wazero's time grows with the square of each,
// and of the variables for every loop and block; the divisors were measured with version 1.12.
func work(blocks, loops, locals int) int64 {
	b, l, v := int64(blocks), int64(loops), int64(locals)
	return b*b/65 + l*l/4 + v*v*(4*l+b)/1600
}
