package hookpoint

import (
	"cmp"
	"fmt"
	"time"

	"github.com/tenonhq/tenon/sdk"
)

// Hook makes the hook described by d, to be run by h. Errors wrap sdk.ErrManifest and name the field; where says what comes before the
// field's name, such as "hooks[2]".
func Hook(d *sdk.HookDescription, where string, h sdk.RemoteHandler) (sdk.Hook, error) {
	info, ok := Of(d.Point)
	if !ok {
		return sdk.Hook{}, fmt.Errorf("%w: %s.point: unknown hook point %q", sdk.ErrManifest, where, d.Point)
	}
	switch d.OnError {
	case sdk.OnErrorDefault, sdk.OnErrorSkip, sdk.OnErrorDeny, sdk.OnErrorStop:
	default:
		return sdk.Hook{}, fmt.Errorf("%w: %s.onError: unknown policy %q; want skip, deny or stop", sdk.ErrManifest, where, d.OnError)
	}
	timeout := time.Duration(d.TimeoutMS) * time.Millisecond
	if d.TimeoutMS < 0 || timeout > sdk.MaxHookTimeout {
		return sdk.Hook{}, fmt.Errorf("%w: %s.timeout: %d; want 0 to %d milliseconds", sdk.ErrManifest, where, d.TimeoutMS, sdk.MaxHookTimeout.Milliseconds())
	}
	name := cmp.Or(d.Name, string(info.Point))
	return sdk.Hook{
		Point: info.Point, Name: name, Reads: d.Reads, Writes: d.Writes, Priority: d.Priority,
		Before: d.Before, After: d.After, OnError: d.OnError, Timeout: timeout, Remote: h,
	}, nil
}

// Describe returns the description of a hook.
func Describe(h *sdk.Hook) sdk.HookDescription {
	return sdk.HookDescription{
		Point: string(h.Point), Name: h.Name, Reads: h.Reads, Writes: h.Writes, Priority: h.Priority,
		Before: h.Before, After: h.After, OnError: h.OnError, TimeoutMS: h.Timeout.Milliseconds(),
	}
}
