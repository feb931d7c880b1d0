package generation

import (
	"log/slog"

	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// Options configure a host. Config, Store, Logger and Project are required.
type Options struct {
	Config *sdk.Config
	// PublicConfig is Config without secrets, for plugins. Default: an empty configuration.
	PublicConfig *sdk.Config
	Project      sdk.Project
	Store        store.Store // the caller closes it after the host
	Logger       *slog.Logger
	Version      string // of tenon, for session rows and the User-Agent
	// Environ is the environment that keys are looked up in and that shell commands get, in the form of
	// os.Environ, without the variables that hold keys.
	Environ []string
	// Secrets are values of the configuration, longest first. They are removed from errors, notices and the ledger. UserSecrets are those that
	// the repository's files do not contain. Variables that hold one are not passed to shell commands.
	Secrets, UserSecrets []string
	// Foreign names the providers whose address a file of the project chose, with the place. They get no
	// key from Environ.
	Foreign map[string]string
	// SignIn adds the user's stored credentials to a provider; see model.Options.SignIn.
	SignIn func(*model.SignInRequest) (source string)
	// Own is the user's own configuration of providers, models, agents and commands, without files of the repository. Nil: files of the
	// repository do not configure those.
	Own *sdk.Config
	// FromProject reports whether an agent or command with this Origin was defined by a file of the repository. Nil: none was.
	// Quick and safe for concurrent use.
	FromProject func(origin string) bool
	// ApprovedReceiver reports whether the user approved a Receiver, by its digest. Nil: none. Quick and safe for concurrent use.
	ApprovedReceiver func(digest string) bool
	// Interactive reports that a user answers permission requests and questions (ReplyPermission,
	// ReplyQuestion). Otherwise requests that need an answer are refused.
	Interactive bool
	// AutoApprove allows requests that no rule denies instead of asking.
	AutoApprove bool
	// Policy decides which permission rules and templates of commands count. Its Home is set to the project's.
	Policy        permission.Policy
	ReloadOptions // of the first generation
}
