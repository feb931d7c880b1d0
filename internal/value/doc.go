// Package value works with the JSON of Go values: it decodes and encodes it, keeps fields that a type does not declare, and copies,
// compares, changes and restricts values by JSON pointers. Package sdk declares the types (Register) and uses it for their JSON. The
// engine of the hooks and the carriers use the rest.
//
//	plan      how to walk a type: its fields, and what is known of its members (contract.go)
//	decode    one pass over ordinary JSON; everything else is left to encoding/json
//	extra     the fields that a type does not declare
//	memory    compares and copies values by address; used by Clone and Diff
//	Diff      two values → changes        Apply   changes → a value
//	Restrict  changes → those under declared fields
//	Select    a value → the JSON of declared fields        Lookup  a value → the JSON at a pointer
//
// It imports the standard library only: it is part of every plugin.
package value
