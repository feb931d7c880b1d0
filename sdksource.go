// Package tenon embeds the source of the sdk. "tenon plugin new" writes it next to a new plugin, which then builds without a
// network and against the contract of this tenon.
package tenon

import "embed"

// SDKSource is the source of the packages of sdk that need no library, of those of internal that they import, and of the libraries for
// other languages.
//
//go:embed internal/hookpoint/*.go internal/jsontext/*.go internal/jsonpointer/*.go internal/value/*.go internal/jsonline/*.go sdk/*.go sdk/guest/*.go sdk/sdktest/*.go sdk/wasm/*.go sdk/lines/*.go
//go:embed sdk/node/tenon.mjs sdk/node/tenon.d.mts sdk/node/opencode.mjs sdk/python/tenon.py sdk/rust/tenon.rs
var SDKSource embed.FS
