package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tenonhq/tenon/internal/atomicfile"
	"github.com/tenonhq/tenon/internal/httpx"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// defaultURL is the list of models.dev, see its README, "API".
	defaultURL = "https://models.dev/api.json"
	// maxList is the maximum size of the list in bytes; it has 5 MB in 2026.
	maxList = 64 << 20
	// maxListValues is the maximum number of JSON values in the list; it has about 300,000. A model takes over a KiB in memory.
	maxListValues = 1 << 20
	// refreshInterval is the time between two attempts, successful or not. Prices rarely change, and the list has 0.4 MB compressed.
	refreshInterval = 24 * time.Hour
	// refreshTimeout limits one attempt.
	refreshTimeout = time.Minute
	// cacheName is the file in the cache directory. checkedName has the time of the latest attempt.
	cacheName, checkedName = "models.zip", "models.checked"
)

// RefreshCatalog starts a refresh unless one was attempted less than refreshInterval ago.
func (p *Plugin) RefreshCatalog() {
	if p.url == "" || p.ctx == nil || p.ctx.Err() != nil {
		return
	}
	if last, err := os.Stat(p.checked()); err == nil && time.Since(last.ModTime()).Abs() < refreshInterval { // the clock may have been ahead
		return
	}
	p.running.Go(func() { // ends with p.ctx at the latest; Close waits for it
		p.log.Debug("refresh of the catalog ended", "url", p.url, "err", p.refresh())
	})
}

func (p *Plugin) checked() string { return filepath.Join(filepath.Dir(p.path), checkedName) }

// refresh replaces the archive. An attempt that Close ends does not count: the next process tries again.
func (p *Plugin) refresh() error {
	content, err := p.fetch()
	if p.ctx.Err() != nil {
		return p.ctx.Err()
	}
	if err = errors.Join(err, atomicfile.Write(p.checked(), nil, atomicfile.Options{MakeDirs: 0o700})); err != nil {
		return err
	}
	return atomicfile.Write(p.path, content, atomicfile.Options{})
}

// fetch returns the archive of the current list.
func (p *Plugin) fetch() ([]byte, error) {
	ctx, cancel := context.WithTimeout(p.ctx, refreshTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "tenon")
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, DisableKeepAlives: true}
	client := &http.Client{Transport: httpx.Proxied{Transport: transport}, CheckRedirect: httpx.CheckRedirect(3, "catalog.url")}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", res.StatusCode)
	}
	data, err := httpx.ReadAll(res.Body, maxList)
	if err != nil {
		return nil, err
	}
	return repack(data)
}

// repack returns the archive of a list: only providers of the snapshot, only models that decodeModels accepts, and of these neither addresses
// nor packages, headers and fields of requests.
func repack(list []byte) ([]byte, error) {
	if value.Crowded(list, maxListValues) {
		return nil, fmt.Errorf("more than %d values", maxListValues)
	}
	all, err := ReadAPI(list, func(id string) bool {
		old, err := member(archive, id)
		return old != nil && err == nil
	})
	if err == nil && len(all) == 0 {
		err = errors.New("no known provider in the list")
	}
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		for name, m := range p.Models {
			m.Provider, m.Experimental.Modes = entryProvider{}, nil
			p.Models[name] = m
		}
	}
	packed, err := Pack(all)
	if err != nil {
		return nil, err
	}
	for id := range all {
		if _, err := readModels(packed, id); err != nil {
			return nil, err
		}
	}
	return packed, nil
}

// read returns the archive of an earlier refresh; nil without one. It removes a damaged archive, which the next refresh replaces.
func (p *Plugin) read() []byte {
	data, err := os.ReadFile(p.path)
	if err == nil {
		_, err = member(data, "") // is it an archive?
	}
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return data
	}
	p.log.Warn("refreshed catalog not used", "file", p.path, "err", errors.Join(err, os.Remove(p.path)))
	return nil
}

// newerModels returns the models of a provider in a refreshed archive, with the addresses, packages and modes of the snapshot's models; nil without
// any.
func (p *Plugin) newerModels(provider string, known map[string]sdk.Model) map[string]sdk.Model {
	if p.cached == nil || p.cached() == nil {
		return nil
	}
	newer, err := readModels(p.cached(), provider)
	if err != nil {
		p.log.Warn("refreshed catalog not used", "file", p.path, "err", err)
		return nil
	}
	for id, m := range newer {
		old, ok := known[id]
		if !ok {
			old = relative(m.Family, known)
		}
		m.NPM, m.Protocol, m.BaseURL = old.NPM, old.Protocol, old.BaseURL
		if ok || !slices.Contains(reasoningFields(), m.ReasoningField) {
			m.ReasoningField = old.ReasoningField
		}
		newer[id] = m
	}
	for id, m := range known {
		if _, offered := newer[m.APIID]; offered {
			newer[id] = m // a mode, which the list does not contain
		}
	}
	return newer
}

// reasoningFields returns the fields of a message in which a refreshed catalog may have a new model's reasoning sent back.
func reasoningFields() []string { return []string{"reasoning_content", "reasoning_details"} }

// relative returns a model of the same family: a new model of a provider with several formats has its relatives' format.
func relative(family string, known map[string]sdk.Model) sdk.Model {
	for _, id := range slices.Sorted(maps.Keys(known)) {
		if known[id].Family == family && family != "" {
			return known[id]
		}
	}
	return sdk.Model{}
}
