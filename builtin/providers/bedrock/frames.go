package bedrock

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
)

// frames reads application/vnd.amazon.eventstream.
type frames struct {
	in      io.Reader
	decoder *eventstream.Decoder
	buffer  []byte // of the payloads
}

func newFrames(in io.Reader) wire.Frames {
	f := &frames{in: in, decoder: eventstream.NewDecoder(), buffer: make([]byte, 0, 4<<10)}
	return f.next
}

func (f *frames) next() (kind string, data []byte, err error) {
	m, err := f.decoder.Decode(f.in, f.buffer[:0])
	if err != nil {
		return "", nil, err
	}
	f.buffer = m.Payload[:0]
	switch header(m, ":message-type") {
	case "exception":
		var said struct {
			Message string `json:"message"`
		}
		_ = json.Unmarshal(m.Payload, &said) // an exception without a message keeps its name
		err = refusal(header(m, ":exception-type"), said.Message)
	case "error":
		err = refusal(header(m, ":error-code"), header(m, ":error-message"))
	}
	return header(m, ":event-type"), m.Payload, err
}

func header(m eventstream.Message, name string) string {
	value := m.Headers.Get(name)
	if value == nil {
		return ""
	}
	return value.String()
}

// refusal returns the error for an exception in the stream.
func refusal(name, message string) error {
	status := cmp.Or(statuses[name], http.StatusInternalServerError)
	body, _ := json.Marshal(map[string]any{"message": message, "type": name, "code": status})
	return &wire.Refusal{Body: body}
}

// statuses are the HTTP statuses of exceptions, see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html.
var statuses = map[string]int{
	"throttlingException": http.StatusTooManyRequests, "validationException": http.StatusBadRequest,
	"serviceUnavailableException": http.StatusServiceUnavailable, "modelTimeoutException": http.StatusRequestTimeout,
}
