package source

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/internal/visible"
)

// ErrNPMRC is returned for an unusable setting of the user's npm. The error has no values of settings, which may be secrets.
var ErrNPMRC = errors.New("npm's settings")

// NPMSettings are the settings in an .npmrc by key. Keys of credentials have the form //host/path:_authToken or //host/path:_auth.
type NPMSettings map[string]npmSetting

// npmSetting is a line of an .npmrc. place is FILE:LINE: KEY.
type npmSetting struct{ value, place string }

// UserNPMRC returns a function that reads the user's .npmrc once, when it is needed: a pipe is empty the second time. named is the value of
// NPM_CONFIG_USERCONFIG. It must not lead into the project: npm gives that variable to its programs, and a project's .npmrc can set it.
func UserNPMRC(home, named, project string, environ []string) func() (NPMSettings, error) {
	return sync.OnceValues(func() (NPMSettings, error) {
		own := home + "/.npmrc" // without a home directory, not relative either
		file := projectfs.FromHome(home, cmp.Or(named, own))
		real := projectfs.Real(project)
		switch {
		case named != "" && !filepath.IsAbs(file):
			return nil, fmt.Errorf("NPM_CONFIG_USERCONFIG: %s is not an absolute path", visible.Clean(file, 200))
		case filepath.Clean(file) != filepath.Clean(own) && projectfs.Within(real, projectfs.Real(file)) && !projectfs.Within(real, projectfs.Real(home)):
			return nil, fmt.Errorf("NPM_CONFIG_USERCONFIG: %s is in the project", visible.Clean(file, 200))
		}
		text, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) { // HOME=/dev/null
			return nil, err
		}
		return readNPMRC(file, string(text), environ), nil
	})
}

var (
	// npmrcLine matches KEY = VALUE, each with or without quotes, up to a comment.
	npmrcLine = lazyregexp.New(`^[\s\x{feff}]*(?:"([^"=]*)"|'([^'=]*)'|([^=;#]*?))\s*=\s*(?:"([^"]*)"|'([^']*)'|([^;#]*))`)
	// npmrcVariable matches ${NAME}. With ?, a missing variable is empty; without, the text stays.
	npmrcVariable = lazyregexp.New(`\$\{[^${}?]+\??\}`)
)

// readNPMRC returns the settings in the text of a file.
func readNPMRC(file, text string, environ []string) NPMSettings {
	out := NPMSettings{}
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
			name := expand(key)
			if u, err := url.Parse("https:" + name); err == nil && strings.HasPrefix(name, "//") {
				name = "//" + host(u) + u.Path
			}
			name = strings.Replace(name, "/:_auth", ":_auth", 1)
			out[name] = npmSetting{expand(m[4] + m[5] + m[6]), fmt.Sprintf("%s:%d: %s", file, i+1, key)}
		}
	}
	return out
}
