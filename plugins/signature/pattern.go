package signature

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/plugins/source"
)

// pattern matches locations of sources. "*" is for any characters; a pattern also matches everything below what it names.
type pattern struct {
	text string
	*regexp.Regexp
}

func patterns(texts []string) ([]pattern, error) {
	var out []pattern
	for _, text := range texts {
		if strings.TrimSpace(text) == "" {
			return nil, errors.New("a pattern must not be empty")
		}
		if _, address, ok := strings.Cut(text, "://"); ok {
			host, _, _ := strings.Cut(address, "/")
			if strings.ContainsFunc(host, func(r rune) bool { return r > unicode.MaxASCII }) {
				return nil, fmt.Errorf("%q matches nothing: addresses have hosts in ASCII; write it as xn--…", text)
			}
		}
		form := strings.TrimSuffix(filepath.ToSlash(text), "/")
		other := form
		if name, ok := strings.CutPrefix(strings.ToLower(form), "oci://"); ok {
			form = "oci://" + source.OCILocation(name)
			other = form
			if hub, rest, ok := strings.Cut(form, "docker.io/"); ok && hub == "oci://" && !strings.Contains(rest, "/") {
				other = "oci://docker.io/library/" + rest // an owner, or an official repository
			}
		}
		flags := "(?i)" // hosts, packages, GitHub and Windows do not distinguish letters
		if filepath.IsAbs(text) {
			other = realPath(form)
			if runtime.GOOS != "windows" {
				flags = ""
			}
		}
		re, err := regexp.Compile(flags + "^(?:" + expression(form) + "|" + expression(other) + ")(?:/.*)?$")
		if err != nil {
			return nil, err
		}
		out = append(out, pattern{text, re})
	}
	return out, nil
}

// realPath follows the links in a pattern for paths, up to the first wildcard.
func realPath(form string) string {
	fixed, _, wild := strings.Cut(form, "*")
	if wild {
		fixed = fixed[:strings.LastIndexByte(fixed, '/')]
	}
	return strings.TrimSuffix(filepath.ToSlash(projectfs.Real(fixed+"/")), "/") + form[len(fixed):]
}

// expression returns the regular expression of a text with "*" for any characters.
func expression(text string) string {
	return "(?s:" + strings.ReplaceAll(regexp.QuoteMeta(text), `\*`, ".*") + ")"
}

// forms returns the texts that deny and signers match: a path as the user wrote it and where it leads, or the location of another source.
func forms(r source.Ref) []string {
	if r.Kind == source.Path {
		return []string{filepath.ToSlash(r.URL), r.Location()}
	}
	return []string{r.Location()}
}

// match returns the first pattern that matches one of the forms; nil without one.
func match(list []pattern, forms ...string) *pattern {
	for i := range list {
		if slices.ContainsFunc(forms, list[i].MatchString) {
			return &list[i]
		}
	}
	return nil
}
