// Package conformance tests that a plugin behaves the same over every carrier, and what plugins that misbehave cost. The suite's
// plugin is the type Plugin, in separate test files. The folders hold it in other languages. As a process, an MCP server or a command, it is the test
// program, which starts itself again (TestMain); as a WASM module, only its own files are compiled.
//
// Each case of the suite runs twice: over the carrier, and in this process for comparison. The resulting value, the verdict, the notices
// for the user and the ledger must be equal. Ledgers are compared as JSON without durations. If a handler does not return (a panic, a crash,
// a loop), the text of its error may differ; its outcome may not. The fields of Carrier list further exceptions.
package conformance
