// Package wasm runs plugins that are WebAssembly modules.
//
// # The ABI
//
// A guest is a core module (no component). It owns all memory: the host never allocates in it, it asks for bytes and offers bytes.
// All numbers are i32 unless stated otherwise, pointers are offsets into the guest's memory, text is UTF-8.
//
// The guest exports
//
//	memory                    its one memory, its own (not imported)
//	tenon_abi() → i32         the version of the ABI it speaks: major<<16 | minor. This host speaks 1.x
//	tenon_call(op, len) → i32 answers one call. len is the length of the input in bytes
//	_initialize()             optional; called once, before anything else. A start function works, too
//
// and imports from the module "tenon_v1" whatever it needs of
//
//	input(ptr)                              copies the input of the call, len bytes, to ptr. As often as it likes
//	output(ptr, len)                        sets the output of the call. A second call replaces the first
//	log(level, ptr, len)                    writes a line to the host's log. Levels as in slog: -4 debug, 0 info, 4 warn, 8 error
//	host_call(op, oplen, req, reqlen) → i64 asks the host for the operation named: status<<32 | length of the response
//	host_read(ptr)                          copies the response of the last host_call to ptr. As often as it likes
//
// and, if it likes, from "wasi_snapshot_preview1". Any other import refuses the module and is named in the error. An import from
// another tenon_v* says that the module speaks a major version this host does not know.
//
// tenon_call returns
//
//	0  done; the output is the answer
//	1  failed; the output is the text of the error. The instance stays alive
//	2  done, without an answer: a hook without changes and verdict, a successful start. The output is ignored
//
// and any other number is an error. An empty output with 0 is an empty answer, the same as 2.
//
// Operations and the JSON they take and give (the numbers are those of package sdk/guest):
//
//	0       describe       –                    → sdk.Description   asked of a module that has no plugin.json
//	1       start          guest.StartRequest   → –                 once per instance, before hooks and tools
//	0x1000+n hook n        guest.HookRequest    → sdk.Answer        n is the position in hooks of the start request
//	0x2000+n tool n        sdk.ToolCall         → sdk.ToolResult    n is the position in tools of the start request
//	0x3000+n prepare n     sdk.ToolCall         → {"requests": […]} permissions that the call requires
//
// A start request is sent to every guest; one that has no use for it returns 2. A hook answers with changes, each a JSON pointer into
// the value and what to put there: {"changes":[{"pointer":"/args/x","value":1},{"pointer":"/args/y","remove":true}]}, a gate with
// {"verdict":"deny","reason":"…"}.
//
// The status of host_call is guest.Status: 0 done, 1 failed (the response is the text), 2 not granted, 3 no such
// operation, 4 a limit. docs/abilities.md lists the operations.
//
// # What an instance may rely on
//
// One call at a time. Several instances of one plugin run in parallel: each session has its own, which may be dropped and recreated
// between any two calls, and calls that come at the same time get several. With "state": "plugin" all calls go to one instance, one
// after the other. Only a call made on behalf of a call of the same plugin that still runs (a tool it called through the host, the
// hooks of that) gets another one.
//
// An instance is thrown away after a trap, an exit, a missed deadline or a bad pointer handed to the host.
//
// Without grants a guest has no files, environment, arguments or network. The time of day is fictitious; the monotonic time
// is what passed since the instance was made, in steps of a millisecond. Randomness is real. Text written to stdout and stderr
// goes to the log, by lines. Granted directories have the same absolute paths as on the host. They are opened below the project or
// $DATA, and never contain tenon's own (grants.go).
//
// # Limits
//
// A module has at most 64 MiB, an instance the memory of its description (64 MiB, pages beyond are refused to memory.grow) and tables
// of a million elements. An output has at most 8 MiB, a request of host_call 1 MiB, a line of the log 4 KiB; 200
// lines a second are written. 16 calls of a plugin run at the same time, 4 instances are kept for later calls, for 5 minutes
// (Options.IdleTimeout). Calls that lead back to plugins in WASM are followed 8 deep.
//
// WebAssembly 2.0 with SIMD is understood, tail calls and extended constant expressions; threads, exceptions, relaxed SIMD, garbage
// collection and 64-bit memory are not.
//
// # Deadlines
//
// Native code that wazero makes of a module cannot be interrupted, and while it loops it even stops the garbage collector of the
// host. So a module is rewritten before it is compiled (package internal/rewrite): it counts down as it runs and comes back to the
// host every fraction of a millisecond, where the call's deadline is looked at. Before each call of WASI it does so, too, and what one
// of these calls works through is bounded (wasi.go). Close waits at most 5 s for calls that do not end.
package wasm
