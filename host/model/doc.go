// Package model knows the providers and models of a generation and asks them.
//
//	configuration + catalogs of plugins ─► Models (models.go, configure.go) ─► Model, which can be asked
//	who may receive a conversation: receivers.go
//	Model.Stream (limits.go): one request, its answer bounded in size and time ─► failure.go, retry.go: what an error means
package model
