package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

const (
	defaultRetries    = 5
	defaultRetryDelay = 2 * time.Second
	maxRetryDelay     = 30 * time.Second // of our own choice
	maxRetryAfter     = 10 * time.Minute // that a server may ask for; beyond it the turn fails and says so
	// silentRetries is how often a server that said nothing for the whole idle time is asked again: each try
	// costs minutes.
	silentRetries = 1
)

// class is what a failed model request means for the turn.
type class uint8

const (
	classFatal    class = iota // asking again would not help
	classRetry                 // it may pass
	classOverflow              // the conversation is too long for the model
	classAuth                  // the key is missing or refused
)

// Compiled when a request first fails: a start need not pay for them.
var (
	// overflowText is how well-known servers say that the prompt is too long.
	overflowText = lazily(`(?i)context[ _]?length|context window|maximum (context|prompt length)|prompt is too long|input is too long|too many (input |prompt )?tokens in|` +
		`exceeds? the (maximum|available|model'?s?) (context|number of tokens)|prompt token count of \d+ exceeds|max_prompt_tokens_exceeded|exceed_context_size|tokens \+ .max_new_tokens. must be|request too large for`)
	// rateText keeps rate limits that speak of tokens from being read as an overflow.
	rateText = lazily(`(?i)per (minute|day|hour)|\b(TPM|RPM|TPD)\b|rate.?limit`)
	// passingText is how servers say that a failure may pass, whatever their status.
	passingText = lazily(`(?i)rate.?limit|too many requests|overloaded|server.?error|internal error|try again|temporarily|unavailable|resource.?exhausted|timed? ?out|capacity`)
)

func lazily(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// classify is the one place that reads meaning into provider errors.
func classify(err error) class {
	var pe *sdk.ProviderError
	if !errors.As(err, &pe) || errors.Is(err, sdk.ErrAnswerLimit) {
		return classFatal
	}
	said := visible.Cut(pe.Code, maxErrorText, "…") + " " + visible.Cut(pe.Message, maxErrorText, "…") + " " + visible.Cut(pe.Body, maxErrorBody, "…")
	if pe.StatusCode != http.StatusTooManyRequests && !rateText().MatchString(said) &&
		(overflowText().MatchString(said) || pe.StatusCode == http.StatusRequestEntityTooLarge) {
		return classOverflow
	}
	switch code := pe.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return classAuth
	case code == http.StatusTooManyRequests && (pe.Code == "insufficient_quota" || pe.Code == "billing_hard_limit_reached"):
		return classFatal
	case code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code == http.StatusConflict || code == http.StatusTooEarly || code >= 500:
		return classRetry
	case pe.Cut, code == 0:
		return classRetry // the connection or the stream, not an answer
	case code < 400 && passingText().MatchString(said):
		return classRetry // an error inside a stream that began well
	}
	return classFatal
}

// tooLongToWait returns the error of a server that asks for a longer wait than maxRetryAfter.
func tooLongToWait(pe *sdk.ProviderError, wait time.Duration) error {
	out, asked := *pe, wait.Round(time.Second).String()
	if wait == longestWait {
		asked += " or more"
	}
	out.Message = fmt.Sprintf("%s; the server asks to wait %s, and tenon waits %s at most", cmp.Or(pe.Message, "no reason given"), asked, maxRetryAfter)
	return &out
}

// longestWait is what retryAfter returns for everything above it.
const longestWait = 10_000 * time.Hour

// retryAfter returns how long the server asks us to wait, at most longestWait: retry-after-ms, or retry-after in seconds or as
// a date (RFC 9110, 10.2.3). A value that is none of these counts as absent.
func retryAfter(headers map[string]string, now time.Time) (time.Duration, bool) {
	if d, ok := waitOf(headers["retry-after-ms"], time.Millisecond); ok {
		return d, true
	}
	v := headers["retry-after"]
	if v == "" {
		return 0, false
	}
	if d, ok := waitOf(v, time.Second); ok {
		return d, true
	}
	if at, err := http.ParseTime(v); err == nil {
		return min(max(0, at.Sub(now)), longestWait), true
	}
	return 0, false
}

// waitOf reads a number of units; a number too large for a float64 is the longest wait.
func waitOf(v string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(v, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || !(n >= 0) { // NaN is not a number to wait for
		return 0, false
	}
	return time.Duration(min(n, float64(longestWait/unit)) * float64(unit)), true
}

// backoff returns the delay before retry n, from 1: base, doubled each time, with up to a quarter of jitter.
func backoff(base time.Duration, n int) time.Duration {
	d := base
	for range n - 1 {
		if d *= 2; d >= maxRetryDelay {
			break
		}
	}
	d += time.Duration(rand.Int64N(int64(d)/4 + 1))
	return min(d, maxRetryDelay)
}

// retry decides what a failed request leads to. It keeps what came of the answer, out of the model's
// sight, and plans the next try.
func (t *turn) retry(err error) (event, error) {
	switch classify(err) {
	case classOverflow:
		if !t.autoCompact() {
			return evFail, t.overflowError(err)
		}
		t.setAside()
		return evOverflow, nil
	case classRetry:
	default:
		if errors.Is(err, sdk.ErrAnswerLimit) {
			t.setAside() // it would fill the context of every later request
		}
		return evFail, err
	}
	cfg := t.g.config.Retry
	limit, base := defaultRetries, defaultRetryDelay
	if cfg.Max != nil {
		limit = *cfg.Max
	}
	if cfg.DelayMS > 0 {
		base = time.Duration(cfg.DelayMS) * time.Millisecond
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		limit = min(limit, silentRetries)
	}
	if t.tries >= limit {
		return evFail, err
	}
	t.tries++
	t.delay = backoff(base, t.tries)
	var pe *sdk.ProviderError
	if errors.As(err, &pe) {
		if d, ok := retryAfter(pe.Headers, time.Now()); ok {
			if d > maxRetryAfter {
				return evFail, tooLongToWait(pe, d)
			}
			t.delay = d
		}
	}
	t.setAside()
	named := t.g.wireError(err)
	t.c.addPart(&sdk.RetryPart{PartHead: t.c.newPart(t.msg), Attempt: t.tries, Error: *named, Time: sdk.RetryTime{Created: now()}})
	t.status(sdk.SessionStatus{Type: sdk.StatusRetry, Attempt: t.tries, Message: t.g.hide(err.Error()), Next: time.Now().Add(t.delay).UnixMilli()})
	return evRetry, nil
}

// setAside closes the parts of a broken answer, keeps the beginning of their texts and marks them so that the model does not get them.
func (t *turn) setAside() {
	for _, p := range t.c.parts(t.msg.ID) {
		changed := false
		t.c.locked(func() { changed = setAsidePart(p) })
		if changed {
			t.c.putPart(p)
		}
	}
}

// maxCutText is how much is kept of each text of a broken answer, in bytes: the rest would be stored, loaded and shown for nothing.
const maxCutText = 64 << 10

// ignoredKey marks reasoning and tool parts of a broken answer in their metadata, as Ignored does text.
const ignoredKey = "ignored"

func setAsidePart(p sdk.Part) bool {
	closePart(p, interruptedByCut)
	switch p := p.(type) {
	case *sdk.TextPart:
		if p.Ignored {
			return false
		}
		p.Text, p.Ignored = visible.Cut(p.Text, maxCutText, "…"), true
	case *sdk.ReasoningPart:
		if p.Metadata[ignoredKey] == true {
			return false
		}
		p.Text, p.Metadata = visible.Cut(p.Text, maxCutText, "…"), withKey(p.Metadata, ignoredKey, true)
	case *sdk.ToolPart:
		if p.Metadata[ignoredKey] == true {
			return false
		}
		p.Metadata = withKey(p.Metadata, ignoredKey, true)
	default:
		return false
	}
	return true
}

// withKey returns a copy of o with one more field: parts that were recorded must not change.
func withKey(o sdk.Object, key string, value any) sdk.Object {
	c := make(sdk.Object, len(o)+1)
	for k, v := range o {
		c[k] = v
	}
	c[key] = value
	return c
}

// wait sleeps until the next try is due.
func (t *turn) wait(ctx context.Context) (event, error) {
	if err := sleep(ctx, t.delay); err != nil {
		return evFail, err
	}
	t.status(sdk.SessionStatus{Type: sdk.StatusBusy})
	return evRetryDue, nil
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// providerNamed turns a provider's error into its form on the wire.
func providerNamed(pe *sdk.ProviderError) *sdk.NamedError {
	switch classify(pe) {
	case classAuth:
		return &sdk.NamedError{Name: sdk.ErrorProviderAuth, Data: sdk.ErrorData{ProviderID: pe.ProviderID, Message: pe.Error()}}
	case classOverflow:
		return &sdk.NamedError{Name: sdk.ErrorContextOverflow, Data: sdk.ErrorData{Message: pe.Error(), ResponseBody: pe.Body}}
	}
	return &sdk.NamedError{Name: sdk.ErrorAPI, Data: sdk.ErrorData{
		Message: pe.Error(), StatusCode: pe.StatusCode, IsRetryable: classify(pe) == classRetry,
		ResponseHeaders: pe.Headers, ResponseBody: pe.Body,
	}}
}
