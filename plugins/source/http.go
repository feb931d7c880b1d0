package source

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tenonhq/tenon/internal/filelock"
	"github.com/tenonhq/tenon/internal/httpx"
)

const (
	maxRedirects = 5
	maxDownload  = 512 << 20 // bytes of one archive
	maxTries     = 3         // of one download; each continues where the last one ended
	dialTimeout  = 15 * time.Second
	// stallTimeout is the longest time without a byte.
	stallTimeout = 30 * time.Second
	// lockTimeout is the maximum wait for another process that downloads the same.
	lockTimeout = time.Hour
	maxExcerpt  = 200 // bytes of an error page
)

// refused reports whether a repository must not send requests to an address: this machine, link-local, metadata servers, and special
// ranges. Private networks of IPv4 may have registries; metadata servers of clouds are in the private range of IPv6.
func refused(addr netip.Addr) bool {
	addr = addr.Unmap()
	return !httpx.Public(addr) && !(addr.Is4() && addr.IsPrivate())
}

// elsewhere is a key of contexts: the server named the address of the request, not the user.
type elsewhere struct{}

// transport returns the default transport. With Guarded, it refuses the addresses that a repository must not name.
func (f *Fetcher) transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = stallTimeout
	dialer := &net.Dialer{Timeout: dialTimeout, ControlContext: f.control}
	if f.Guarded {
		t.Proxy = nil // a proxy would resolve the names
	}
	t.DialContext = dialer.DialContext
	t.DisableCompression = true // digests are of the bytes as sent
	return t
}

// client returns a client for a source whose server has the origin of an URL. The caller calls release after the last request.
func (f *Fetcher) client(origin string) (c *http.Client, release func(), err error) {
	transport, release := f.Transport, func() {}
	if transport == nil {
		own := f.transport()
		transport, release = httpx.Proxied{Transport: own}, own.CloseIdleConnections
	}
	u, err := url.Parse(origin)
	if err != nil {
		return nil, nil, err
	}
	c = &http.Client{Transport: judging{transport, f, u}, CheckRedirect: func(req *http.Request, via []*http.Request) error {
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
	}}
	return c, release, nil
}

// judging sends requests to the origin of a source, and those that Judge permits: servers name other addresses by redirects, as token servers
// and as addresses of files. These lead to no metadata server, nor to other special addresses. Offline, it sends none.
type judging struct {
	http.RoundTripper
	f      *Fetcher
	origin *url.URL
}

// RoundTrip sends a request. Redirects are judged within the origin, too.
func (j judging) RoundTrip(req *http.Request) (*http.Response, error) {
	led := req.Response != nil || !httpx.SameOrigin(req.URL, j.origin)
	var err error
	switch {
	case j.f.Offline:
		err = ErrOffline
	case led && j.f.Judge != nil:
		err = j.f.Judge(req.URL)
	}
	if err != nil {
		if req.Body != nil {
			err = errors.Join(err, req.Body.Close())
		}
		return nil, err
	}
	if proxy, err := http.ProxyFromEnvironment(req); led && (err != nil || proxy == nil) { // else the connection is to the user's proxy
		req = req.WithContext(context.WithValue(req.Context(), elsewhere{}, true))
	}
	return j.RoundTripper.RoundTrip(req)
}

// control refuses connections to forbidden addresses.
func (f *Fetcher) control(ctx context.Context, _, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	switch led := ctx.Value(elsewhere{}) != nil && !to.Addr().IsLoopback(); {
	case !f.Guarded && !led || !refused(to.Addr()):
		return nil
	case f.Guarded:
		return fmt.Errorf("%w: %s is not a public server; a repository must not name it", ErrAddress, to.Addr())
	}
	return fmt.Errorf("%w: the server leads to %s, which is not a public server", ErrAddress, to.Addr())
}

// download returns a file of the cache with the content of an URL, and its SHA-256. With want, the content is exactly that, and what is
// cached is not requested. origin is an address of the source's server, which Judge does not judge. authorization is a header for the
// origin of address; empty: none.
func (f *Fetcher) download(ctx context.Context, origin, address, want, authorization string) (path, sum string, err error) {
	if path, err := f.kept(want); err != nil || path != "" {
		return path, want, err
	}
	client, release, err := f.client(origin)
	if err != nil {
		return "", "", err
	}
	defer release()
	return f.receive(ctx, address, want, func(part string) error { return f.transfer(ctx, client, address, authorization, part) })
}

// kept returns the file of the cache with a SHA-256; empty without one. A damaged one is removed.
func (f *Fetcher) kept(sum string) (string, error) {
	if sum == "" {
		return "", nil
	}
	path, ok, err := f.cached(filesKind, sum)
	if err != nil || !ok {
		return "", err
	}
	if have, err := sumFile(path); err == nil && have == sum {
		return path, nil
	}
	return "", os.Remove(path)
}

// receive fills a file of the cache by transfer, which continues what the file has, and gives it its SHA-256 as its name. address
// identifies the transfer. With want, the file has that SHA-256.
func (f *Fetcher) receive(ctx context.Context, address, want string, transfer func(part string) error) (path, sum string, err error) {
	part, _, err := f.cached(filesKind, "part-"+shortSum(address))
	if err != nil {
		return "", "", err
	}
	err = filelock.Do(ctx, part+".lock", lockTimeout, func() error {
		for try := 1; ; try++ {
			err := transfer(part)
			if err == nil {
				break
			}
			if try == maxTries || ctx.Err() != nil || !errors.Is(err, errCut) {
				return err
			}
		}
		if sum, err = sumFile(part); err != nil {
			return err
		}
		if want != "" && sum != want {
			return errors.Join(fmt.Errorf("%w: %s has SHA-256 %s, expected %s", ErrMismatch, address, sum, want), os.Remove(part), os.RemoveAll(part+".tag"))
		}
		if path, _, err = f.cached(filesKind, sum); err != nil {
			return err
		}
		return errors.Join(os.Rename(part, path), os.RemoveAll(part+".tag"))
	})
	return path, sum, err
}

// errCut is returned for an interrupted transfer that can continue.
var errCut = errors.New("the transfer broke off")

// transfer downloads the missing rest of a file. The tag of the server's version is kept next to the file: if the server has another version
// now, it sends the whole file.
func (f *Fetcher) transfer(ctx context.Context, client *http.Client, address, authorization, part string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	have := int64(0)
	tag, err := os.ReadFile(part + ".tag")
	if info, statErr := os.Stat(part); err == nil && statErr == nil && len(tag) > 0 {
		have = info.Size()
		req.Header.Set("Range", "bytes="+strconv.FormatInt(have, 10)+"-")
		req.Header.Set("If-Range", string(tag))
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	flags := os.O_WRONLY | os.O_CREATE
	switch {
	case resp.StatusCode == http.StatusPartialContent && strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", have)):
		flags |= os.O_APPEND
	case resp.StatusCode == http.StatusOK:
		have, flags = 0, flags|os.O_TRUNC
	case resp.StatusCode == http.StatusRequestedRangeNotSatisfiable || resp.StatusCode == http.StatusPartialContent:
		return errors.Join(errCut, os.Remove(part), os.RemoveAll(part+".tag"))
	default:
		return statusError(req, resp)
	}
	file, err := os.OpenFile(part, flags, 0o600)
	if err != nil {
		return err
	}
	// Only after the file of another version was emptied: a crash in between must not leave its bytes with this tag.
	if err := os.WriteFile(part+".tag", []byte(strongTag(resp.Header)), 0o600); err != nil {
		return errors.Join(err, file.Close())
	}
	want := int64(0)
	if resp.ContentLength >= 0 {
		want = have + resp.ContentLength
	}
	err = f.copy(file, resp.Body, req.URL.Host, have, want, cancel)
	return errors.Join(err, context.Cause(ctx), file.Close())
}

// strongTag returns the value of If-Range for the server's version of a file; empty without one.
func strongTag(h http.Header) string {
	if tag := h.Get("ETag"); strings.HasPrefix(tag, `"`) {
		return tag
	}
	return h.Get("Last-Modified")
}

// copy appends a body to a file that has the first bytes of it. want is the size of the whole; 0 if unknown. If the server sends nothing
// for stallTimeout, it calls cancel, which ends the body.
func (f *Fetcher) copy(file io.Writer, body io.Reader, host string, have, want int64, cancel context.CancelCauseFunc) error {
	if want > maxDownload {
		return fmt.Errorf("%d MiB exceed the limit of %d", want>>20, maxDownload>>20)
	}
	stall := time.AfterFunc(stallTimeout, func() { cancel(fmt.Errorf("the server sent nothing for %s", stallTimeout)) })
	defer stall.Stop()
	buffer := make([]byte, 64<<10)
	for {
		n, err := body.Read(buffer)
		stall.Reset(stallTimeout)
		if _, err := file.Write(buffer[:n]); err != nil {
			return err
		}
		if have += int64(n); have > maxDownload {
			return fmt.Errorf("more than %d MiB", maxDownload>>20)
		}
		f.progress(host, have, want)
		if errors.Is(err, io.EOF) && (want == 0 || have == want) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w after %d bytes: %w", errCut, have, err)
		}
	}
}

// statusError returns the error of an answer whose status is one.
func statusError(req *http.Request, resp *http.Response) error {
	said := string(bytes.TrimSpace(httpx.Excerpt(resp.Body, maxExcerpt)))
	if said != "" {
		said = ": " + said
	}
	return fmt.Errorf("%s: HTTP status %s%s", req.URL.Redacted(), strings.TrimSpace(resp.Status), said)
}

// ErrNotFound is returned when the server does not have a package or file.
var ErrNotFound = errors.New("not found")

// get returns a short answer, such as the description of a package.
func (f *Fetcher) get(ctx context.Context, address string, header map[string]string, limit int) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*stallTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	client, release, err := f.client(address)
	if err != nil {
		return nil, err
	}
	defer release()
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		err := statusError(req, resp)
		if resp.StatusCode == http.StatusNotFound {
			err = fmt.Errorf("%w: %w", ErrNotFound, err)
		}
		return nil, err
	}
	return httpx.ReadAll(resp.Body, limit)
}

func shortSum(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}

// sumFile returns the SHA-256 of a file, as hexadecimal digits.
func sumFile(path string) (string, error) {
	sum, err := digest(path, sha256.New())
	return hex.EncodeToString(sum), err
}

func digest(path string, h hash.Hash) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	_, err = io.Copy(h, file)
	return h.Sum(nil), err
}
