package hooks

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/sdk"
)

// bind checks the hooks of a plugin and applies the user's override and the defaults.
func bind(p *pluginState, list []sdk.Hook, override sdk.HookOverride, failures map[string]int) ([]*pluginHook, []error) {
	var hooks []*pluginHook
	problems := []error{checkOverride(p.Name, list, override)}
	names := map[string]bool{}
	for i, hook := range list {
		h, err := bindHook(p, hook, override)
		if err != nil {
			problems = append(problems, fmt.Errorf("plugin %q: hook %d: %w", p.Name, i+1, err))
			continue
		}
		if names[h.label()] {
			problems = append(problems, fmt.Errorf("plugin %q: two hooks named %s; give each a Name", p.Name, h.label()))
			continue
		}
		names[h.label()] = true
		h.failures.Store(int32(min(max(failures[h.label()], 0), maxFailures-1))) // continues the count of an earlier engine
		hooks = append(hooks, h)
	}
	return hooks, problems
}

func bindHook(p *pluginState, hook sdk.Hook, override sdk.HookOverride) (*pluginHook, error) {
	info, ok := hookpoint.Of(string(hook.Point))
	if !ok {
		return nil, fmt.Errorf("unknown point %q", hook.Point)
	}
	hook.Point = info.Point
	hook.Name = cmp.Or(hook.Name, string(info.Point))
	h := &pluginHook{Hook: hook, info: info, plugin: p}
	if err := h.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", h.label(), err)
	}
	if slices.Contains(hook.Before, p.Name) || slices.Contains(hook.After, p.Name) {
		return nil, fmt.Errorf("%s: before or after names its own plugin", h.label())
	}
	h.override(override)
	p.hooks = append(p.hooks, h)
	return h, nil
}

// check returns the first problem of the hook.
func (h *pluginHook) check() error {
	for _, field := range slices.Concat(h.Reads, h.Writes) {
		if field != "" && !strings.HasPrefix(field, "/") {
			return fmt.Errorf("field %q is not a JSON pointer: want an empty one or one that starts with /", field)
		}
	}
	switch {
	case (h.Handler == nil) == (h.Remote == nil):
		return errors.New("want exactly one of Handler and Remote")
	case !slices.Contains(hookpoint.Policies[:], h.OnError):
		return fmt.Errorf("unknown onError %q: want skip, deny or stop", h.OnError)
	case !h.info.Fits(h.OnError):
		return fmt.Errorf("onError %q does not fit a hook of kind %s", h.OnError, h.info.Kind)
	case h.Timeout < 0 || h.Timeout > sdk.MaxHookTimeout:
		return fmt.Errorf("timeout %s is not between 0 and %s", h.Timeout, sdk.MaxHookTimeout)
	}
	return nil
}

// override sets priority, failure policy and timeout: the user's, the manifest's or the default. The user sets the policy for the whole
// plugin, so it is ignored for hooks that do not allow it.
func (h *pluginHook) override(o sdk.HookOverride) {
	h.Priority = *cmp.Or(o.Priority, &h.Priority)
	if o.OnError != sdk.OnErrorDefault && h.info.Fits(o.OnError) {
		h.OnError = o.OnError
	}
	h.OnError = h.info.OnError(h.OnError)
	if o.Timeout > 0 {
		h.Timeout = time.Duration(o.Timeout) * time.Millisecond
	}
	h.Timeout = cmp.Or(h.Timeout, sdk.DefaultHookTimeout)
}

// checkOverride returns the first problem of the user's settings for a plugin.
func checkOverride(plugin string, list []sdk.Hook, o sdk.HookOverride) error {
	fits := slices.ContainsFunc(list, func(hook sdk.Hook) bool {
		info, ok := hookpoint.Of(string(hook.Point))
		return !ok || info.Fits(o.OnError)
	})
	problem := ""
	switch {
	case o.Timeout < 0 || o.Timeout > sdk.MaxHookTimeout.Milliseconds():
		problem = fmt.Sprintf("timeout %d is not between 0 and %d milliseconds", o.Timeout, sdk.MaxHookTimeout.Milliseconds())
	case !slices.Contains(hookpoint.Policies[:], o.OnError):
		problem = fmt.Sprintf("unknown onError %q: want skip, deny or stop", o.OnError)
	case len(list) > 0 && !fits:
		problem = fmt.Sprintf("onError %q does not fit any of its hooks", o.OnError)
	default:
		return nil
	}
	return fmt.Errorf("%w of plugin %q: %s", ErrOverride, plugin, problem)
}
