package ability

import (
	"time"

	"golang.org/x/time/rate"
)

// Limits are the limits of the requests of one plugin. Zero fields mean defaults.
type Limits struct {
	RequestBytes  int // of one request as JSON; default 1 MiB
	ResponseBytes int // of one answer as JSON; default 8 MiB

	Rate, Burst         int // operations a second; default 1000, with bursts of 2000
	HTTPRate, HTTPBurst int // HTTP requests a second, on top of Rate; default 20, with bursts of 20

	HTTPConcurrent int           // HTTP requests at the same time, others wait; default 8
	HTTPBytes      int           // of one answer's body, unpacked; default 4 MiB
	HTTPTimeout    time.Duration // of one HTTP request, the redirects included; default 30 s

	KVBytes      int // of all keys and values together; default 1 MiB
	KVKeys       int // default 1000
	KVKeyBytes   int // of one key; default 256
	KVValueBytes int // of one value; default 256 KiB
}

func (l Limits) withDefaults() Limits {
	for value, standard := range map[*int]int{
		&l.RequestBytes: 1 << 20, &l.ResponseBytes: 8 << 20,
		&l.Rate: 1000, &l.Burst: 2000, &l.HTTPRate: 20, &l.HTTPBurst: 20,
		&l.HTTPConcurrent: 8, &l.HTTPBytes: 4 << 20,
		&l.KVBytes: 1 << 20, &l.KVKeys: 1000, &l.KVKeyBytes: 256, &l.KVValueBytes: 256 << 10,
	} {
		if *value <= 0 {
			*value = standard
		}
	}
	if l.HTTPTimeout <= 0 {
		l.HTTPTimeout = 30 * time.Second
	}
	return l
}

// rates are the token buckets of a plugin.
type rates struct{ all, http *rate.Limiter }

func newRates(l Limits) rates {
	return rates{
		all:  rate.NewLimiter(rate.Limit(l.Rate), l.Burst),
		http: rate.NewLimiter(rate.Limit(l.HTTPRate), l.HTTPBurst),
	}
}
