package source

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/lazyregexp"
)

// ErrNPMRC is returned for an unusable setting of the user's npm. The error has no values of settings, which may be secrets.
var ErrNPMRC = errors.New("npm's settings")

// npmSetting is a line of an .npmrc. place is LINE: KEY.
type npmSetting struct{ value, place string }

var (
	// npmrcLine matches KEY = VALUE, each with or without quotes, up to a comment.
	npmrcLine = lazyregexp.New(`^[\s\x{feff}]*(?:"([^"=]*)"|'([^'=]*)'|([^=;#]*?))\s*=\s*(?:"([^"]*)"|'([^']*)'|([^;#]*))`)
	// npmrcVariable matches ${NAME}. With ?, a missing variable is empty; without, the text stays.
	npmrcVariable = lazyregexp.New(`\$\{[^${}?]+\??\}`)
)

// readNPMRC returns the settings in an .npmrc by key. Keys of tokens have the form //host/path:_authToken.
func readNPMRC(text string, environ []string) map[string]npmSetting {
	out := map[string]npmSetting{}
	expand := func(text string) string {
		return npmrcVariable().ReplaceAllStringFunc(strings.TrimSpace(text), func(variable string) string {
			value, ok := child.Lookup(environ, strings.Trim(variable, "${?}"))
			if !ok && !strings.HasSuffix(variable, "?}") {
				return variable
			}
			return value
		})
	}
	for i, line := range strings.Split(text, "\n") {
		if m := npmrcLine().FindStringSubmatch(line); m != nil {
			key := m[1] + m[2] + m[3]
			name := strings.Replace(expand(key), "/:_authToken", ":_authToken", 1)
			out[name] = npmSetting{expand(m[4] + m[5] + m[6]), fmt.Sprintf("%d: %s", i+1, key)}
		}
	}
	return out
}
