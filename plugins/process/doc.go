// Package process runs plugins as separate processes. The contract is sdk/process/tenonv1, spoken over gRPC the way go-plugin
// sets it up; docs/process-protocol.md explains it to plugin authors.
//
//	Plugin ──► supervisor ──► process ──► runner ──► the executable that was approved
//	 hooks,     starts at      hooks,      process group, handshake,
//	 tools,     the first      abilities   output, how it ended
//	 models     call, again
//	            after a crash
//
// A process starts at its first call, so an unused plugin costs nothing. If it ends unexpectedly, its running calls fail immediately and
// are not repeated. The next call restarts it, with growing delays and a limit.
//
// go-plugin does the handshake's certificates and the connection. The rest is done here: starting and stopping (its
// own waits for the process without end), the process group, the parts of the handshake line, and what the process prints. Its
// broker is not used: it allows five seconds to connect, so that every start would pay for a second TLS handshake, and every other
// language would have to rebuild it. The plugin reaches the host over a stream of the one connection instead.
//
// On Linux the process is confined to its grants; elsewhere it can do what its user can do. It receives neither the host's environment
// nor its abilities.
package process
