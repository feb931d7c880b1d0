package source

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// GoProxy returns the GOPROXY with which modules are fetched.
func (f *Fetcher) GoProxy(ctx context.Context, work string) (string, error) {
	g, err := f.goTool(ctx, work)
	if err != nil {
		return "", err
	}
	return g.env["GOPROXY"], nil
}

// GoGet asks for the newest version of a module as a fetch does, within a limit.
func (f *Fetcher) GoGet(ctx context.Context, work, module string, limit time.Duration) error {
	g, err := f.goTool(ctx, work)
	if err != nil {
		return err
	}
	g.limit = limit
	return g.resolve(ctx, Ref{URL: module})
}

// TransferCommit fetches from an address that mayAsk would refuse, as those of tests are.
func (f *Fetcher) TransferCommit(ctx context.Context, address string) error {
	repo, _, err := f.cached("git", shortSum(address))
	if err != nil {
		return err
	}
	return f.transferCommit(ctx, repo, Ref{Kind: Git, URL: address}, "HEAD", "refs/tenon/test")
}

// Gate returns the server that npm reaches at http://gate/secret/.
func (f *Fetcher) Gate() http.Handler {
	f, _ = f.connected()
	return &npmGate{f: f, base: "http://gate/secret/"}
}

// RunNPM runs npm in the directory work as a fetch does.
func (f *Fetcher) RunNPM(ctx context.Context, work string, args ...string) error {
	f, release := f.connected()
	defer release()
	g, err := f.openGate(work)
	if err != nil {
		return err
	}
	return errors.Join(g.npm(ctx, args...), g.close())
}

// DecodeNPMLock decodes the packages of a pin as a fetch does.
func DecodeNPMLock(data []byte) (json.RawMessage, error) {
	l, err := readNPMLock(data, pinBase)
	if err != nil {
		return nil, err
	}
	return encode(l), nil
}

// RedirectTarballs replaces the addresses in the description of a package as the gate does.
var RedirectTarballs = redirectTarballs

// ChooseVersion decodes the description of a package and returns the version to install, and all of them.
func ChooseVersion(data []byte, wanted string) (string, []string, error) {
	var p packument
	if err := json.Unmarshal(data, &p); err != nil {
		return "", nil, err
	}
	version, err := p.choose(wanted)
	return version, slices.Collect(maps.Keys(p.Versions)), err
}

// DecodeServer decodes the description of an MCP server and returns what is pinned.
func DecodeServer(data []byte) (json.RawMessage, error) {
	s, err := decodeServer(data)
	if err != nil {
		return nil, err
	}
	return encode(s), nil
}

// DecodeBundle decodes the manifest of a bundle and returns its command.
func DecodeBundle(data []byte) (string, error) {
	b, _, err := decodeBundle(data, "linux")
	if err != nil {
		return "", err
	}
	return b.Command, nil
}

// Authorization returns the header of a request to an address.
func (r NPMRegistry) Authorization(address string) string { return r.authorization(address) }

// ReadNPMRC returns the value of a setting in the text of an .npmrc, and its place.
func ReadNPMRC(text, name string, environ []string) (value, place string) {
	s := readNPMRC("", text, environ)[name]
	return s.value, strings.TrimPrefix(s.place, ":")
}
