package model

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

const (
	defaultRetries    = 5
	DefaultRetryDelay = 2 * time.Second  // before the first retry
	maxRetryDelay     = 30 * time.Second // if the server requests no other delay
	maxRetryAfter     = 10 * time.Minute // longest wait that a server may request; if it requests more, the turn fails
	// silentRetries bounds the retries if a server sent nothing for the whole idle time: each attempt takes minutes.
	silentRetries = 1
)

// class is the consequence of a failed model request for the turn.
type class uint8

const (
	classFatal    class = iota // a retry would not help
	ClassRetry                 // the failure may be temporary
	ClassOverflow              // the conversation is too long for the model
	classAuth                  // the key is missing or refused
)

// Compiled when a request first fails, so that they do not slow down every start.
var (
	// overflowText matches errors of well-known servers about a prompt that is too long.
	overflowText = lazyregexp.New(`(?i)context[ _]?length|context ?window|maximum (context|prompt length|sequence length|model length)|number of input tokens exceeds|maximum allowed input length|(prompt|input) is too long|prompt too long|request_too_large|` +
		`too many (input |prompt )?tokens|token limit exceeded|input token count.* exceeds the maximum|tokens in request more than max tokens allowed|` +
		`reduce the length of the messages|exceeds? the (maximum|available|model'?s?) (context|number of tokens)|exceeds the limit of \d+|exceeded model token limit|` +
		`prompt (token count of|has) \d+|max_prompt_tokens_exceeded|exceed_context_size|tokens \+ .max_new_tokens. must be|request (too large for|entity too large)|` +
		`exceed(s|ed)? (context limit|max_prompt_tokens)|prompt exceeds max|range of input length|must have less than \d+ tokens|must be less than max_seq_len|Prompt 超长|` +
		`too large for model with \d+ maximum|input length.* exceeds|model_context_window_exceeded|many-image requests|too much media|too many total text bytes|exceed the configured limit of \d+ tokens`)
	// rateText matches rate limits: those that mention tokens are not an overflow.
	rateText = lazyregexp.New(`(?i)per (minute|day|hour)|\b(TPM|RPM|TPD)\b|rate.?limit|throttl|wait before trying`)
	// passingText matches server errors that may be temporary, whatever their status.
	passingText = lazyregexp.New(`(?i)rate.?limit|too.many.requests|slow.?down|overloaded|server.?error|internal error|try again|temporarily|unavailable|resource.?exhausted|timed? ?out|capacity|provider returned (an )?error|network error|connection (refused|reset)|socket hang up|retry (the|your) request|your request again|server (is )?busy|upstream connect`)
	// reasoningText matches errors of OpenAI, Anthropic and Google that refuse reasoning.
	reasoningText = lazyregexp.New("(?i)encrypted[_ ]content|signature.{0,9} in .{0,9}thinking|thinking.{0,40} cannot be modified|thought[_ ]signature")
	// filesText matches errors of servers, such as those of OpenAI, DeepSeek, OpenRouter, Bedrock, llama.cpp, vLLM and Ollama, about a model without images.
	filesText = lazyregexp.New("(?i)images? inputs? (is|are) not (supported|enabled)|support image input|(not|n't) support (the )?(images?|vision|multimodal)|not (a )?multimodal|" +
		"image_url is only supported|unknown variant .image_url|at most 0 image|required for image input|" +
		`invalid (value|type)[^.]{0,20}(input_image|input\[\d+\]\.output\b)`) // older servers of Responses, about the result of a tool
	// oneFileText matches those about one type, size or place of images.
	oneFileText = lazyregexp.New(`(?i)support (the )?images?(/\w+| (urls?|larger|bigger|smaller|above|over|of)\b)`)
	// keyText matches what Google and xAI say of a wrong key, with the status 400.
	keyText = lazyregexp.New(`(?i)api key not valid|incorrect api key`)
	// balanceText matches what Z.AI and Moonshot say of an account without money or with a plan that is used up, with the status 429.
	balanceText = lazyregexp.New(`(?i)insufficient balance|package has expired|usage limit reached for \d+ (hour|day|week|month)|monthly limit exhausted|plan does not yet include`)
	// finalCode matches codes of permanent refusals.
	finalCode = lazyregexp.New(`^(insufficient_quota|billing_hard_limit_reached|usage_not_included|invalid_prompt)$`)
)

// Classify is the only place that interprets provider errors.
func Classify(err error) class {
	var pe *sdk.ProviderError
	if !errors.As(err, &pe) || errors.Is(err, sdk.ErrAnswerLimit) || errors.Is(err, sdk.ErrWire) {
		return classFatal
	}
	if pe.Code == "tool_use_failed" { // Groq: the model wrote a malformed call, which the body quotes
		return ClassRetry
	}
	said := visible.Cut(pe.Code, maxErrorText, "…") + " " + visible.Cut(pe.Message, maxErrorText, "…") + " " + visible.Cut(pe.Body, maxErrorBody, "…")
	if pe.StatusCode != http.StatusTooManyRequests && !rateText().MatchString(said) &&
		(overflowText().MatchString(said) || pe.StatusCode == http.StatusRequestEntityTooLarge) {
		return ClassOverflow
	}
	switch code := pe.StatusCode; {
	case finalCode().MatchString(pe.Code) || code == http.StatusTooManyRequests && balanceText().MatchString(pe.Message):
		return classFatal
	case code == http.StatusBadRequest && pe.Body == "" && strings.EqualFold(pe.Message, http.StatusText(code)): // Cerebras and Mistral refuse long prompts without an explanation
		return ClassOverflow
	case code == http.StatusUnauthorized || code == http.StatusForbidden || code == http.StatusBadRequest && keyText().MatchString(pe.Message):
		return classAuth
	case pe.Headers["x-should-retry"] == "false":
		return classFatal
	case pe.Headers["x-should-retry"] == "true":
		return ClassRetry
	case code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code == http.StatusConflict || code == http.StatusTooEarly || code >= 500:
		return ClassRetry
	case code == http.StatusNotFound && strings.HasPrefix(pe.ProviderID, "openai") && pe.Code != "" && pe.Code != "model_not_found" && !strings.HasPrefix(pe.Message, "Invalid URL"):
		return ClassRetry // OpenAI sometimes reports this for models that it has
	case pe.Cut, code == 0:
		return ClassRetry // the connection or the stream failed; the server did not refuse
	case code < 400 && passingText().MatchString(said):
		return ClassRetry // an error inside a stream that began well
	}
	return classFatal
}

// RefusesFiles reports whether the server refuses images and documents for the model.
func RefusesFiles(err error) bool {
	pe, ok := errors.AsType[*sdk.ProviderError](err)
	if !ok {
		return false
	}
	text := visible.Cut(pe.Message, maxErrorText, "…")
	return filesText().MatchString(text) && !oneFileText().MatchString(text)
}

// RefusesReasoning reports whether the server refuses encrypted or signed reasoning of earlier answers, such as after a change of the account.
func RefusesReasoning(err error) bool {
	pe, ok := errors.AsType[*sdk.ProviderError](err)
	return ok && pe.StatusCode < http.StatusInternalServerError && reasoningText().MatchString(pe.Code+" "+visible.Cut(pe.Message, maxErrorText, "…"))
}

// tooLongToWait returns the error of a server that requests a longer wait than maxRetryAfter.
func tooLongToWait(pe *sdk.ProviderError, wait time.Duration) error {
	out, asked := *pe, wait.Round(time.Second).String()
	if wait == longestWait {
		asked += " or more"
	}
	out.Message = fmt.Sprintf("%s; the server requests a wait of %s; tenon waits at most %s", cmp.Or(pe.Message, "no reason given"), asked, maxRetryAfter)
	return &out
}

// longestWait is the longest result of requestedWait.
const longestWait = 10_000 * time.Hour

// bodyWait finds the requested wait in the body of an error. Google sends "retryDelay": "34.4s", see
// https://cloud.google.com/apis/design/errors (google.rpc.RetryInfo). ChatGPT, whose plans have limits for hours and weeks, sends seconds
// or a Unix time.
var bodyWait = lazyregexp.New(`"(?:retryDelay|resets_(in_seconds|at))"\s*:\s*"?([0-9]{1,12}(?:\.[0-9]*)?)[^0-9.]`)

// requestedWait returns the wait that the server requests, at most longestWait: retry-after-ms, or retry-after in seconds or as a date
// (RFC 9110, 10.2.3), or in the body. Other values count as absent. So does 0, which would use up all retries in an instant.
func requestedWait(pe *sdk.ProviderError) time.Duration {
	after := pe.Headers["retry-after"]
	wait := cmp.Or(waitOf(pe.Headers["retry-after-ms"], time.Millisecond), waitOf(after, time.Second))
	if at, err := http.ParseTime(after); err == nil && wait == 0 {
		now, err := http.ParseTime(pe.Headers["date"]) // retry-after as a date refers to the server's clock
		if err != nil {
			now = time.Now()
		}
		wait = min(max(0, at.Sub(now)), longestWait)
	}
	if m := bodyWait().FindStringSubmatch(pe.Body); m != nil && wait == 0 {
		wait = waitOf(m[2], time.Second)
		if at, err := strconv.ParseFloat(m[2], 64); m[1] == "at" && err == nil {
			wait = min(max(0, time.Until(time.Unix(int64(at), 0))), longestWait)
		}
	}
	return wait
}

// waitOf parses a number of units, or returns 0. A number too large for a float64 means the longest wait.
func waitOf(v string, unit time.Duration) time.Duration {
	n, err := strconv.ParseFloat(v, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || !(n >= 0) { // NaN is not a number to wait for
		return 0
	}
	return time.Duration(min(n, float64(longestWait/unit)) * float64(unit))
}

// Backoff returns the delay before retry n, from 1: base, doubled each time, with up to a quarter of jitter.
func Backoff(base time.Duration, n int) time.Duration {
	d := base
	for range n - 1 {
		if d *= 2; d >= maxRetryDelay {
			break
		}
	}
	d += time.Duration(rand.Int64N(int64(d)/4 + 1))
	return min(d, maxRetryDelay)
}

// Retries returns the maximum number of retries of a request.
func Retries(cfg sdk.RetryConfig) int { return *cmp.Or(cfg.Max, new(defaultRetries)) }

// RetryDelay returns the wait before the next retry of a request that failed with err, which may be temporary. After the last retry, it
// returns the final error.
func RetryDelay(cfg sdk.RetryConfig, err error, retries int) (time.Duration, error) {
	limit, base := Retries(cfg), DefaultRetryDelay
	if cfg.DelayMS > 0 {
		base = time.Duration(cfg.DelayMS) * time.Millisecond
	}
	if errors.Is(err, os.ErrDeadlineExceeded) && !errors.As(err, new(*net.OpError)) { // a failed connection takes only seconds
		limit = min(limit, silentRetries)
	}
	if retries >= limit {
		return 0, err
	}
	if pe, ok := errors.AsType[*sdk.ProviderError](err); ok {
		if d := requestedWait(pe); d > maxRetryAfter {
			return 0, tooLongToWait(pe, d)
		} else if d > 0 {
			return d, nil
		}
	}
	return Backoff(base, retries+1), nil
}
