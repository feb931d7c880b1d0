// Package rewrite rewrites a WebAssembly module so that it calls its host regularly while it runs.
//
// The native code of a module cannot be preempted: other goroutines cannot run on its thread, and the garbage collector of the host waits
// for it. So each module is rewritten before it is compiled. It gets a counter, which decreases at every function entry and at the head of
// every loop by the amount of code that may run until the next such place. When the counter is used up, the module calls an imported
// function, CheckName of CheckModule: the host checks the deadline and returns 0 to continue. Any other result traps.
//
// Slow instructions are split: memory.fill and memory.copy work in chunks; instructions on tables and memory.grow count as a large amount of
// code. The size of tables is limited.
//
// Imported functions can be guarded: all calls, by name or through a table, go to a function of the rewriter, which first asks the host and
// checks arguments.
//
// Every index of a type, function or global is checked against the original module, so that no module can refer to additions: the counter, the
// helpers, the guards. The added import increments the indexes of all functions, so all references to functions are rewritten. Custom
// sections are dropped, except for the names of functions, which stack traces show.
//
// The parser supports WebAssembly 2.0 (with SIMD), tail calls and extended constant expressions. It refuses everything else, because an
// instruction of unknown length may hide a loop. Numbers that the parser depends on are rewritten in their shortest form, so that the
// compiler cannot read them differently. The parser also limits what a compiler would allocate or compute.
package rewrite
