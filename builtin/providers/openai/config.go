package openai

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/url"
	"strings"
	"time"

	"github.com/tenonhq/tenon/sdk"
)

// settings are a provider's validated options.
type settings struct {
	headerTimeout time.Duration // until the response's headers; 0: no limit
	idleTimeout   time.Duration // between two pieces of the answer; 0: no limit
	cacheKey      bool          // send the session as prompt_cache_key
	includeUsage  bool          // request the usage of a stream
	// reasoningField is the field for the model's earlier reasoning: "auto", "none", or a name.
	reasoningField string
	callIDLength   int // tool call IDs must have this length and be alphanumeric; 0: any
	openAI         bool
	headers        map[string]string
}

// Values of the option reasoningField.
const (
	reasoningAuto = "auto"
	reasoningNone = "none"
)

// newSettings reads the options of a provider. An option of the wrong type is an error. An unknown one is only logged:
// configurations written for other hosts contain options that tenon does not use.
func newSettings(info sdk.ProviderInfo, base *url.URL, log *slog.Logger) (settings, error) {
	s := settings{
		headerTimeout:  sdk.DefaultIdleTimeout,
		idleTimeout:    sdk.DefaultIdleTimeout,
		includeUsage:   true,
		reasoningField: reasoningAuto,
		openAI:         base.Hostname() == "api.openai.com" || strings.HasSuffix(base.Hostname(), ".openai.azure.com"),
		headers:        map[string]string{},
	}
	s.cacheKey = s.openAI
	r := &optionReader{provider: info.ID, options: info.Options, seen: map[string]bool{}}
	for _, into := range []*time.Duration{&s.headerTimeout, &s.idleTimeout} {
		read(r, "timeout", durationOption, into)
	}
	read(r, "headerTimeout", durationOption, &s.headerTimeout)
	read(r, "chunkTimeout", durationOption, &s.idleTimeout)
	read(r, "setCacheKey", boolOption, &s.cacheKey)
	read(r, "includeUsage", boolOption, &s.includeUsage)
	read(r, "reasoningField", textOption, &s.reasoningField)
	read(r, "callIDLength", lengthOption, &s.callIDLength)
	for option, header := range map[string]string{"organization": "OpenAI-Organization", "project": "OpenAI-Project"} {
		value := ""
		if read(r, option, textOption, &value); value != "" {
			s.headers[header] = value
		}
	}
	maps.Copy(s.headers, info.Headers)
	for _, name := range []string{"apiKey", "baseURL", "headers", "answerTimeout", "totalTimeout"} { // read by the host
		r.seen[name] = true
	}
	for name := range info.Options {
		if !r.seen[name] {
			log.Warn("unknown provider option", "provider", info.ID, "option", name)
		}
	}
	return s, r.err
}

// optionReader reads a provider's options and keeps the first error.
type optionReader struct {
	provider string
	options  sdk.Object
	seen     map[string]bool
	err      error
}

// optionKind says how an option's value is read: parse returns false if the value is not as want describes.
type optionKind[T any] struct {
	want  string
	parse func(any) (T, bool)
}

var (
	boolOption     = optionKind[bool]{"true or false", func(v any) (bool, bool) { b, ok := v.(bool); return b, ok }}
	textOption     = optionKind[string]{"a text", func(v any) (string, bool) { s, ok := v.(string); return s, ok }}
	durationOption = optionKind[time.Duration]{"milliseconds or false", duration}
	lengthOption   = optionKind[int]{"a number from 0 to 256", func(v any) (int, bool) {
		n, ok := number(v)
		return int(n), ok && n >= 0 && n <= 256
	}}
)

// read sets into if the option is present and not null.
func read[T any](r *optionReader, name string, kind optionKind[T], into *T) {
	r.seen[name] = true
	v := r.options[name]
	if v == nil {
		return
	}
	value, ok := kind.parse(v)
	if ok {
		*into = value
	} else if r.err == nil {
		r.err = fmt.Errorf("provider %s: options.%s is %v, want %s", r.provider, name, v, kind.want)
	}
}

// duration reads milliseconds. Zero, false and durations too long for a time.Duration mean no limit, which is 0.
func duration(v any) (time.Duration, bool) {
	if v == false {
		return 0, true
	}
	ms, ok := number(v)
	if ms >= float64(math.MaxInt64)/float64(time.Millisecond) {
		ms = 0
	}
	return time.Duration(ms * float64(time.Millisecond)), ok && ms >= 0
}

// number reads the number types of a decoded or a hand-made Object.
func number(v any) (float64, bool) {
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
