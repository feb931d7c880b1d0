package source

import (
	"net/url"
	"slices"
	"strings"
)

// Location returns where the content of a reference comes from, without version or digest: the form of policies. Spellings that lead to the
// same place have the same location as far as that can be known without asking: letters of hosts, users, default ports, a suffix .git.
func (r Ref) Location() string {
	switch r.Kind {
	case Path:
		return r.URL
	case Git:
		return gitLocation(r)
	case Archive:
		if u, err := url.Parse(r.URL); err == nil {
			return u.Scheme + "://" + host(u) + u.Path
		}
	}
	r.Version, r.Commit, r.SHA256 = "", "", ""
	return strings.ToLower(r.String())
}

func gitLocation(r Ref) string {
	u, err := url.Parse(r.URL)
	if err != nil {
		return "git+" + r.URL
	}
	subdir := ""
	if r.Subdir != "" {
		subdir = "/" + r.Subdir
	}
	name := strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), ".git")
	if slices.Contains([]string{"github.com", "www.github.com", "ssh.github.com"}, hostname(u)) {
		return strings.ToLower("github:"+strings.TrimPrefix(name, "/")) + subdir
	}
	if subdir != "" {
		subdir = "/" + subdir
	}
	return "git+" + u.Scheme + "://" + host(u) + name + subdir
}

// host returns the host of an URL, with the port unless it is that of the scheme.
func host(u *url.URL) string {
	name := hostname(u)
	if port := u.Port(); port != "" && port != map[string]string{"https": "443", "http": "80", "ssh": "22"}[u.Scheme] {
		name += ":" + port
	}
	return name
}

func hostname(u *url.URL) string { return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".") }
