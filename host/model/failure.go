package model

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"runtime"
	"slices"
	"syscall"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// Bounds of what is stored of a failed request, in bytes.
const (
	maxErrorText    = 4 << 10
	maxErrorBody    = 16 << 10 // the limit that sdk.ProviderError documents
	maxErrorHeader  = 512      // one value
	maxErrorHeaders = 8 << 10  // names and values together
)

// WireError turns an error into its form on the wire, bounded and without the secrets that hide removes.
func WireError(err error, hide func(string) string) *sdk.NamedError {
	n := *namedError(err)
	n.Data.Message = visible.Cut(hide(n.Data.Message), maxErrorText, "…")
	n.Data.ResponseBody = visible.Cut(hide(n.Data.ResponseBody), maxErrorBody, "…")
	n.Data.ResponseHeaders = storedHeaders(n.Data.ResponseHeaders, hide)
	return &n
}

// storedHeaders returns the headers of a failed answer that are stored: sorted by name, as many as maxErrorHeaders holds.
func storedHeaders(headers map[string]string, hide func(string) string) map[string]string {
	if headers == nil {
		return nil
	}
	out, room := map[string]string{}, maxErrorHeaders
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		value := visible.Cut(hide(headers[name]), maxErrorHeader, "…")
		if room -= len(name) + len(value); room < 0 {
			break
		}
		out[name] = value
	}
	return out
}

// namedError turns an error into its form on the wire.
func namedError(err error) *sdk.NamedError {
	if named, ok := errors.AsType[*sdk.NamedError](err); ok {
		return named
	}
	pe, ok := errors.AsType[*sdk.ProviderError](err)
	switch {
	case !ok:
	case Classify(pe) == classAuth:
		return &sdk.NamedError{Name: sdk.ErrorProviderAuth, Data: sdk.ErrorData{ProviderID: pe.ProviderID, Message: pe.Error()}}
	case Classify(pe) == ClassOverflow:
		return &sdk.NamedError{Name: sdk.ErrorContextOverflow, Data: sdk.ErrorData{Message: pe.Error(), ResponseBody: pe.Body}}
	default:
		return &sdk.NamedError{Name: sdk.ErrorAPI, Data: sdk.ErrorData{
			Message: pe.Error(), StatusCode: pe.StatusCode, IsRetryable: Classify(pe) == ClassRetry,
			ResponseHeaders: pe.Headers, ResponseBody: pe.Body,
		}}
	}
	return &sdk.NamedError{Name: sdk.ErrorUnknown, Data: sdk.ErrorData{Message: fmt.Sprint(err)}}
}

// Unreachable reports whether a request failed because its host is unknown, refuses connections, or does not prove that it is the host.
func Unreachable(err error) bool {
	const windowsRefused = syscall.Errno(10061) // WSAECONNREFUSED
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return dns.IsNotFound
	}
	if errors.As(err, new(*tls.CertificateVerificationError)) || errors.As(err, new(tls.RecordHeaderError)) {
		return true
	}
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, http.ErrSchemeMismatch) || runtime.GOOS == "windows" && errors.Is(err, windowsRefused)
}
