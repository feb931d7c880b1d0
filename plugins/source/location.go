package source

import (
	"net/netip"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/projectfs"
)

// Location returns the source of a reference's content, without version or digest, in the form that policies use. Spellings of the same
// source have the same location, as far as this can be known without a request: case of hosts, users, default ports, a suffix .git, links.
func (r Ref) Location() string {
	switch r.Kind {
	case Path:
		return filepath.ToSlash(projectfs.Real(r.URL))
	case Git:
		return gitLocation(r)
	case Archive:
		if u, err := url.Parse(r.URL); err == nil {
			clean := path.Clean("/" + u.Path) // servers commonly read // as /
			if clean != "/" && strings.HasSuffix(u.Path, "/") {
				clean += "/" // a pattern may name everything below a path
			}
			return u.Scheme + "://" + host(u) + clean
		}
	case OCI:
		return "oci://" + OCILocation(r.URL)
	}
	r.Version, r.Commit, r.SHA256 = "", "", ""
	return strings.ToLower(r.String())
}

// hub is Docker Hub in references.
const hub = "docker.io"

// OCILocation returns the form of location for registry/repository, which may be a pattern of a policy. All names of Docker Hub count as
// one, see https://github.com/distribution/reference/blob/main/normalize.go and the Host of references in oras-go.
func OCILocation(name string) string {
	u, err := url.Parse("https://" + strings.ToLower(name))
	if err != nil {
		return name
	}
	registry := host(u)
	if registry == "registry-1.docker.io" || registry == "index.docker.io" {
		registry = hub
	}
	return registry + u.Path
}

func gitLocation(r Ref) string {
	u, err := url.Parse(r.URL)
	if err != nil {
		return "git+" + r.URL
	}
	name := strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), ".git")
	location, separator := "git+"+u.Scheme+"://"+host(u)+name, "//"
	if slices.Contains([]string{"github.com", "www.github.com", "ssh.github.com"}, hostname(u)) {
		location, separator = strings.ToLower("github:"+strings.TrimPrefix(name, "/")), "/"
	}
	if r.Subdir != "" {
		location += separator + r.Subdir
	}
	return location
}

// host returns the host of an URL, with the port unless it is the default port of the scheme.
func host(u *url.URL) string {
	name := hostname(u)
	if port := strings.TrimLeft(u.Port(), "0"); port != "" && port != map[string]string{"https": "443", "http": "80", "ssh": "22"}[u.Scheme] {
		name += ":" + port
	}
	return name
}

// hostname returns the name of a host, or the usual form of its IP address.
func hostname(u *url.URL) string {
	name := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	addr, err := netip.ParseAddr(name)
	switch addr = addr.Unmap(); {
	case err != nil:
		return name
	case addr.Is6():
		return "[" + addr.String() + "]"
	}
	return addr.String()
}
