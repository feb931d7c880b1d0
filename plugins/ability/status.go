package ability

import (
	"errors"
	"fmt"

	"github.com/tenonhq/tenon/sdk/guest"
)

// problem is an error with a status other than StatusFailed.
type problem struct {
	status guest.Status
	text   string
}

// Error returns the text.
func (p *problem) Error() string { return p.text }

// limited returns the error for an exceeded quota, rate or size.
func limited(format string, args ...any) error {
	return &problem{guest.StatusLimited, fmt.Sprintf(format, args...)}
}

// denied returns the error for a missing grant; scope is the missing entry of its scope.
func (b *Broker) denied(capability, scope string) error {
	what := fmt.Sprintf("the capability %q", capability)
	if scope != "" {
		what += fmt.Sprintf(" with %q in its scope", scope)
	}
	return &problem{guest.StatusDenied, fmt.Sprintf("plugin %q was not granted %s; list it in the plugin's capabilities and let the user approve it (tenon plugin trust)", b.plugin, what)}
}

// missing returns the error for an ability that this host lacks.
func missing(what string) error {
	return fmt.Errorf("this host does not give plugins %s", what)
}

// statusOf returns the status for an error.
func statusOf(err error) guest.Status {
	if p, ok := errors.AsType[*problem](err); ok {
		return p.status
	}
	return guest.StatusFailed
}
