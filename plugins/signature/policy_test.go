package signature_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tenonhq/tenon/plugins/signature"
	"github.com/tenonhq/tenon/plugins/source"
	"github.com/tenonhq/tenon/sdk"
)

const key = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3" // of the documentation of minisign

func ref(t testing.TB, text string) source.Ref {
	t.Helper()
	r, err := source.Parse(text, "/base", "/home")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func policy(t testing.TB, c sdk.PluginPolicy) *signature.Policy {
	t.Helper()
	p, err := signature.New(c, signature.Sigstore{})
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

func TestAllows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy         sdk.PluginPolicy
		allowed, other []string
	}{
		"all":  {sdk.PluginPolicy{}, []string{"github:o/r", "./x", "npm:p"}, nil},
		"none": {sdk.PluginPolicy{Allow: []string{}}, nil, []string{"github:o/r", "./x", "npm:p"}},
		"an owner": {
			sdk.PluginPolicy{Allow: []string{"github:My-Org/*"}},
			[]string{"github:my-org/a", "github:MY-ORG/a/sub@v1", "git+https://github.com/my-org/a.git", "git+ssh://git@github.com/my-org/a"},
			[]string{"github:my-org2/a", "github:other/my-org", "git+https://github.com.evil.example/my-org/a", "git+https://evil.example/github.com/my-org/a", "npm:my-org"},
		},
		"a repository": {
			sdk.PluginPolicy{Allow: []string{"github:o/r"}}, []string{"github:o/r", "github:o/r/plugins/a#0123456789012345678901234567890123456789"}, []string{"github:o/r2", "github:o" + "x/r"},
		},
		"packages and hosts": {
			sdk.PluginPolicy{Allow: []string{"npm:@s/*", "https://plugins.example/", "oci://ghcr.io/o/*", "/opt/Plugins"}},
			[]string{"npm:@s/a@^1", "https://PLUGINS.example:443/x/a.zip", "oci://ghcr.io/o/p:1", "/opt/Plugins/a", "/opt/Plugins"},
			[]string{"npm:a", "https://plugins.example.org/a.zip", "https://plugins.example:444/a.zip", "oci://ghcr.io/other/p", "/opt/plugins/a", "/opt/PluginsX"},
		},
		"denied": {
			sdk.PluginPolicy{Deny: []string{"github:evil/*", "https://bad.example/a"}}, []string{"github:good/evil", "https://bad.example/b.zip"},
			[]string{"github:evil/x", "git+https://github.com:443/Evil/x.git", "git+https://GitHub.com./evil/x/", "git+ssh://git@ssh.github.com/evil/x", "git+https://github.com:0443/evil/x", "https://bad.example/%61/x.zip"},
		},
		"registries": {
			sdk.PluginPolicy{Deny: []string{"oci://ghcr.io/evil", "oci://index.docker.io/evil/*", "oci://*/bad", "oci://docker.io/single", "https://x.org/a/b"}},
			[]string{"oci://ghcr.io/good/x", "oci://docker.io/library/good", "oci://docker.io/good", "https://x.org/a/c.zip", "oci://ghcr.io:444/evil/x", "oci://docker.io/good/x"},
			[]string{"oci://docker.io/single", "oci://docker.io/library/single", "oci://docker.io/single/x", "oci://registry-1.docker.io/single", "https://x.org//a//b/c.zip",
				"oci://ghcr.io:443/evil/x", "oci://GHCR.io/evil/x:v1", "oci://ghcr.io./evil/x", "oci://docker.io/evil/x", "oci://registry-1.docker.io/evil/x", "oci://index.docker.io:443/evil/x", "oci://ghcr.io:443/bad"},
		},
		"repositories as references": {
			sdk.PluginPolicy{Deny: []string{"git+ssh://git@a.example", "git+ssh://git@b.example/x", "git+https://c.example/x.git", "git+https://github.com/o", "git+https://github.com/p/*", "github:q/r.git", "github:q/s@v1"}},
			[]string{"git+ssh://git@b.example/y", "git+ssh://git@aa.example/x", "git+https://c.example/y", "github:oo/x", "github:q/t", "github:q/s"},
			[]string{"git+ssh://git@a.example/x", "git+ssh://other@a.example/x", "git+ssh://git@b.example/x.git", "git+https://c.example/x", "github:o/x", "git+ssh://git@github.com/p/x", "github:q/r"},
		},
		"denied and allowed": {sdk.PluginPolicy{Allow: []string{"npm:*"}, Deny: []string{"npm:x"}}, []string{"npm:y"}, []string{"npm:x"}},
	} {
		p := policy(t, c.policy)
		for _, text := range c.allowed {
			if err := p.Allows(ref(t, text)); err != nil {
				t.Errorf("%s: Allows(%s) = %v", name, text, err)
			}
		}
		for _, text := range c.other {
			if err := p.Allows(ref(t, text)); !errors.Is(err, signature.ErrDenied) {
				t.Errorf("%s: Allows(%s) = %v, want ErrDenied", name, text, err)
			}
		}
	}
}

// TestAllowsLinks: a link is not another spelling of a directory, neither in a policy nor in a reference.
func TestAllowsLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "real", "p"), 0o700), os.Symlink("real", link), os.Symlink(filepath.Join(link, "p"), filepath.Join(dir, "short"))); err != nil {
		t.Fatal(err)
	}
	for _, denied := range []string{"/real", "/real/p", "/link", "/link/*", "/re*", "/short"} {
		p := policy(t, sdk.PluginPolicy{Deny: []string{dir + denied}})
		for _, name := range []string{"/real/p", "/link/p", "/short", "/link/p/none"} {
			if err := p.Allows(source.Ref{Kind: source.Path, URL: dir + name}); !errors.Is(err, signature.ErrDenied) {
				t.Errorf("%s denied: Allows(%s) = %v", denied, name, err)
			}
		}
		if err := p.Allows(source.Ref{Kind: source.Path, URL: dir + "/other"}); err != nil {
			t.Errorf("%s denied: %v", denied, err)
		}
	}
	p := policy(t, sdk.PluginPolicy{Allow: []string{link + "/*"}})
	if err := p.Allows(source.Ref{Kind: source.Path, URL: filepath.Join(dir, "real", "p")}); err != nil {
		t.Error(err)
	}
	if err := policy(t, sdk.PluginPolicy{Deny: []string{"/"}}).Allows(source.Ref{Kind: source.Path, URL: dir}); !errors.Is(err, signature.ErrDenied) {
		t.Errorf("/ denied: %v", err)
	}
}

// TestDeniesWritten: deny and signers also match a path as written, with a link behind a wildcard; allow matches only where the path leads.
func TestDeniesWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	home := filepath.Join(dir, "home", "ann")
	if err := errors.Join(os.MkdirAll(home, 0o700), os.MkdirAll(filepath.Join(dir, "data", "p"), 0o700), os.Symlink(filepath.Join(dir, "data"), filepath.Join(home, "Downloads"))); err != nil {
		t.Fatal(err)
	}
	r := source.Ref{Kind: source.Path, URL: filepath.Join(home, "Downloads", "p")}
	for _, pattern := range []string{filepath.Join(dir, "home", "*", "Downloads"), "*/Downloads", "*/Downloads/*", "*/data", filepath.Join(dir, "d*")} {
		if err := policy(t, sdk.PluginPolicy{Deny: []string{pattern}}).Allows(r); !errors.Is(err, signature.ErrDenied) {
			t.Errorf("%s denied: %v", pattern, err)
		}
		if !policy(t, sdk.PluginPolicy{Signers: []sdk.PluginSigner{{Sources: []string{pattern}, Key: key}}}).Requires(r) {
			t.Errorf("no signer for %s", pattern)
		}
	}
	for pattern, want := range map[string]bool{"*/Downloads": false, filepath.Join(dir, "home", "*"): false, filepath.Join(home, "Downloads"): true, "*/data": true} {
		if err := policy(t, sdk.PluginPolicy{Allow: []string{pattern}}).Allows(r); (err == nil) != want {
			t.Errorf("%s allowed: %v", pattern, err)
		}
	}
}

// TestAllowsServer: a pattern for what is below a path also matches a server at the path with a slash; IP addresses have one form.
func TestAllowsServer(t *testing.T) {
	t.Parallel()
	p := policy(t, sdk.PluginPolicy{Deny: []string{"https://h.example/mcp/*", "https://10.0.0.1", "https://[fd00::1]"}})
	for address, denied := range map[string]bool{"https://h.example/mcp/": true, "https://h.example//mcp//": true, "https://h.example/mcp/a": true, "https://h.example/mcp": false,
		"https://[::ffff:a00:1]/": true, "https://[fd00:0:0::1]:443/": true, "https://[fd00::2]/": false} {
		if err := p.Allows(source.Ref{Kind: source.Archive, URL: address}); errors.Is(err, signature.ErrDenied) != denied {
			t.Errorf("Allows(%s) = %v", address, err)
		}
	}
}

func TestAccepts(t *testing.T) {
	t.Parallel()
	p := policy(t, sdk.PluginPolicy{Signers: []sdk.PluginSigner{
		{Sources: []string{"https://h/*"}, Key: key},
		{Sources: []string{"https://h/*", "oci://r/*"}, Identity: "https://github.com/o/r/.github/workflows/*@refs/tags/*", Issuer: "https://issuer"},
	}})
	good := "sigstore https://github.com/o/r/.github/workflows/release.yml@refs/tags/v1 https://issuer"
	for _, c := range []struct {
		ref, recorded string
		ok            bool
	}{
		{"https://h/a.zip", "minisign " + key, true},
		{"https://h/a.zip", good, true},
		{"https://h/a.zip", "", false},
		{"https://h/a.zip", key, false},
		{"oci://r/p", good, true},
		{"oci://r/p", "minisign " + key, false},
		{"oci://r/p", good + "x", false},
		{"oci://r/p", "sigstore x " + good, false},
		{"npm:p", "", true},
	} {
		if err := p.Accepts(ref(t, c.ref), c.recorded); (err == nil) != c.ok || err != nil && !errors.Is(err, signature.ErrSignature) {
			t.Errorf("Accepts(%s, %q) = %v", c.ref, c.recorded, err)
		}
	}
}

func TestInvalid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]sdk.PluginPolicy{
		"an empty pattern":   {Deny: []string{" "}},
		"no sources":         {Signers: []sdk.PluginSigner{{Key: key}}},
		"no signer":          {Signers: []sdk.PluginSigner{{Sources: []string{"*"}}}},
		"no issuer":          {Signers: []sdk.PluginSigner{{Sources: []string{"*"}, Identity: "a@b"}}},
		"no identity":        {Signers: []sdk.PluginSigner{{Sources: []string{"*"}, Issuer: "https://issuer"}}},
		"any identity":       {Signers: []sdk.PluginSigner{{Sources: []string{"*"}, Identity: "**", Issuer: "https://issuer"}}},
		"a key and identity": {Signers: []sdk.PluginSigner{{Sources: []string{"*"}, Key: key, Identity: "a@b", Issuer: "https://issuer"}}},
		"a damaged key":      {Signers: []sdk.PluginSigner{{Sources: []string{"*"}, Key: key[1:]}}},
		"a host in Unicode":  {Deny: []string{"https://ｅvil.example/a"}},
		"a relative root":    {TrustedRoot: "root.json"},
	} {
		if p, err := signature.New(c, signature.Sigstore{}); !errors.Is(err, signature.ErrPolicy) {
			t.Errorf("%s: %+v, %v, want ErrPolicy", name, p, err)
		}
	}
}

func FuzzPolicy(f *testing.F) {
	f.Add("github:o/*", "github:o/r", key)
	f.Add("/opt/x", "/opt/x/y", "RW")
	f.Add("*", "https://h/%2e/a.zip?x", "untrusted comment: x\n"+key)
	f.Fuzz(func(t *testing.T, pattern, text, key string) {
		r, err := source.Parse(text, "/base", "/home")
		if err != nil {
			return
		}
		allow, err := signature.New(sdk.PluginPolicy{Allow: []string{pattern}}, signature.Sigstore{})
		if err != nil {
			return
		}
		deny := policy(t, sdk.PluginPolicy{Deny: []string{pattern}})
		allowed, denied := allow.Allows(r) == nil, deny.Allows(r) != nil
		if allowed && !denied || denied && !allowed && r.Kind != source.Path { // deny also matches a path as written
			t.Errorf("%q: %s is allowed: %t, denied: %t", pattern, r.Location(), allowed, denied)
		}
		if k, err := signature.ParseKey(key); err == nil && (signature.KeyOf(k.String()).String() != k.String() || signature.KeyOf(key) != nil) {
			t.Errorf("%q is not read as it is written", k)
		}
	})
}
