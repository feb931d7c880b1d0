// Package tenonv1 is the contract between tenon and a plugin that runs as a process, as code made from plugin.proto. Plugins in Go
// do not need it: package process speaks it for them.
package tenonv1

//go:generate protoc -I . --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative plugin.proto
