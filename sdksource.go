// Package tenon holds the source of the sdk, which "tenon plugin new" writes beside a new plugin: it builds then without a
// network, and against exactly the contract of the tenon that runs it.
package tenon

import "embed"

// SDKSource is the source tree of package sdk, the packages below it and those of internal that they import, with this module's go.mod and go.sum.
//
//go:embed go.mod go.sum internal/hookpoint/*.go internal/jsontext/*.go internal/value/*.go sdk/*.go sdk/guest/*.go sdk/sdktest/*.go sdk/wasm/*.go sdk/process/*.go sdk/process/tenonv1/*.go
var SDKSource embed.FS
