// Package value works with the JSON of Go values: it decodes and encodes it, keeps fields that a type does not declare, and copies, compares, changes and
// restricts values by JSON pointers. Package sdk declares the types (Register) and uses this package for their JSON. The hook engine and the carriers
// use the rest.
//
//	plan      the description of a type: its fields, and the members of its unions (contract.go)
//	decode    one pass over ordinary JSON; encoding/json decodes everything else
//	extra     the fields that a type does not declare
//	memory    compares and copies values by address; used by Clone and Diff
//	Diff      two values → changes        Apply   changes → a value
//	Restrict  changes → those under declared fields
//	Select    a value → the JSON of declared fields        Lookup  a value → the JSON at a pointer
//
// It imports the standard library only: it is part of every plugin.
package value
