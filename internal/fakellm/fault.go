package fakellm

import (
	"net/http"
	"strconv"
)

// Status answers with an HTTP status and a body.
func Status(code int, body string) Reply {
	return Reply{status: code, body: []byte(body)}.Header("Content-Type", "application/json")
}

// Error answers with an HTTP status and OpenAI's error body.
func Error(code int, kind, message string) Reply {
	return Status(code, string(errorBody(kind, message)))
}

// RetryAfter answers 429 with retry-after in seconds.
func RetryAfter(seconds int) Reply {
	return Error(http.StatusTooManyRequests, "rate_limit_exceeded", "Rate limit reached").Header("Retry-After", strconv.Itoa(seconds))
}

// Never accepts the request and sends nothing, not even headers, until the client goes away.
func Never() Reply { return Reply{never: true} }

// HTML answers 200 with a web page, as a captive portal or a wrong base URL does.
func HTML() Reply {
	return Status(http.StatusOK, "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body>Welcome</body></html>\n").
		Header("Content-Type", "text/html; charset=utf-8")
}

// Empty answers 200 with no body.
func Empty() Reply {
	return Status(http.StatusOK, "").Header("Content-Type", "text/event-stream")
}

// GarbageJSON answers 200 with a stream whose events are not JSON.
func GarbageJSON() Reply { return Raw("data: {\"choices\":[{\"delta\":{\"con\n\ndata: }}}\n\n") }

// GarbageSSE answers 200 with bytes that are not an event stream.
func GarbageSSE() Reply { return Raw("\x00\x01\xff\xfe\r\rnot: an\x00event\n\n\x7f\n") }

// StreamError adds an error event in mid-stream.
func (r Reply) StreamError(kind, message string) Reply {
	return r.Raw("data: " + string(errorBody(kind, message)) + "\n\n")
}

// Overflows returns, by the server's name, the answer to a prompt that is longer than the model's context, as quoted in documentation and
// public bug reports.
func Overflows() map[string]Reply {
	return map[string]Reply{
		"openai":            Status(400, `{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130512 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`),
		"openai-responses":  Status(400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`),
		"anthropic":         Status(400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}`),
		"anthropic-answer":  Status(400, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again\"}}"),
		"qwen":              Status(400, `{"error":{"code":"invalid_parameter_error","message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 202745]","param":null,"type":"invalid_request_error"}}`),
		"zai":               Status(400, `{"error":{"code":"1261","message":"Prompt exceeds max length"}}`),
		"max-prompt-tokens": Status(400, `{"error":{"message":"number of input tokens (167594) has exceeded max_prompt_tokens (163840) limit.","type":"invalid_request_error"}}`),
		"tgi":               Status(422, "{\"error\":\"Input validation error: `inputs` must have less than 4096 tokens. Given: 5000\",\"error_type\":\"validation\"}"),
		"bedrock":           Status(400, `{"message":"Input is too long for requested model."}`),
		"gemini":            Status(400, `[{"error":{"code":400,"message":"The input token count (1200042) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`),
		"openrouter":        Status(400, `{"error":{"message":"This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (140000 of text input). Please reduce the length of either one, or use the \"middle-out\" transform to compress your prompt automatically.","code":400,"metadata":{"provider_name":null}}}`),
		"groq":              Status(400, `{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`),
		"deepseek":          Status(400, `{"error":{"message":"This model's maximum context length is 65536 tokens. However, you requested 70000 tokens (62000 in the messages, 8000 in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`),
		"mistral":           Status(400, `{"object":"error","message":"Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 maximum context length","type":"invalid_request_message_error","param":null,"code":"3051"}`),
		"xai":               Status(400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 140000 tokens."}`),
		"vllm":              Status(400, `{"object":"error","message":"This model's maximum context length is 32768 tokens. However, you requested 40000 tokens (39000 in the messages, 1000 in the completion). Please reduce the length of the messages or completion.","type":"BadRequestError","param":null,"code":400}`),
		"llama.cpp":         Status(400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":40000,"n_ctx":8192}}`),
		"lmstudio":          Status(400, `{"error":"Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input"}`),
		"ollama":            Status(400, `{"error":{"message":"prompt too long; exceeded max context length by 1200 tokens","type":"invalid_request_error","param":null,"code":null}}`),
		"together":          Status(422, "{\"error\":{\"message\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 32769. Given: 40000 `inputs` tokens and 512 `max_new_tokens`\",\"type\":\"invalid_request_error\",\"param\":null,\"code\":null}}"),
		"cerebras":          Status(400, `{"message":"Please reduce the length of the messages or completion. Current length is 70000 while limit is 65536","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}`),
		"copilot":           Status(400, `{"error":{"message":"prompt token count of 140000 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}}`),
		"too-large":         Status(413, `{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`),
	}
}

func errorBody(kind, message string) []byte {
	return appendJSON(nil, map[string]any{"error": map[string]any{
		"message": message, "type": kind, "param": nil, "code": kind,
	}})
}
