// Package perf has benchmarks of whole tenon processes with a scripted model server on loopback. docs/performance.md explains the figures and
// states the goals.
//
//	go test -run '^$' -bench . ./internal/perf                                     # builds tenon and measures it
//	go test -run '^$' -bench Screens -benchtime 5x -timeout 30m ./internal/perf    # the terminal UI, next to those of other agents in PATH
package perf
