package manifest

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/sdk"
)

// hookFile finds the command hooks of a package: hooks/hooks.json in the directory of our extension, or where other tools have it. Its
// content is checked by the command hooks; here it only has to be JSON.
func (r *reader) hookFile() {
	for _, dir := range []string{sdk.ExtensionNamespace, "hooks"} {
		rel := strings.TrimPrefix(dir+"/hooks/hooks.json", "hooks/")
		if !r.folder.has(dir) {
			continue
		}
		path := filepath.Join(r.folder.root, filepath.FromSlash(rel))
		data, err := r.folder.read(rel, checked.MaxBytes)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		rep := newReport(path)
		switch {
		case err != nil:
			r.warn(path, "", "", "no command hooks are loaded: %v", err)
		case rep.src.Parse(data, &rep.Report) == nil:
			r.warnAll(rep, "no command hooks are loaded: ")
		case r.p.HookFile != "":
			r.warn(path, "", "keep one of the two files", "is not read: %s is", r.p.HookFile)
		default:
			r.p.HookFile = path
		}
	}
}
