// Package process runs plugins as separate processes. The contract is sdk/process/tenonv1, over gRPC as set up by go-plugin, or over JSON
// lines; docs/process-protocol.md explains it to plugin authors.
//
//	Plugin ──► supervisor ──► instance ──► program ──► the executable that was approved
//	 hooks,     starts at      calls,       process group, handshake,
//	 tools,     the first      hooks,       output, exit status
//	 models     call, again    requests to
//	            after a crash  the host
//
// A process starts at its first call, so an unused plugin costs nothing. If it ends unexpectedly, its running calls fail immediately and
// are not repeated. The next call restarts it, with growing delays and a limit.
//
// This package starts and stops the process (go-plugin waits for it without a limit), manages its process group, checks the handshake line
// and logs its output. go-plugin attaches to a process that speaks gRPC, as to one that it did not start, and handles the connection. The
// plugin calls the host over a stream of the same connection.
//
// On Linux the process is confined to its grants; elsewhere it has all rights of the user. It does not inherit the host's environment.
package process
