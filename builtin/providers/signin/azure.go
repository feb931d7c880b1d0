package signin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/child"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// azureTimeout limits one call of the Azure CLI, which takes one to five seconds.
	azureTimeout = 40 * time.Second
	// maxAzureError is the maximum length of the CLI's error in ours, in bytes.
	maxAzureError = 500
	// Scopes of tokens, see https://learn.microsoft.com/azure/ai-foundry/openai/how-to/managed-identity.
	scopeCognitive = "https://cognitiveservices.azure.com/.default"
	scopeFoundry   = "https://ai.azure.com/.default"
)

// azure gets tokens of Microsoft Entra ID from the Azure CLI, where the user signs in with "az login".
type azure struct {
	command []string // the CLI; tests set another program
	project string   // programs below this directory are never run
}

func (a *azure) login(ctx context.Context, options sdk.Object, user sdk.AuthUser) (*sdk.Token, error) {
	user.Notice("the token comes from the Azure CLI (az account get-access-token), which uses the account of az login")
	return a.token(ctx, options)
}

func (a *azure) refresh(ctx context.Context, options sdk.Object, _ *sdk.Token) (*sdk.Token, error) {
	return a.token(ctx, options)
}

// token asks the CLI for a token.
func (a *azure) token(ctx context.Context, options sdk.Object) (*sdk.Token, error) {
	ctx, cancel := context.WithTimeout(ctx, azureTimeout)
	defer cancel()
	args := append(a.command[1:len(a.command):len(a.command)], "account", "get-access-token", "--scope", azureScope(text(options, "baseURL", "")), "--output", "json")
	path, err := projectfs.LookPath(a.command[0], a.project)
	if err != nil {
		return nil, errors.New("the Azure CLI is not installed: az not found on PATH; see https://learn.microsoft.com/cli/azure/install-azure-cli")
	}
	cmd := exec.CommandContext(ctx, path, args...)
	child.Prepare(cmd)
	// The CLI that pip installs imports Python modules from its working directory, which must not be the project. Dir also replaces PWD.
	cmd.Dir = filepath.VolumeName(os.TempDir()) + string(filepath.Separator)
	// The rest is the user's environment: the CLI has variables for its settings and proxies.
	cmd.Env = append(cmd.Environ(), "PATH="+projectfs.Path(os.Getenv("PATH"), a.project))
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("az did not return a token in time: %w", ctx.Err())
	case err != nil:
		return nil, fmt.Errorf("az: %w: %s; run: az login", err, visible.Clean(problem.String(), maxAzureError))
	}
	return azureToken(out.Bytes())
}

// azureToken reads the answer of the CLI, see https://learn.microsoft.com/cli/azure/account#az-account-get-access-token.
func azureToken(answer []byte) (*sdk.Token, error) {
	var t struct {
		Access  string `json:"accessToken"`
		Expires int64  `json:"expires_on"` // seconds since 1970; since version 2.54
	}
	if err := json.Unmarshal(answer, &t); err != nil || t.Access == "" {
		return nil, errors.New("az: the answer has no accessToken; update the Azure CLI")
	}
	return &sdk.Token{Access: t.Access, Expires: t.Expires * 1000}, nil
}

// azureServes reports whether an address is another service of the provider's resource, such as Claude's. They accept the same tokens.
func azureServes(info *sdk.ProviderInfo, address string) bool {
	resource := azureResource(address)
	return resource != "" && (strings.EqualFold(resource, text(info.Options, "resourceName", "")) || resource == azureResource(info.BaseURL))
}

// azureResource returns the resource at an address of Azure, in lower case, or "".
func azureResource(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" {
		return ""
	}
	resource, service, _ := strings.Cut(strings.ToLower(u.Host), ".")
	if !slices.Contains([]string{"openai.azure.com", "cognitiveservices.azure.com", "services.ai.azure.com"}, service) {
		return ""
	}
	return resource
}

// azureScope returns the scope of tokens for an address. Foundry's addresses outside of /models have their own.
func azureScope(base string) string {
	u, err := url.Parse(base)
	if err == nil && strings.HasSuffix(strings.ToLower(u.Hostname()), ".services.ai.azure.com") && !strings.HasPrefix(u.Path, "/models") {
		return scopeFoundry
	}
	return scopeCognitive
}
