// Package value works with the JSON of Go values: it decodes and encodes it, keeps fields that a type does not declare, and copies, compares, changes and
// restricts values by JSON pointers. Package sdk declares the types (Register) and uses this package for their JSON. The hook engine and the carriers
// use the rest.
//
//	plan      the description of a type: its fields, and the members of its unions (contract.go)
//	decode    JSON → a value, in one pass; encoding/json decodes types without a plan
//	encode    a value → its JSON, all of it or what Select selects
//	extra     the fields that a type does not declare
//	Diff      two values → changes        Apply   changes → a value
//	Restrict  changes → those under declared fields
//	Select    a value → the JSON of declared fields        Lookup  a value → the JSON at a pointer
//
// It imports the standard library only: it is part of every plugin.
package value
