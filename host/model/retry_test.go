package model

import (
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/tenonhq/tenon/sdk"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		headers map[string]string
		want    time.Duration
	}{
		"seconds":                  {map[string]string{"retry-after": "7"}, 7 * time.Second},
		"fraction of a second":     {map[string]string{"retry-after": "0.5"}, 500 * time.Millisecond},
		"date":                     {map[string]string{"retry-after": "Sat, 21 Nov 2026 12:00:09 GMT"}, 9 * time.Second},
		"date in the past":         {map[string]string{"retry-after": "Sat, 21 Nov 2026 11:00:00 GMT"}, 0},
		"milliseconds":             {map[string]string{"retry-after-ms": "1500"}, 1500 * time.Millisecond},
		"milliseconds win":         {map[string]string{"retry-after-ms": "20", "retry-after": "9"}, 20 * time.Millisecond},
		"bad milliseconds":         {map[string]string{"retry-after-ms": "soon", "retry-after": "2"}, 2 * time.Second},
		"negative":                 {map[string]string{"retry-after": "-1"}, 0},
		"absurd":                   {map[string]string{"retry-after": "1e300"}, longestWait},
		"beyond any number":        {map[string]string{"retry-after": "1e999"}, longestWait},
		"thirty years":             {map[string]string{"retry-after": "1000000000"}, longestWait},
		"thirty years in ms":       {map[string]string{"retry-after-ms": "1e12"}, longestWait},
		"a date far away":          {map[string]string{"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, longestWait},
		"an hour":                  {map[string]string{"retry-after": "3600"}, time.Hour},
		"garbage":                  {map[string]string{"retry-after": "tomorrow"}, 0},
		"no header":                {nil, 0},
		"not a number, though one": {map[string]string{"retry-after-ms": "NaN"}, 0},
	}
	for name, c := range cases {
		headers := Merged(map[string]string{"date": "Sat, 21 Nov 2026 12:00:00 GMT"}, c.headers)
		if got := requestedWait(&sdk.ProviderError{Headers: headers}); got != c.want {
			t.Errorf("%s: requestedWait(%v) = %v, want %v", name, c.headers, got, c.want)
		}
	}
}

func TestBackoffGrowsAndIsBounded(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 40; n++ {
		least := min(2*time.Second<<min(n-1, 10), maxRetryDelay)
		for range 20 {
			got := Backoff(2*time.Second, n)
			if got < min(least, maxRetryDelay) || got > maxRetryDelay {
				t.Fatalf("backoff(2s, %d) = %v, want between %v and %v", n, got, least, maxRetryDelay)
			}
		}
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		err  error
		want class
	}{
		"too many requests":             {&sdk.ProviderError{StatusCode: 429, Message: "slow down"}, ClassRetry},
		"quota is used up":              {&sdk.ProviderError{StatusCode: 429, Code: "insufficient_quota"}, classFatal},
		"tokens per minute, not length": {&sdk.ProviderError{StatusCode: 429, Message: "Request too large for gpt-4 on tokens per min (TPM)"}, ClassRetry},
		"server error":                  {&sdk.ProviderError{StatusCode: 500}, ClassRetry},
		"overloaded":                    {&sdk.ProviderError{StatusCode: 529}, ClassRetry},
		"request timeout":               {&sdk.ProviderError{StatusCode: 408}, ClassRetry},
		"cut stream":                    {&sdk.ProviderError{StatusCode: 200, Cut: true}, ClassRetry},
		"no connection":                 {&sdk.ProviderError{Err: errors.New("connection refused")}, ClassRetry},
		"redirect to another server":    {&sdk.ProviderError{StatusCode: 307, Message: "redirect to another origin"}, classFatal},
		"error in the stream":           {&sdk.ProviderError{StatusCode: 200, Message: "Overloaded"}, ClassRetry},
		"openai's fault, without code":  {&sdk.ProviderError{StatusCode: 200, Message: "An error occurred while processing your request. You can retry your request"}, ClassRetry},
		"try your request again":        {&sdk.ProviderError{StatusCode: 200, Message: "Try your request again."}, ClassRetry},
		"a code without a message":      {&sdk.ProviderError{StatusCode: 200, Code: "too_many_requests"}, ClassRetry},
		"a gateway's server failed":     {&sdk.ProviderError{StatusCode: 200, Message: "Provider returned an error"}, ClassRetry},
		"a busy server, in the stream":  {&sdk.ProviderError{StatusCode: 200, Message: "The server is busy"}, ClassRetry},
		"envoy's error, in the stream":  {&sdk.ProviderError{StatusCode: 200, Message: "upstream connect error or disconnect/reset before headers"}, ClassRetry},
		"openai's load, in the stream":  {&sdk.ProviderError{StatusCode: 200, Code: "slow_down", Message: "Please reduce your request rate"}, ClassRetry},
		"bad request":                   {&sdk.ProviderError{StatusCode: 400, Message: "unknown parameter"}, classFatal},
		"bad request that says retry":   {&sdk.ProviderError{StatusCode: 400, Message: "try again with fewer tools"}, classFatal},
		"no such model":                 {&sdk.ProviderError{StatusCode: 404}, classFatal},
		"a malformed call at Groq":      {&sdk.ProviderError{StatusCode: 400, Code: "tool_use_failed", Body: `{"error":{"failed_generation":"too many tokens"}}`}, ClassRetry},
		"openai's model, at times":      {&sdk.ProviderError{ProviderID: "openai", StatusCode: 404, Code: "not_found_error"}, ClassRetry},
		"openai's own, without /v1":     {&sdk.ProviderError{ProviderID: "openai", StatusCode: 404, Code: "invalid_request_error", Message: "Invalid URL (POST /chat/completions)"}, classFatal},
		"no such address":               {&sdk.ProviderError{ProviderID: "openai", StatusCode: 404, Message: "404 page not found"}, classFatal},
		"no such model at openai":       {&sdk.ProviderError{ProviderID: "openai", StatusCode: 404, Code: "model_not_found"}, classFatal},
		"no money":                      {&sdk.ProviderError{StatusCode: 429, Message: "Insufficient balance or no resource package. Please recharge."}, classFatal},
		"a plan that is used up":        {&sdk.ProviderError{StatusCode: 429, Message: "Usage limit reached for 5 hours. Your limit will reset at 2026-10-01 00:00:00"}, classFatal},
		"a limit for a minute":          {&sdk.ProviderError{StatusCode: 429, Message: "Usage limit reached for this model: 10 requests per minute"}, ClassRetry},
		"another limit for a minute":    {&sdk.ProviderError{StatusCode: 429, Message: "Tokens per minute limit exhausted, try again in 20s"}, ClassRetry},
		"a plan for a month":            {&sdk.ProviderError{StatusCode: 429, Message: "Weekly/Monthly Limit Exhausted. Your limit will reset at 2026-10-01 00:00:00"}, classFatal},
		"bad key, Google":               {&sdk.ProviderError{StatusCode: 400, Message: "API key not valid. Please pass a valid API key."}, classAuth},
		"bad key, xAI":                  {&sdk.ProviderError{StatusCode: 400, Message: "Incorrect API key provided: ab***cd."}, classAuth},
		"bad key":                       {&sdk.ProviderError{StatusCode: 401}, classAuth},
		"no access":                     {&sdk.ProviderError{StatusCode: 403}, classAuth},
		"empty refusal":                 {&sdk.ProviderError{StatusCode: 400, Message: "bad request"}, ClassOverflow},
		"moonshot overflow":             {&sdk.ProviderError{StatusCode: 400, Message: "Your request exceeded model token limit: 262144"}, ClassOverflow},
		"ollama overflow":               {&sdk.ProviderError{StatusCode: 400, Message: "prompt too long; exceeded max context length by 4 tokens"}, ClassOverflow},
		"aws throttling":                {&sdk.ProviderError{StatusCode: 429, Code: "ThrottlingException", Message: "Too many tokens, please wait before trying again."}, ClassRetry},
		"told not to retry":             {&sdk.ProviderError{StatusCode: 500, Headers: map[string]string{"x-should-retry": "false"}}, classFatal},
		"told to retry":                 {&sdk.ProviderError{StatusCode: 400, Message: "no", Headers: map[string]string{"x-should-retry": "true"}}, ClassRetry},
		"plan used up":                  {&sdk.ProviderError{StatusCode: 429, Code: "usage_not_included"}, classFatal},
		"openai overflow":               {&sdk.ProviderError{StatusCode: 400, Code: "context_length_exceeded"}, ClassOverflow},
		"anthropic overflow":            {&sdk.ProviderError{StatusCode: 400, Message: "prompt is too long: 201000 tokens > 200000 maximum"}, ClassOverflow},
		"anthropic, too many images":    {&sdk.ProviderError{StatusCode: 400, Message: "messages.19.content.27.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels"}, ClassOverflow},
		"llama.cpp overflow":            {&sdk.ProviderError{StatusCode: 400, Message: "the request exceeds the available context size"}, ClassOverflow},
		"nova overflow":                 {&sdk.ProviderError{StatusCode: 400, Message: "Input Tokens Exceeded: Number of input tokens exceeds maximum length."}, ClassOverflow},
		"vllm overflow":                 {&sdk.ProviderError{StatusCode: 400, Message: "The decoder prompt (length 9000) is longer than the maximum model length of 8192."}, ClassOverflow},
		"google overflow":               {&sdk.ProviderError{StatusCode: 400, Message: "The input token count exceeds the maximum number of tokens allowed"}, ClassOverflow},
		"overflow with status 500":      {&sdk.ProviderError{StatusCode: 500, Message: "This model's maximum context length is 8192 tokens"}, ClassOverflow},
		"body too large":                {&sdk.ProviderError{StatusCode: 413}, ClassOverflow},
		"wrapped":                       {fmt.Errorf("request: %w", &sdk.ProviderError{StatusCode: 503}), ClassRetry},
		"answer too long":               {&sdk.ProviderError{StatusCode: 200, Cut: true, Err: sdk.ErrAnswerLimit}, classFatal},
		"wrong type":                    {&sdk.ProviderError{Err: fmt.Errorf("%w: text: want a string", sdk.ErrWire)}, classFatal},
		"not the provider's":            {errors.New("disk full"), classFatal},
	}
	for name, c := range cases {
		if got := Classify(c.err); got != c.want {
			t.Errorf("%s: classify(%v) = %d, want %d", name, c.err, got, c.want)
		}
	}
}

func TestWaitInBody(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]time.Duration{
		`{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.4s"}]}}`:          34400 * time.Millisecond,
		`{"error":{"type":"usage_limit_reached","plan_type":"plus","resets_in_seconds":5000}}`:                       5000 * time.Second,
		fmt.Sprintf(`{"error":{"type":"usage_limit_reached","resets_at":%d}}`, time.Now().Add(2*time.Hour).Unix()):   2 * time.Hour,
		fmt.Sprintf(`{"error":{"type":"usage_limit_reached","resets_at":%d}}`, time.Now().Add(-time.Hour).Unix()):    0,
		fmt.Sprintf(`{"error":{"type":"usage_limit_reached","resets_at":%d.5}}`, time.Now().Add(2*time.Hour).Unix()): 2 * time.Hour,
		`{"error":{"details":[{"retryDelay":"103.946598304s"}]}}`:                                                    104 * time.Second,
		`{"error":{"type":"usage_limit_reached","resets_at":1764416833123}}`:                                         0,
		`{"error":{"type":"usage_limit_reached","resets_at":null}}`:                                                  0,
	} {
		if got := requestedWait(&sdk.ProviderError{StatusCode: 429, Body: body}); (got-want).Abs() > time.Minute || got == 0 != (want == 0) {
			t.Errorf("requestedWait(%s) = %v, want %v", body, got, want)
		}
	}
}

func TestRefusesFiles(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]bool{
		"Invalid content type. image_url is only supported by certain models.":                                true,
		"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj":      true,
		"Failed to deserialize the JSON body: messages[0]: unknown variant `image_url`, expected `text`":      true,
		"No endpoints found that support image input":                                                         true,
		"Image input is not enabled for this model":                                                           true,
		"At most 0 image(s) may be provided in one request.":                                                  true,
		"this model is missing data required for image input":                                                 true,
		"This model doesn't support the image content block that you provided.":                               true,
		"m is not a multimodal model":                                                                         true,
		"The model is not multimodal. Please remove image inputs.":                                            true,
		"The model m does not support vision.":                                                                true,
		"m does not support images. (request id: 1)":                                                          true,
		"m does not support images yet":                                                                       true,
		"m does not support images: use another model":                                                        true,
		"m does not support images":                                                                           true,
		"Invalid value: 'input_image'. Supported values are: 'input_text'.":                                   true,
		"Invalid type for 'input[4].output': expected a string, but got an array instead.":                    true,
		"Invalid type for 'input[4].content': expected a string, but got null instead.":                       false,
		"The model does not support image/webp":                                                               false,
		"The model does not support images larger than 5 MB.":                                                 false,
		"This endpoint does not support image URLs.":                                                          false,
		"messages.1.content.0.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes": false,
		"You uploaded an unsupported image. Please make sure your image is valid.":                            false,
		"Could not process image":                                                                             false,
	} {
		if got := RefusesFiles(&sdk.ProviderError{StatusCode: 400, Message: message}); got != want {
			t.Errorf("RefusesFiles(%q) = %v", message, got)
		}
	}
}

func TestRefusesReasoning(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]bool{
		"The encrypted content gAAA...c90= could not be verified.":                                    true,
		"reasoning `encrypted_content` was not issued to this caller":                                 true,
		"messages.5.content.0: Invalid `signature` in `thinking` block":                               true,
		"messages.1.content.0: Invalid signature in thinking block":                                   true,
		"`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified": true,
		"Thought signature is not valid":                                                              true,
		"prompt is too long: 201000 tokens > 200000 maximum":                                          false,
		"adaptive thinking is not supported on this model":                                            false,
		"Signature expired: 20261123T101500Z is now earlier than 20261123T101700Z":                    false,
		"max_tokens must be greater than thinking.budget_tokens":                                      false,
	} {
		if got := RefusesReasoning(&sdk.ProviderError{StatusCode: 400, Message: message}); got != want {
			t.Errorf("RefusesReasoning(%q) = %v", message, got)
		}
	}
	if RefusesReasoning(errors.New("encrypted content")) || RefusesReasoning(nil) {
		t.Error("an error of something else")
	}
}

// TestWaitOfAServer: a date is compared with the server's clock, whatever the local clock says, and a wait of zero is ignored.
func TestWaitOfAServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		headers     map[string]string
		least, most time.Duration
	}{
		"the clock here is ahead":  {map[string]string{"date": "Sat, 21 Nov 2009 12:00:00 GMT", "retry-after": "Sat, 21 Nov 2009 12:00:40 GMT"}, 40 * time.Second, 40 * time.Second},
		"the clock here is behind": {map[string]string{"date": "Fri, 21 Nov 2099 12:00:00 GMT", "retry-after": "Fri, 21 Nov 2099 12:00:40 GMT"}, 40 * time.Second, 40 * time.Second},
		"zero":                     {map[string]string{"retry-after": "0"}, DefaultRetryDelay, maxRetryDelay},
		"a date in the past":       {map[string]string{"retry-after": "Sat, 21 Nov 2009 12:00:00 GMT"}, DefaultRetryDelay, maxRetryDelay},
	} {
		got, err := RetryDelay(sdk.RetryConfig{}, &sdk.ProviderError{StatusCode: 429, Headers: c.headers}, 0)
		if err != nil || got < c.least || got > c.most {
			t.Errorf("%s: RetryDelay = %v, %v, want %v to %v", name, got, err, c.least, c.most)
		}
	}
}

func TestPriceTiers(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"context", ""} { // models.dev leaves it out of many tiers
		tier := sdk.PriceTier{Input: 2_000_000, Tier: sdk.TierBound{Type: typ, Size: 272_000}}
		m := &sdk.Model{Cost: sdk.ModelCost{Input: 1_000_000, Over200K: &sdk.ModelCost{Input: 9_000_000}, Tiers: []sdk.PriceTier{tier}}}
		for prompt, want := range map[int64]sdk.Price{100: 1_000_000, 272_000: 9_000_000, 272_001: 2_000_000} {
			if got := StepCost(m, sdk.Tokens{Input: prompt}); got != want.Times(prompt) {
				t.Errorf("type %q: %d tokens cost %s, want %s", typ, prompt, got, want.Times(prompt))
			}
		}
	}
}

// A server that could not be reached is asked as often as one that fails; only a silent server is not, because each attempt takes minutes.
func TestRetriesWithoutConnection(t *testing.T) {
	t.Parallel()
	unreached := &sdk.ProviderError{Err: &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}}
	if _, err := RetryDelay(sdk.RetryConfig{}, unreached, defaultRetries-1); err != nil {
		t.Errorf("the last retry of an unreachable server: %v", err)
	}
	if _, err := RetryDelay(sdk.RetryConfig{}, &sdk.ProviderError{Err: os.ErrDeadlineExceeded}, silentRetries); err == nil {
		t.Error("a silent server has more retries")
	}
}
