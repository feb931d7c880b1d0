package bedrock

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
)

// exception is the kind of an event that ends the answer with an error.
const exception = "exception"

// frames reads application/vnd.amazon.eventstream.
type frames struct {
	in      io.Reader
	decoder *eventstream.Decoder
	buffer  []byte // of the payloads
	kind    string
	data    []byte
	err     error
}

func newFrames(in io.Reader) wire.Frames {
	return &frames{in: in, decoder: eventstream.NewDecoder(), buffer: make([]byte, 0, 4<<10)}
}

func (f *frames) Next() bool {
	m, err := f.decoder.Decode(f.in, f.buffer[:0])
	if err != nil {
		if !errors.Is(err, io.EOF) {
			f.err = err
		}
		return false
	}
	f.buffer = m.Payload[:0]
	f.kind, f.data = header(m, ":event-type"), m.Payload
	switch header(m, ":message-type") {
	case "exception":
		f.fail(header(m, ":exception-type"), m.Payload)
	case "error":
		message, _ := json.Marshal(map[string]string{"message": header(m, ":error-message")})
		f.fail(header(m, ":error-code"), message)
	}
	return true
}

func header(m eventstream.Message, name string) string {
	value := m.Headers.Get(name)
	if value == nil {
		return ""
	}
	return value.String()
}

// fail makes the body of an error response of an exception in the stream.
func (f *frames) fail(name string, payload []byte) {
	var said struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(payload, &said) // an exception without a message keeps its name
	f.kind = exception
	f.data, _ = json.Marshal(map[string]any{"message": said.Message, "type": name, "code": statusOf(name)})
}

// statusOf returns the HTTP status of an exception, see
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html.
func statusOf(name string) int {
	switch name {
	case "throttlingException":
		return http.StatusTooManyRequests
	case "validationException":
		return http.StatusBadRequest
	case "serviceUnavailableException":
		return http.StatusServiceUnavailable
	case "modelTimeoutException":
		return http.StatusRequestTimeout
	}
	return http.StatusInternalServerError
}

func (f *frames) Event() (kind string, data []byte) { return f.kind, f.data }

func (f *frames) Err() error { return f.err }
