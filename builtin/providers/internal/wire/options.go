package wire

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"time"

	"github.com/tenonhq/tenon/sdk"
)

// Options reads a provider's options and keeps the first error. An option of the wrong type is an error. An unknown one is only
// logged: configurations written for other hosts contain options that tenon does not use.
type Options struct {
	provider string
	options  sdk.Object
	seen     map[string]bool
	err      error
}

// NewOptions returns a reader of the provider's options.
func NewOptions(info *sdk.ProviderInfo) *Options {
	return &Options{provider: info.ID, options: info.Options, seen: map[string]bool{}}
}

// OptionKind describes how an option's value is read: parse returns false if the value does not match the
// description want.
type OptionKind[T any] struct {
	want  string
	parse func(any) (T, bool)
}

// Kinds of options.
var (
	Bool   = OptionKind[bool]{"true or false", is[bool]}
	String = OptionKind[string]{"a text", is[string]}
	// Label is a name that becomes part of a host name, such as a region: without a dot, slash or @ it cannot name another host.
	Label = OptionKind[string]{"a-z, 0-9 and - only", func(v any) (string, bool) { return label(v, "-abcdefghijklmnopqrstuvwxyz0123456789") }}
	// AnyCaseLabel is Label with upper case letters.
	AnyCaseLabel = OptionKind[string]{"letters, digits and - only", func(v any) (string, bool) {
		return label(v, "-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
	}}
	// Duration is a number of milliseconds. Zero, false and durations too long for a time.Duration mean no limit, which is 0.
	Duration = OptionKind[time.Duration]{"milliseconds or false", duration}
)

func is[T any](v any) (T, bool) { t, ok := v.(T); return t, ok }

func label(v any, allowed string) (string, bool) {
	s, ok := v.(string)
	return s, ok && strings.Trim(s, allowed) == ""
}

// Read sets into if the option is present and not null.
func Read[T any](r *Options, name string, kind OptionKind[T], into *T) {
	r.seen[name] = true
	v := r.options[name]
	if v == nil {
		return
	}
	value, ok := kind.parse(v)
	if ok {
		*into = value
	} else if r.err == nil {
		r.err = fmt.Errorf("options.%s is %v, want %s", name, v, kind.want)
	}
}

// Err returns the first error of the options that were read.
func (r *Options) Err() error { return r.err }

// KeyRequired returns the error for a provider with KeyOnly, but no key, that would use credentials of this machine.
func KeyRequired(credentials string) error {
	return fmt.Errorf("a file of the project chose its address, so your %s are not used there; put the provider into your own configuration", credentials)
}

// timeouts are the time limits of an exchange; 0 means no limit.
type timeouts struct {
	header time.Duration // until the response's headers
	idle   time.Duration // between two pieces of the answer
}

func (r *Options) timeouts() timeouts {
	t := timeouts{sdk.DefaultIdleTimeout, sdk.DefaultIdleTimeout}
	Read(r, "timeout", Duration, &t.header)
	Read(r, "timeout", Duration, &t.idle)
	Read(r, "headerTimeout", Duration, &t.header)
	Read(r, "chunkTimeout", Duration, &t.idle)
	return t
}

// close logs the options that were not read and returns the first error.
func (r *Options) close(log *slog.Logger) error {
	for _, name := range []string{
		"apiKey", "baseURL", "headers", "answerTimeout", "totalTimeout", "clientId", // read by the host and by sign-ins
		"setCacheKey", "region", "profile", "endpoint", "resourceName", "apiVersion", "project", "location", // for other models or formats
	} {
		r.seen[name] = true
	}
	for name := range r.options {
		if !r.seen[name] {
			log.Warn("unknown provider option", "provider", r.provider, "option", name)
		}
	}
	return r.err
}

func duration(v any) (time.Duration, bool) {
	if v == false {
		return 0, true
	}
	ms, ok := NumberOf(v)
	if ms >= float64(math.MaxInt64)/float64(time.Millisecond) {
		ms = 0
	}
	return time.Duration(ms * float64(time.Millisecond)), ok && ms >= 0
}

// NumberOf reads the number types of a decoded or a hand-made Object.
func NumberOf(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	}
	return 0, false
}
