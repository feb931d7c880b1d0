package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/internal/nearest"
	"github.com/tenonhq/tenon/internal/npm"
	"github.com/tenonhq/tenon/internal/secret"
	"github.com/tenonhq/tenon/sdk"
)

// ErrModel is wrapped by errors about a model or provider that cannot be used.
var ErrModel = errors.New("model cannot be used")

// minSecret is the minimum length of secrets that are searched for in variables: a shorter one, such as "none", occurs in many by chance.
const minSecret = 8

// Options configure Models. Protocols, Engine and Config are required.
type Options struct {
	Config *sdk.Config
	// Own is the user's own part of Config; nil if the repository's files do not choose models.
	Own *sdk.Config
	// ByRepository is set when agents and commands may come from the repository although all of Config is the user's own.
	ByRepository bool
	Providers    []sdk.ProviderInfo // of the plugins, in their order
	Catalogs     []sdk.ModelCatalog // further models, and rules for all
	Protocols    map[string]sdk.Protocol
	Engine       *hooks.Engine
	Environ      []string          // where keys are looked up, as os.Environ
	Secrets      []string          // no variable that holds one is passed to shell commands
	Foreign      map[string]string // the providers whose address a file of the project chose, with the file; they get no key from Environ
	// SignIn adds the user's stored credentials to a provider that has none from the configuration or the environment, and returns their
	// source; empty: none. Nil: nothing is stored.
	SignIn      func(*SignInRequest) (source string)
	AuthMethods []sdk.AuthMethod // of the plugins, for SignIn
	// Approved reports whether the user approved a Receiver, by its digest. Nil: none.
	Approved func(digest string) bool
}

// Models knows the providers of a generation and opens clients for them. Safe for use from many goroutines.
type Models struct {
	o         Options
	receivers *receivers // who may receive a conversation
	providers map[string]*provider
	order     []string // of the providers: catalogs in plugin order, then the configuration's
	secretEnv map[string]bool

	mu      sync.Mutex
	clients map[server]sdk.ModelClient
	refresh func() // refreshes the catalogs in the background, once
}

// server identifies a client: models of one provider can be at several addresses.
type server struct {
	provider, protocol, npm, address string
	public                           bool // with the public key
}

// provider is a provider with the configuration applied.
type provider struct {
	info        sdk.ProviderInfo // without models
	base        map[string]sdk.Model
	described   func() map[string]sdk.Model // all models of plugins and catalogs
	models      func() map[string]sdk.Model // the same, with the configuration applied
	account     account                     // the models of the user's account, if the server has AccountModels
	configured  bool                        // it is in the configuration
	addressed   bool                        // the user's configuration or environment has its address
	addressFrom string                      // the variable that has its address; empty without one
	keyFrom     string                      // human-readable origin of the key; empty without one
	signedIn    bool                        // the key, or the sign-in that replaces it, is stored
	catalogued  bool                        // a catalog has models of it; set by the first call of described
	answered    atomic.Bool                 // its server answered a request
	textOnly    sync.Map                    // IDs of models for which it refused files
	withheld    string                      // the variable whose key is not sent to an address of the project's choice
}

// New returns the models of a generation, whose configuration is complete.
func New(o Options) *Models {
	m := makeModels(o, newReceivers(o))
	if o.Own == nil && o.ByRepository {
		m.receivers.own = m
	}
	return m
}

func makeModels(o Options, r *receivers) *Models {
	m := &Models{
		o: o, receivers: r, providers: map[string]*provider{}, secretEnv: map[string]bool{},
		clients: map[server]sdk.ModelClient{},
	}
	m.refresh = sync.OnceFunc(func() {
		for _, c := range o.Catalogs {
			c.RefreshCatalog()
		}
	})
	for _, info := range o.Providers {
		m.add(info)
	}
	for _, id := range slices.Sorted(maps.Keys(o.Config.Provider)) {
		if m.providers[id] == nil {
			m.add(sdk.ProviderInfo{ID: id, Name: id})
		}
		p := m.providers[id]
		p.configured = true
		p.addressed = o.Config.Provider[id].Options.BaseURL != ""
		p.info = configure(p.info, o.Config.Provider[id])
		if p.info.Protocol == "" {
			p.info.NPM, p.info.Protocol = npm.Usual, npm.Protocol(npm.Usual)
		}
		if p.info.Key != "" {
			p.keyFrom = "provider." + id + ".options.apiKey"
		}
	}
	m.findKeys()
	return m
}

// add adds a provider, or replaces it. Its models are read when they are first needed.
func (m *Models) add(info sdk.ProviderInfo) {
	if m.providers[info.ID] == nil {
		m.order = append(m.order, info.ID)
	}
	p := &provider{info: info, base: info.Models, account: account{asking: make(chan struct{}, 1)}}
	p.info.Models = nil
	p.described = sync.OnceValue(func() map[string]sdk.Model { return m.readModels(p) })
	p.models = sync.OnceValue(func() map[string]sdk.Model { return m.configureModels(p, p.described()) })
	m.providers[info.ID] = p
}

// readModels joins the models of the plugin and of the catalogs.
func (m *Models) readModels(p *provider) map[string]sdk.Model {
	out := map[string]sdk.Model{}
	for _, c := range m.o.Catalogs {
		known, _ := c.CatalogModels(p.info.ID) // part of the program, and tested; without it the model is used as its name says
		maps.Copy(out, known)
	}
	p.catalogued = len(out) > 0
	maps.Copy(out, p.base)
	return out
}

// findKeys looks up the providers' keys in the environment, and notes the variables that shell commands must not get.
func (m *Models) findKeys() {
	env := map[string]string{}
	for _, kv := range m.o.Environ {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
		for _, secret := range m.o.Secrets {
			if len(secret) >= minSecret && strings.Contains(value, secret) {
				m.secretEnv[name] = true
			}
		}
	}
	for _, id := range m.order {
		p := m.providers[id]
		p.fill(env)
		for _, name := range p.info.Env {
			m.secretEnv[name] = true
			if p.info.Key != "" || env[name] == "" {
				continue
			}
			if m.o.Foreign[id] != "" {
				p.withheld = name
				continue
			}
			p.info.Key, p.keyFrom = env[name], name
		}
		m.signIn(p)
	}
}

// enabled reports whether the configuration lets the provider be used.
func (m *Models) enabled(id string) bool {
	c := m.o.Config
	return !slices.Contains(c.DisabledProviders, id) && (len(c.EnabledProviders) == 0 || slices.Contains(c.EnabledProviders, id))
}

// complete fills in fields that a table may leave out.
func complete(model sdk.Model, providerID, id string) sdk.Model {
	model.ProviderID, model.ID = providerID, id
	model.Name = cmp.Or(model.Name, id)
	model.APIID = cmp.Or(model.APIID, id)
	return model
}

// free reports whether the server offers the model without a price.
func (p *provider) free(id string) bool {
	m, known := p.models()[id]
	return known && m.Cost.Input == 0 && m.Cost.Output == 0
}

// addressNote returns a note for messages about the variable that has the address; empty without one.
func (p *provider) addressNote() string {
	if p.addressFrom == "" {
		return ""
	}
	return "; its address is from " + p.addressFrom
}

// known returns the model from the table, or a model with nothing but its name.
func (m *Models) known(providerID, id string) sdk.Model {
	p := m.providers[providerID]
	model, ok := p.models()[id]
	if !ok {
		model = m.ruled(&p.info, undescribed(&p.info, id)) // neither a catalog nor the configuration has it
	}
	return complete(model, providerID, id)
}

// Resolve returns the model with the name provider/model. A model that is missing from the table is accepted: it
// may be newer than the table.
func (m *Models) Resolve(name string) (sdk.Model, error) {
	providerID, id, ok := strings.Cut(name, "/")
	if !ok || providerID == "" || id == "" {
		return sdk.Model{}, fmt.Errorf("%w: %q: want provider/model, as tenon models lists them", ErrModel, name)
	}
	p := m.providers[providerID]
	if p == nil {
		return sdk.Model{}, fmt.Errorf("%w: %q: unknown provider %q; %s", ErrModel, name, providerID, m.suggestion(providerID))
	}
	if !m.enabled(providerID) {
		return sdk.Model{}, fmt.Errorf("%w: provider %q is switched off by disabled_providers or enabled_providers", ErrModel, providerID)
	}
	if !m.listed(providerID, id) {
		return sdk.Model{}, fmt.Errorf("%w: %q is switched off by provider.%s.whitelist or blacklist", ErrModel, name, providerID)
	}
	return m.known(providerID, id), nil
}

// suggestion returns the remedy for an unknown provider.
func (m *Models) suggestion(id string) string {
	const shown = 20 // more providers are not read
	if nearest.Name(id, m.order) != "" || len(m.order) <= shown {
		return nearest.Remedy(id, m.order)
	}
	return "tenon models --all lists all providers, and provider." + id + " in tenon.json adds one"
}

// client returns the client for a model, opened at its first use. A nil model means the provider's own server.
func (m *Models) client(ctx context.Context, id string, model *sdk.Model) (sdk.ModelClient, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.providers[id]
	if p == nil {
		return nil, fmt.Errorf("%w: unknown provider %q; %s", ErrModel, id, m.suggestion(id))
	}
	info := p.info
	if model != nil {
		info.NPM, info.Protocol = cmp.Or(model.NPM, info.NPM), cmp.Or(model.Protocol, info.Protocol)
		info.BaseURL = cmp.Or(model.BaseURL, info.BaseURL)
	}
	if info.Authorize != nil && !p.signsIn(info.BaseURL) {
		return nil, fmt.Errorf("%w: provider %q: model %q is at another address, where your sign-in is not sent; move it to a provider with its own key", ErrModel, id, model.ID)
	}
	if p.keyFrom == "" && p.info.PublicKey != "" && model != nil && p.free(model.ID) {
		info.Key = p.info.PublicKey
	}
	at := server{id, info.Protocol, info.NPM, info.BaseURL, info.Key != p.info.Key}
	if c := m.clients[at]; c != nil {
		return c, nil
	}
	if err := m.receivers.check(ctx, m, id, false); err != nil {
		return nil, err
	}
	if p.withheld != "" && p.info.Key == "" {
		return nil, fmt.Errorf("%w: provider %q: its address was set by a file of the project (%s), so the key in %s is not sent there; put the provider into your own configuration", ErrModel, id, m.o.Foreign[id], p.withheld)
	}
	signsIn := p.info.AccountModels && slices.ContainsFunc(m.o.AuthMethods, func(a sdk.AuthMethod) bool { return a.Provider == id })
	needed := len(p.info.Env) > 0 && !p.info.NoKey || signsIn
	if needed && p.keyFrom == "" && !at.public && !p.configured {
		keys := append(slices.Clone(p.info.Env), "provider."+id+".options.apiKey in tenon.json")
		return nil, fmt.Errorf("%w: provider %q has no key: run tenon auth login %s, or set %s", ErrModel, id, id, strings.Join(keys, " or "))
	}
	protocol, ok := m.o.Protocols[info.Protocol]
	if !ok {
		names := slices.Sorted(maps.Keys(m.o.Protocols))
		return nil, fmt.Errorf("%w: provider %q: protocol %q is unknown; set provider.%s.protocol to one of %s", ErrModel, id, info.Protocol, id, strings.Join(names, ", "))
	}
	info.KeyOnly = info.KeyOnly || m.o.Foreign[id] != ""
	c, err := protocol.Open(info)
	if err != nil {
		return nil, fmt.Errorf("%w: provider %q: %w%s", ErrModel, id, err, p.addressNote())
	}
	m.clients[at] = c
	return c, nil
}

// Model is a model that can be asked.
type Model struct {
	sdk.Model
	Provider sdk.ProviderInfo
	provider *provider
	client   sdk.ModelClient
	begins   func() // is called when an answer begins; nil: no callback
}

// Answered reports whether the provider's server ever answered a request of this process.
func (m *Model) Answered() bool { return m.provider.answered.Load() }

// TextOnly reports whether the server refused files for this model.
func (m *Model) TextOnly() bool {
	_, refused := m.provider.textOnly.Load(m.ID)
	return refused
}

// SetTextOnly notes that the server refused files for this model, as long as the configuration is used.
func (m *Model) SetTextOnly() { m.provider.textOnly.Store(m.ID, true) }

// Sent returns the model as requests describe it.
func (m *Model) Sent() sdk.Model {
	out := m.Model
	if m.TextOnly() {
		out.Modalities.Input = []string{"text"}
	}
	return out
}

// Open returns the named model, or for an empty name the default model of sessions. byRepository reports that files of the repository chose
// the name. A server with AccountModels is asked for its list first.
func (m *Models) Open(ctx context.Context, name string, byRepository bool) (*Model, error) {
	out, err := m.open(ctx, name, byRepository)
	if err != nil || !m.providers[out.ProviderID].info.AccountModels {
		return out, err
	}
	if out.Model, err = m.offered(ctx, m.providers[out.ProviderID], out.Model); err != nil {
		return nil, err
	}
	out.client, err = m.client(ctx, out.ProviderID, &out.Model)
	return out, err
}

// open is Open without requests to the server.
func (m *Models) open(ctx context.Context, name string, byRepository bool) (*Model, error) {
	var choice Picked
	var err error
	if name != "" {
		choice.Model, err = m.Resolve(name)
	} else {
		choice, err = m.Choose(ctx)
	}
	if err == nil && byRepository {
		err = m.receivers.check(ctx, m, choice.Model.ProviderID, true)
	}
	if err != nil {
		return nil, err
	}
	p := m.providers[choice.Model.ProviderID]
	out := &Model{Model: choice.Model, Provider: p.info, provider: p}
	if p.catalogued && !p.addressed {
		out.begins = m.refresh
	}
	out.client, err = m.client(ctx, out.ProviderID, &out.Model)
	return out, err
}

// Environ returns the environment of a command: the user's without keys and secrets, with the variables given in addition.
func (m *Models) Environ(more map[string]string) []string {
	env := slices.DeleteFunc(slices.Clone(m.o.Environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		_, replaced := more[name]
		return replaced || m.secretEnv[name]
	})
	for _, name := range slices.Sorted(maps.Keys(more)) {
		env = append(env, name+"="+more[name])
	}
	return env
}

// ProviderRef returns the reference of a provider.
func ProviderRef(p *sdk.ProviderInfo) sdk.ProviderRef {
	return sdk.ProviderRef{ID: p.ID, Name: p.Name, Protocol: p.Protocol}
}

// ForHooks returns a model for the input of hooks: without its headers, and the parts of its address that may be secret.
func ForHooks(m *sdk.Model) sdk.Model {
	shown := *m
	shown.Headers = nil
	if m.BaseURL != "" {
		shown.BaseURL = secret.WithoutSecrets(m.BaseURL)
	}
	return shown
}

// OutputLimit returns the maximum tokens of one answer; 0 leaves it to the server. The limit of many models is their whole context: half of that
// is for the conversation.
func OutputLimit(m *sdk.Model) int64 {
	limit := min(max(m.Limit.Output, 0), MaxOutputTokens)
	if half := m.Limit.Context / 2; half > 0 {
		limit = min(limit, half)
	}
	return limit
}

// MaxOutputTokens bounds the tokens of one answer, even of models that could write more; opencode's figure.
const MaxOutputTokens = 32_000

// TakesInput reports whether the model accepts a kind of input in addition to text. A model without a list accepts images if it accepts
// attachments.
func TakesInput(m *sdk.Model, kind string) bool {
	if len(m.Modalities.Input) == 0 {
		return m.Attachment && kind == "image"
	}
	return slices.Contains(m.Modalities.Input, kind)
}
