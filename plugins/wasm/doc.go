// Package wasm runs plugins that are WebAssembly modules.
//
// # The ABI
//
// A guest is a core module, not a component. It owns all memory: the host never allocates in it. All numbers are i32 unless stated otherwise,
// pointers are offsets into the guest's memory, text is UTF-8.
//
// The guest exports
//
//	memory                    its one memory, its own (not imported)
//	tenon_abi() → i32         the version of the ABI: major<<16 | minor. This host supports 1.x
//	tenon_call(op, len) → i32 answers one call. len is the length of the input in bytes
//	_initialize()             optional; called once, before anything else. A start function works, too
//
// and may import from the module "tenon_v1"
//
//	input(ptr)                              copies the input of the call, len bytes, to ptr. May be called again
//	output(ptr, len)                        sets the output of the call. A second call replaces the first
//	log(level, ptr, len)                    writes a line to the host's log. Levels as in slog: -4 debug, 0 info, 4 warn, 8 error
//	host_call(op, oplen, req, reqlen) → i64 performs an operation of the host: status<<32 | length of the response
//	host_read(ptr)                          copies the response of the last host_call to ptr. May be called again
//
// and from "wasi_snapshot_preview1". A module with other imports is refused, and the error names them. An import from another tenon_v* means
// that the module uses an unknown major version.
//
// tenon_call returns
//
//	0  done; the output is the answer
//	1  failed; the output is the text of the error. The instance stays alive
//	2  done, without an answer: a hook without changes and verdict, a successful start. The output is ignored
//
// and any other number is an error. An empty output with 0 is an empty answer, the same as 2.
//
// Operations with their input and output as JSON (the numbers are defined in package sdk/guest):
//
//	0       describe       –                    → sdk.Description   for modules without a plugin.json
//	1       start          guest.StartRequest   → –                 once per instance, before hooks and tools
//	0x1000+n hook n        guest.HookRequest    → sdk.Answer        n is the position in hooks of the start request
//	0x2000+n tool n        sdk.ToolCall         → sdk.ToolResult    n is the position in tools of the start request
//	0x3000+n prepare n     sdk.ToolCall         → {"requests": […]} permissions that the call requires
//	0x4000   sign-in       guest.AuthRequest    → guest.AuthAnswer
//	0x5000   model request guest.StreamRequest  → –                 the events are sent with host_call; a failure is a guest.StreamFailure
//	0x5001   models        guest.StreamRequest  → guest.ModelList
//
// Every guest receives a start request; it may return 2. A hook answers with changes, each with a JSON pointer into the value and a new value:
// {"changes":[{"pointer":"/args/x","value":1},{"pointer":"/args/y","remove":true}]}, a gate with {"verdict":"deny","reason":"…"}.
//
// The status of host_call is guest.Status: 0 done, 1 failed (the response is the text), 2 not granted, 3 no such
// operation, 4 a limit. docs/abilities.md lists the operations.
//
// # Instances
//
// An instance runs one call at a time. Several instances of one plugin run in parallel: each session has its own, which may be dropped and
// recreated between any two calls, and concurrent calls of a session use several. With "state": "plugin" all calls go to one instance,
// one after the other, except for calls that result from a running call of the same plugin (such as the hooks of a tool that it called
// through the host).
//
// An instance is discarded after a trap, an exit, a missed deadline or a bad pointer.
//
// Without grants a guest has no files, environment, arguments or network. The time of day is fictitious; the monotonic time begins with the
// instance and advances in steps of a millisecond. Random numbers are real. Lines written to stdout and stderr are logged at level debug. Granted
// directories have the same absolute paths as on the host. They are opened below the project or $DATA, and never contain tenon's
// directories (grants.go).
//
// # Limits
//
// A module has at most 64 MiB, an instance the memory in its description (default 64 MiB; memory.grow fails beyond it) and tables of a million
// elements. An output has at most 8 MiB, a request of host_call 1 MiB, a log line 4 KiB; 200 lines a second are logged. 16 calls of a plugin
// run concurrently; 4 instances are kept for later calls, for 5 minutes (Options.IdleTimeout). Calls of plugins in WASM nest at most 8 deep.
//
// WebAssembly 2.0 with SIMD, tail calls and extended constant expressions are supported; threads, exceptions, relaxed SIMD, garbage
// collection and 64-bit memory are not.
//
// # Deadlines
//
// The native code that wazero generates cannot be interrupted; a loop even stops the garbage collector of the host. So a module is rewritten
// before it is compiled (package internal/rewrite): it counts down as it runs and calls the host every fraction of a millisecond, which
// checks the call's deadline. It also does so before each call of WASI, whose work is bounded (wasi.go). Close waits at most 5 s for calls
// that do not end.
package wasm
