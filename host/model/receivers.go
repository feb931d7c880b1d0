package model

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tenonhq/tenon/internal/requestfield"
	"github.com/tenonhq/tenon/internal/secret"
	"github.com/tenonhq/tenon/sdk"
)

// ErrReceiver is wrapped by errors about a model whose receiver the repository chose and the user did not approve.
var ErrReceiver = errors.New("receiver is not approved")

// Receiver is the receiver of a conversation that a repository's files choose.
type Receiver struct {
	Provider string
	// Address holds the addresses, or the protocol, and the options that decide them. User, password and query are left out, because they
	// may be secrets.
	Address string
	Digest  string   // digest of everything that decides who receives the conversation; the user approves this digest
	Keys    []string // the settings that choose it: provider.ID, model, small_model, agent.NAME or command.NAME
	Origins []string // for each key the Origin of the agent or command; empty for the others
}

// receivers decides who may receive the conversation. A repository must not decide that: if its files change the address of a provider,
// compared with the user's own configuration, or choose a model at another address than the user's models, the user has to approve it first.
// The zero value is for no repository.
type receivers struct {
	own *Models // the providers in the user's own configuration; nil without a repository

	once  sync.Once
	users map[string]bool // digests of the receivers in the user's own configuration
}

func newReceivers(o Options) *receivers {
	if o.Own == nil {
		return &receivers{}
	}
	o.Config, o.Foreign = o.Own, nil
	return &receivers{own: makeModels(o, &receivers{})}
}

// check returns an error that wraps ErrModel and ErrReceiver unless a provider of m may receive the conversation. byRepository reports that
// files of the repository may have chosen it instead of the user.
func (r *receivers) check(ctx context.Context, m *Models, id string, byRepository bool) error {
	if r.own == nil || m == r.own && !byRepository {
		return nil
	}
	digest, own := m.receiver(id, r.own), r.own.receiver(id, r.own)
	if digest == own && !byRepository || m.o.Approved != nil && m.o.Approved(digest) {
		return nil
	}
	if digest == own && r.usedByUser(ctx)[digest] {
		return nil
	}
	what := "files of the repository choose it"
	if digest != own {
		what = "files of the repository set its address"
	}
	return fmt.Errorf("%w: provider %q at %s: %w: %s; tenon permission approve shows and approves it", ErrModel, id, m.shownAddress(id), ErrReceiver, what)
}

// usedByUser returns the digests of the receivers that the user's own configuration uses.
func (r *receivers) usedByUser(ctx context.Context) map[string]bool {
	r.once.Do(func() {
		models := named(r.own.o.Config)
		if choice, err := r.own.Choose(context.WithoutCancel(ctx)); err == nil {
			models["model"] = choice.Model.Ref().String()
		}
		r.users = map[string]bool{}
		for _, name := range models {
			if id, _, ok := strings.Cut(name, "/"); ok && r.own.providers[id] != nil {
				r.users[r.own.receiver(id, r.own)] = true
			}
		}
	})
	return r.users
}

// harmless are options that do not decide who receives a request.
var harmless = []string{"timeout", "chunkTimeout", "headerTimeout", "answerTimeout", "totalTimeout", "setCacheKey"}

// receiver returns the digest of everything that decides who receives requests to a provider: protocol, address, options (region, resource,
// project, …), headers, and the origin of the key. It includes a key itself only if that is not the user's: the account of the key receives
// the conversation, too.
func (m *Models) receiver(id string, users *Models) string {
	c := m.o.Config.Provider[id]
	v := struct {
		ID, Protocol, BaseURL, Key string
		Env                        []string
		Headers                    map[string]string
		Options                    sdk.Object
		ModelHeaders               map[string]map[string]string
		ModelServers               map[string]sdk.ModelServer `json:",omitempty"` // absent in older approvals, like NPM
		NPM                        string                     `json:",omitempty"`
	}{ID: id, ModelHeaders: map[string]map[string]string{}, ModelServers: map[string]sdk.ModelServer{}}
	if p := m.providers[id]; p != nil {
		v.Protocol, v.BaseURL, v.Env, v.Headers, v.Options = p.info.Protocol, p.info.BaseURL, p.info.Env, p.info.Headers, maps.Clone(p.info.Options)
		// The npm package decides which options form the address, and which credentials are sent. If there is only an address, the package
		// decides neither.
		own := users.providers[id]
		if own != nil && own.info.NPM != p.info.NPM || own == nil && (v.BaseURL == "" || len(namedAddresses(&p.info)) > 0) {
			v.NPM = p.info.NPM
		}
	}
	maps.DeleteFunc(v.Options, func(name string, _ any) bool { return slices.Contains(harmless, name) })
	if key := c.Options.APIKey; key != users.o.Config.Provider[id].Options.APIKey {
		v.Key = key
	}
	for name, model := range c.Models {
		if len(model.Headers) > 0 {
			v.ModelHeaders[name] = model.Headers
		}
		if model.Provider != nil {
			v.ModelServers[name] = *model.Provider
		}
	}
	data, err := json.Marshal(v)
	if err != nil {
		return "" // options came from JSON; an empty digest is never approved
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// shownAddress returns the addresses of a provider and its models, and the options that decide them, without parts that may be secret.
func (m *Models) shownAddress(id string) string {
	info := &m.providers[id].info
	shown := []string{"the address of protocol " + info.Protocol}
	if info.BaseURL != "" {
		shown[0] = secret.WithoutSecrets(info.BaseURL)
	}
	shown = append(shown, namedAddresses(info)...)
	var servers []string
	for _, model := range m.o.Config.Provider[id].Models {
		if model.Provider != nil && model.Provider.API != "" {
			servers = append(servers, "models at "+secret.WithoutSecrets(model.Provider.API))
		}
	}
	slices.Sort(servers)
	return strings.Join(append(shown, slices.Compact(servers)...), ", ")
}

// namedAddresses returns the options from which protocols form an address, each as its name and value.
func namedAddresses(info *sdk.ProviderInfo) []string {
	var out []string
	for _, name := range requestfield.Addresses() {
		value, _ := info.Options[name].(string)
		switch {
		case value == "":
		case name == "endpoint" || name == "enterpriseUrl":
			out = append(out, name+" "+secret.WithoutSecrets(value))
		default:
			out = append(out, name+" "+value)
		}
	}
	return out
}

// providerOf returns the provider in the name of a model.
func providerOf(model string) string {
	id, _, _ := strings.Cut(model, "/")
	return id
}

// Choice is a model that a setting chooses.
type Choice struct {
	Model  string // provider/model
	Key    string // the setting, as in Receiver.Keys
	Origin string
}

// Unapproved lists the receivers that files of the repository choose and the user did not approve, sorted by provider. chosen are the models that
// agents and commands of the repository name; the configuration's own are known.
func (m *Models) Unapproved(ctx context.Context, chosen []Choice) []Receiver {
	found := map[string]*Receiver{}
	add := func(id, key, origin string, byRepository bool) {
		p := m.providers[id]
		if p == nil || m.receivers.check(ctx, m, id, byRepository) == nil {
			return
		}
		if found[id] == nil {
			found[id] = &Receiver{Provider: id, Address: m.shownAddress(id), Digest: m.receiver(id, m.receivers.own)}
		}
		found[id].Keys, found[id].Origins = append(found[id].Keys, key), append(found[id].Origins, origin)
	}
	for _, id := range slices.Sorted(maps.Keys(m.o.Config.Provider)) {
		add(id, "provider."+id, "", false)
	}
	if m.o.Own != nil {
		if picked, err := m.pick(ctx); err == nil {
			add(picked.Model.ProviderID, "model", "", true)
		}
		add(providerOf(m.o.Config.SmallModel), "small_model", "", true)
	}
	for _, c := range chosen {
		add(providerOf(c.Model), c.Key, c.Origin, true)
	}
	out := make([]Receiver, 0, len(found))
	for _, id := range slices.Sorted(maps.Keys(found)) {
		out = append(out, *found[id])
	}
	return out
}
