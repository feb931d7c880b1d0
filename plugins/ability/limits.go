package ability

import (
	"time"

	"golang.org/x/time/rate"
)

// Limits are the limits of the requests of one plugin.
type Limits struct {
	RequestBytes  int // of one request as JSON
	ResponseBytes int // of one answer as JSON

	Rate, Burst         int // operations a second
	HTTPRate, HTTPBurst int // HTTP requests a second, on top of Rate

	HTTPConcurrent int           // HTTP requests at the same time, others wait
	HTTPBytes      int           // of one answer's body, unpacked
	HTTPTimeout    time.Duration // of one HTTP request, the redirects included

	KVBytes      int // of all keys and values together
	KVKeys       int
	KVKeyBytes   int // of one key
	KVValueBytes int // of one value
}

// DefaultLimits returns the limits of brokers without others.
func DefaultLimits() Limits {
	return Limits{
		RequestBytes: 1 << 20, ResponseBytes: 8 << 20, Rate: 1000, Burst: 2000,
		HTTPRate: 20, HTTPBurst: 20, HTTPConcurrent: 8, HTTPBytes: 4 << 20, HTTPTimeout: 30 * time.Second,
		KVBytes: 1 << 20, KVKeys: 1000, KVKeyBytes: 256, KVValueBytes: 256 << 10,
	}
}

// rates are the token buckets of a plugin.
type rates struct{ all, http *rate.Limiter }

func newRates(l Limits) rates {
	return rates{
		all:  rate.NewLimiter(rate.Limit(l.Rate), l.Burst),
		http: rate.NewLimiter(rate.Limit(l.HTTPRate), l.HTTPBurst),
	}
}
