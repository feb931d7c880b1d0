// Package rewrite makes a WebAssembly module that comes back to its host while it runs.
//
// Native code that a compiler makes of a module runs until it is done: no goroutine can be scheduled in its place and the garbage
// collector of the host waits for it. So each module is rewritten before it is compiled. It gets a counter, which goes down at
// every function entry and at the head of every loop by the amount of code that may run until the next such place. When the counter
// is used up the module calls an imported function, Module.CheckModule and CheckName: the host looks at the deadline there and
// answers 0 to continue. Any other answer traps.
//
// Instructions that take long are cut into pieces: memory.fill and memory.copy work in chunks, and instructions on tables and
// memory.grow count as much code. Tables are bounded.
//
// Imported functions can be guarded: whatever calls one, by name or through a table, calls a function of the rewriter instead, which
// asks the host first and bounds arguments.
//
// Every index into types, functions and globals is compared with what the module itself has, so that no module can name what is added
// to it: the counter, the helpers, the guards. The import moves the indexes of all functions up by one, so everything that names a
// function is rewritten. Custom sections are left out, except for the names of functions, which stack traces show.
//
// The parser knows WebAssembly 2.0 (with SIMD), tail calls and extended constant expressions. It refuses everything else, because an
// instruction whose length it does not know may hide a loop. Numbers that steer it are rewritten in their shortest form, so that
// the compiler cannot read them in another way. It also bounds what a compiler would allocate or compute without asking.
package rewrite
