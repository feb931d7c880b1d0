package edit

import (
	"path/filepath"
	"strings"

	"github.com/tenonhq/tenon/host/input"
	"github.com/tenonhq/tenon/internal/lazyregexp"
)

var imageName = lazyregexp.New(`(?i)\.(?:png|jpe?g|gif|webp)$`)

// IsImage reports whether the name of a file is that of an image.
func IsImage(path string) bool { return imageName().MatchString(path) }

// betweenImages matches the space between two paths of images.
var betweenImages = lazyregexp.New(`(?i)(\.(?:png|jpe?g|gif|webp)['"]?)\s+(['"]?(?:/|file://))`)

// ImagePaths returns the paths of images if the pasted text contains nothing else. Terminals paste the paths of dropped files quoted, escaped or as
// URLs.
func ImagePaths(text string) []string {
	var out []string
	for _, path := range strings.Split(betweenImages().ReplaceAllString(strings.TrimSpace(text), "$1\n$2"), "\n") {
		path = strings.ReplaceAll(strings.Trim(path, `'"`), `\ `, " ")
		if strings.HasPrefix(path, "file://") {
			path, _ = input.FilePath(path) // empty: an address of another machine
		}
		if !filepath.IsAbs(path) || !IsImage(path) {
			return nil
		}
		out = append(out, path)
	}
	return out
}
