// Package conformance tests that a plugin behaves the same over every carrier, and what plugins that misbehave cost. The suite's plugin is
// the type Plugin, in separate test files; the folders hold it in other languages. To run it as a process, an MCP server or a command, the
// test program starts itself again (TestMain). For a WASM module, only the plugin's own files are compiled.
//
// Each case of the suite runs twice: over the carrier, and in this process for comparison. The resulting value, the verdict, the notices
// for the user and the ledger must be equal. Ledgers are compared as JSON without durations. If a handler does not return (a panic, a crash,
// a loop), the text of its error may differ; its outcome may not. The fields of Carrier list further exceptions.
package conformance
