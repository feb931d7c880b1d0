// Package model knows the providers and models of a generation and asks them.
//
//	configuration + catalogs of plugins (configure.go) ─► Models (models.go) ─► Model, which can be asked
//	the model of a session that names none: choose.go; of titles: small.go; the models of an account: account.go; stored sign-ins: signin.go
//	who may receive a conversation: receivers.go
//	Model.Stream (limits.go): one request, its answer bounded in size and time ─► failure.go, retry.go: what an error means; cost.go: its price
//	for users: list.go lists, check.go finds wrong settings, testrequest.go tests credentials
package model
