package openai

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/tenonhq/tenon/sdk"
)

// settings are a provider's options, checked.
type settings struct {
	headerTimeout time.Duration // until the response's headers; 0: none
	idleTimeout   time.Duration // between two pieces of the answer; 0: none
	cacheKey      bool          // send the session as prompt_cache_key
	includeUsage  bool          // ask for the usage of a stream
	// reasoningField is the field that takes the model's earlier reasoning: "auto", "none", or a name.
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

// newSettings reads the options of a provider. An option of the wrong type is an error, an unknown one
// is logged: configurations written for other hosts carry options that mean nothing here.
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
	read := optionReader{provider: info.ID, options: info.Options, seen: map[string]bool{}}
	read.duration("timeout", &s.headerTimeout)
	read.duration("timeout", &s.idleTimeout)
	read.duration("headerTimeout", &s.headerTimeout)
	read.duration("chunkTimeout", &s.idleTimeout)
	read.boolean("setCacheKey", &s.cacheKey)
	read.boolean("includeUsage", &s.includeUsage)
	read.text("reasoningField", &s.reasoningField)
	read.integer("callIDLength", &s.callIDLength)
	for option, header := range map[string]string{"organization": "OpenAI-Organization", "project": "OpenAI-Project"} {
		value := ""
		if read.text(option, &value); value != "" {
			s.headers[header] = value
		}
	}
	for name, value := range info.Headers {
		s.headers[name] = value
	}
	for _, name := range []string{"apiKey", "baseURL", "headers", "answerTimeout", "totalTimeout"} { // the host's
		read.seen[name] = true
	}
	for name := range info.Options {
		if !read.seen[name] {
			log.Warn("unknown provider option", "provider", info.ID, "option", name)
		}
	}
	return s, read.err
}

// optionReader reads options by name and keeps the first error.
type optionReader struct {
	provider string
	options  sdk.Object
	seen     map[string]bool
	err      error
}

func (r *optionReader) value(name string) (any, bool) {
	r.seen[name] = true
	v, ok := r.options[name]
	return v, ok && v != nil
}

func (r *optionReader) wrong(name, want string, have any) {
	if r.err == nil {
		r.err = fmt.Errorf("provider %s: options.%s is %v, want %s", r.provider, name, have, want)
	}
}

// duration reads milliseconds; false and 0 are none.
func (r *optionReader) duration(name string, d *time.Duration) {
	v, ok := r.value(name)
	if !ok {
		return
	}
	if v == false {
		*d = 0
		return
	}
	ms, ok := number(v)
	if !ok || ms < 0 {
		r.wrong(name, "milliseconds or false", v)
		return
	}
	// A timeout too long for a Duration is as good as none.
	const most = float64(1<<63-1) / float64(time.Millisecond)
	if ms >= most {
		ms = 0
	}
	*d = time.Duration(ms * float64(time.Millisecond))
}

func (r *optionReader) boolean(name string, b *bool) {
	v, ok := r.value(name)
	if !ok {
		return
	}
	value, ok := v.(bool)
	if !ok {
		r.wrong(name, "true or false", v)
		return
	}
	*b = value
}

func (r *optionReader) text(name string, s *string) {
	v, ok := r.value(name)
	if !ok {
		return
	}
	value, ok := v.(string)
	if !ok {
		r.wrong(name, "a text", v)
		return
	}
	*s = value
}

func (r *optionReader) integer(name string, n *int) {
	v, ok := r.value(name)
	if !ok {
		return
	}
	value, ok := number(v)
	if !ok || value < 0 || value > 256 {
		r.wrong(name, "a number from 0 to 256", v)
		return
	}
	*n = int(value)
}

// number reads the forms numbers have in a decoded or a hand-made Object.
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
