package source

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/tenonhq/tenon/internal/filelock"
	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/plugins/source/oci"
)

const (
	maxRedirects = 5
	maxTries     = 3 // of one download; each continues where the last one ended
	dialTimeout  = 15 * time.Second
	// lookupTimeout is short: behind a proxy, a name server may be out of reach.
	lookupTimeout = 3 * time.Second
	// stallTimeout is the longest time without a byte.
	stallTimeout = 30 * time.Second
	// lockTimeout is the maximum wait for another process that downloads the same file.
	lockTimeout = time.Hour
	maxExcerpt  = 200 // bytes of an error page
)

// refused reports whether a repository must not send requests to an address: this machine, link-local, metadata servers, and special
// ranges. Private networks of IPv4 may have registries; metadata servers of clouds are in the private range of IPv6.
func refused(addr netip.Addr) bool {
	addr = addr.Unmap()
	return !httpx.Public(addr) && !(addr.Is4() && addr.IsPrivate())
}

// checked is the key of a context in which the address of the request is checked.
type checked struct{}

// connected returns a fetcher that keeps its connections until release. With Guarded, it refuses the addresses that a repository must not name.
func (f *Fetcher) connected() (kept *Fetcher, release func()) {
	inner := *f
	inner.unresolved = new(sync.Map)
	if f.Transport != nil {
		return &inner, func() {}
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = stallTimeout
	t.DialContext = (&net.Dialer{Timeout: dialTimeout, ControlContext: f.control}).DialContext
	t.DisableCompression = true // digests are of the bytes as sent
	inner.Transport = httpx.Proxied{Transport: t}
	return &inner, t.CloseIdleConnections
}

// client returns a client of a connected fetcher for a source whose server has the origin of an URL.
func (f *Fetcher) client(origin string) (*http.Client, error) {
	u, err := url.Parse(origin)
	return &http.Client{Transport: judging{f.Transport, f, u}, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return fmt.Errorf("the server redirected %d times", maxRedirects)
		}
		if via[0].URL.Scheme == "https" && req.URL.Scheme != "https" {
			return fmt.Errorf("redirect from https to %s is not followed", req.URL.Scheme)
		}
		if !httpx.SameOrigin(via[0].URL, req.URL) {
			req.Header.Del("Authorization")
		}
		return nil
	}}, err
}

// judging sends requests to the origin of a source, and to other addresses only if Judge permits them: servers name other addresses in
// redirects, as token servers and as addresses of files. Those addresses must not lead to a metadata server or to another special address;
// with Guarded, the source itself must not either. Behind a proxy, which connects itself, only the names are checked, and only with Guarded.
// Offline, it sends no request.
type judging struct {
	http.RoundTripper
	f      *Fetcher
	origin *url.URL
}

// RoundTrip sends a request. Redirects are judged within the origin, too.
func (j judging) RoundTrip(req *http.Request) (*http.Response, error) {
	led := req.Response != nil || !httpx.SameOrigin(req.URL, j.origin)
	proxied := proxied(req.URL)
	var err error
	switch {
	case j.f.Offline:
		err = ErrOffline
	case led && j.f.Judge != nil:
		err = j.f.Judge(req.URL)
	}
	if err == nil && proxied {
		err = j.f.mayName(req.Context(), req.URL)
	}
	if err != nil {
		if req.Body != nil {
			err = errors.Join(err, req.Body.Close())
		}
		return nil, err
	}
	if (led || j.f.Guarded) && !proxied {
		req = req.WithContext(context.WithValue(req.Context(), checked{}, true))
	}
	return j.RoundTripper.RoundTrip(req)
}

// control refuses connections to forbidden addresses.
func (f *Fetcher) control(ctx context.Context, _, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	switch {
	case ctx.Value(checked{}) == nil, !refused(to.Addr()), !f.Guarded && to.Addr().IsLoopback():
		return nil
	case f.Guarded:
		return fmt.Errorf("%w: %s is not a public server; a repository must not name it", ErrAddress, to.Addr())
	}
	return fmt.Errorf("%w: the server leads to %s, which is not a public server", ErrAddress, to.Addr())
}

// download returns a file of the cache with the content of an URL, and its digest: see receive. origin is an address of the source's server,
// which Judge does not judge. authorization is a header for the origin of address; empty: none.
func (f *Fetcher) download(ctx context.Context, origin, address, want, authorization string) (path, sum string, err error) {
	client, err := f.client(origin)
	if err != nil {
		return "", "", err
	}
	return f.receive(ctx, address, want, func(ctx context.Context, have int64, tag string) (*stream, error) {
		return open(ctx, client, address, authorization, have, tag)
	})
}

// stream is the content of a file that a server sends, or the rest of it.
type stream struct {
	io.ReadCloser
	host string // for the progress
	from int64  // bytes of the file before the stream
	size int64  // bytes of the file; 0 if unknown
	tag  string // identifies the server's version of the file, so that the rest can be requested later; empty: not supported
}

// opener requests a file. have is the number of bytes that were already received, from the server's version with the tag; if there are
// none, tag is empty.
type opener func(ctx context.Context, have int64, tag string) (*stream, error)

// receive returns a file of the cache with the content that open requests, and its SHA-256. address identifies the content. With want,
// a SHA-256 or SHA-512 in hexadecimal digits, the content must have that digest, and cached content is not requested.
func (f *Fetcher) receive(ctx context.Context, address, want string, open opener) (path, sum string, err error) {
	if path, err := f.kept(want); err != nil || path != "" {
		return path, want, err
	}
	part, _, err := f.cached(filesKind, "part-"+shortSum(address))
	if err != nil {
		return "", "", err
	}
	err = filelock.Do(ctx, part+".lock", lockTimeout, func() error {
		err := f.transfer(ctx, part, open)
		for try := 1; try < maxTries && ctx.Err() == nil && errors.Is(err, errCut); try++ {
			err = f.transfer(ctx, part, open)
		}
		if err == nil {
			sum, err = sumFile(part, want)
		}
		if err == nil && want != "" && sum != want {
			name := map[string]string{filesKind: "SHA-256", npmKind: "SHA-512"}[folderOf(want)]
			err = fmt.Errorf("%w: %s has %s %s, expected %s", ErrMismatch, redacted(address), name, sum, want)
		}
		if errors.Is(err, ErrMismatch) || errors.Is(err, ErrTooLarge) { // a retry cannot continue it
			return errors.Join(err, os.RemoveAll(part), os.RemoveAll(part+".tag"))
		}
		if err != nil {
			return err
		}
		if path, _, err = f.cached(folderOf(sum), sum); err != nil {
			return err
		}
		return errors.Join(os.Rename(part, path), os.RemoveAll(part+".tag"))
	})
	return path, sum, err
}

// kept returns the file of the cache with a digest; empty without one. It removes a damaged file. From a seed, only files with a digest are
// copied: the seed may belong to a repository, while the cache serves all projects.
func (f *Fetcher) kept(sum string) (string, error) {
	if sum == "" {
		return "", nil
	}
	folder := folderOf(sum)
	path, ok, err := f.cached(folder, sum)
	if err == nil && !ok && f.Seed != "" {
		ok, err = f.seeded(filepath.Join(folder, sum), path)
	}
	if err != nil || !ok {
		return "", err
	}
	if have, err := sumFile(path, sum); err == nil && have == sum {
		return path, nil
	}
	return "", os.Remove(path)
}

// errCut is returned for an interrupted transfer that can continue.
var errCut = errors.New("the transfer broke off")

// transfer receives the missing rest of a file. The tag of the server's version is kept next to the file. If the server now has another
// version, it sends the whole file.
func (f *Fetcher) transfer(ctx context.Context, part string, open opener) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	have := int64(0)
	tag, err := os.ReadFile(part + ".tag")
	if info, statErr := os.Stat(part); err == nil && statErr == nil && len(tag) > 0 {
		have = info.Size()
	}
	body, err := open(ctx, have, string(tag))
	if err != nil {
		return err
	}
	defer body.Close()
	file, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE, 0o600) // not O_APPEND, because Windows cannot truncate a file opened with it
	if err != nil {
		return err
	}
	if _, err = file.Seek(body.from, io.SeekStart); err == nil {
		err = file.Truncate(body.from)
	}
	if err == nil {
		// Write the tag only after the file of another version was emptied: a crash in between must not leave the old
		// bytes with the new tag.
		err = os.WriteFile(part+".tag", []byte(body.tag), 0o600)
	}
	if err == nil {
		err = f.copy(ctx, file, body, cancel)
	}
	return errors.Join(err, file.Close())
}

// open requests a file from a server.
func open(ctx context.Context, client *http.Client, address, authorization string, have int64, tag string) (*stream, error) {
	header := map[string]string{"Authorization": authorization}
	accepted := []int{http.StatusOK}
	if have > 0 {
		header["Range"], header["If-Range"] = fmt.Sprintf("bytes=%d-", have), tag
		accepted = append(accepted, http.StatusPartialContent, http.StatusRequestedRangeNotSatisfiable)
	}
	resp, err := ask(ctx, client, address, header, accepted...)
	if err != nil {
		return nil, err
	}
	switch {
	case resp.StatusCode == http.StatusOK:
		have = 0
	case !strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", have)):
		_ = resp.Body.Close()
		return open(ctx, client, address, authorization, 0, "")
	}
	s := &stream{ReadCloser: resp.Body, host: resp.Request.URL.Host, from: have, tag: resp.Header.Get("ETag")}
	if !strings.HasPrefix(s.tag, `"`) { // a weak one
		s.tag = resp.Header.Get("Last-Modified")
	}
	if resp.ContentLength >= 0 {
		s.size = have + resp.ContentLength
	}
	return s, nil
}

// copy appends a stream to a file that holds the bytes before it. If the server sends nothing for stallTimeout, it calls cancel, which ends
// the stream.
func (f *Fetcher) copy(ctx context.Context, file io.Writer, body *stream, cancel context.CancelCauseFunc) error {
	limit := cmp.Or(f.MaxTransfer, maxTransfer)
	tooLarge := fmt.Errorf("%w: more than %d MiB", ErrTooLarge, limit>>20)
	if body.size > limit {
		return tooLarge
	}
	stall := time.AfterFunc(stallTimeout, func() { cancel(fmt.Errorf("the server sent nothing for %s", stallTimeout)) })
	defer stall.Stop()
	buffer := make([]byte, 64<<10)
	for have := body.from; ; {
		n, err := body.Read(buffer)
		stall.Reset(stallTimeout)
		if _, err := file.Write(buffer[:n]); err != nil {
			return err
		}
		if have += int64(n); have > limit {
			return tooLarge
		}
		f.progress(body.host, have, body.size)
		if errors.Is(err, io.EOF) && (body.size == 0 || have == body.size) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w after %d bytes: %w", errCut, have, cmp.Or(context.Cause(ctx), err))
		}
	}
}

// ErrNotFound is returned when the server does not have a package or file.
var ErrNotFound = errors.New("not found")

// OfServer reports whether an error comes from a server or the connection to it. Programs that a fetch runs count, because they
// contact servers, too.
func OfServer(err error) bool {
	_, network := errors.AsType[*url.Error](err)
	_, program := errors.AsType[*exec.ExitError](err) // git, npm or go
	_, lookup := errors.AsType[*net.DNSError](err)
	return network || program || lookup || errors.Is(err, ErrNotFound) || errors.Is(err, errCut) || oci.OfServer(err)
}

// ask sends a request, and returns an answer with one of the accepted statuses.
func ask(ctx context.Context, client *http.Client, address string, header map[string]string, accepted ...int) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	for name, value := range header {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	resp, err := client.Do(req)
	if err != nil || slices.Contains(accepted, resp.StatusCode) {
		return resp, err
	}
	defer resp.Body.Close()
	defer time.AfterFunc(stallTimeout, func() { _ = resp.Body.Close() }).Stop() // ends the excerpt
	said := string(bytes.TrimSpace(httpx.Excerpt(resp.Body, maxExcerpt)))
	if said != "" {
		said = ": " + said
	}
	err = &url.Error{Op: "Get", URL: req.URL.Redacted(), Err: fmt.Errorf("HTTP status %s%s", visible.Clean(resp.Status, 100), said)}
	if resp.StatusCode == http.StatusNotFound {
		err = fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return nil, err
}

// get returns a short answer, such as the description of a package.
func (f *Fetcher) get(ctx context.Context, address string, header map[string]string, limit int) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*stallTimeout)
	defer cancel()
	client, err := f.client(address)
	if err != nil {
		return nil, err
	}
	resp, err := ask(ctx, client, address, header, http.StatusOK)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return httpx.ReadAll(resp.Body, limit)
}

func shortSum(s string) string {
	return fmt.Sprintf("%.16x", sha256.Sum256([]byte(s)))
}

// sumFile returns the digest of a file, as hexadecimal digits: the SHA-512 if want is a SHA-512, else the SHA-256.
func sumFile(path, want string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if folderOf(want) == npmKind {
		h = sha512.New()
	}
	_, err = io.Copy(h, file)
	return hex.EncodeToString(h.Sum(nil)), err
}
