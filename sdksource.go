// Package tenon holds the source of the sdk, which "tenon plugin new" writes beside a new plugin: it builds then without a
// network, and against exactly the contract of the tenon that runs it.
package tenon

import "embed"

// SDKSource is the source of the packages of sdk that need no library, of those of internal that they import, and of the libraries for
// other languages.
//
//go:embed internal/hookpoint/*.go internal/jsontext/*.go internal/jsonpointer/*.go internal/value/*.go internal/jsonline/*.go sdk/*.go sdk/guest/*.go sdk/sdktest/*.go sdk/wasm/*.go sdk/lines/*.go
//go:embed sdk/node/tenon.mjs sdk/node/tenon.d.mts sdk/python/tenon.py sdk/rust/tenon.rs
var SDKSource embed.FS
