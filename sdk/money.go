package sdk

import (
	"fmt"
	"strconv"
	"strings"
)

// USD is an amount in picodollars (10^-12 US dollars), so that sums of token prices are exact. In JSON it is a decimal number of dollars. The
// maximum is about nine million dollars.
type USD int64

// Price is the price of one token in picodollars. In JSON it is a decimal number of US dollars per million tokens, as in price lists; six
// decimal places are exact.
type Price int64

const (
	usdDigits   = 12
	priceDigits = 6
)

// Times returns the price of n tokens.
func (p Price) Times(n int64) USD { return USD(int64(p) * n) }

// String formats the amount in dollars with as many decimal places as it needs.
func (u USD) String() string { return formatDecimal(int64(u), usdDigits) }

// MarshalJSON writes a decimal number of dollars.
func (u USD) MarshalJSON() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalJSON reads a decimal number of dollars. Digits after the twelfth place are dropped.
func (u *USD) UnmarshalJSON(data []byte) error {
	n, err := parseDecimal(string(data), usdDigits)
	*u = USD(n)
	return err
}

// String formats the price in dollars per million tokens.
func (p Price) String() string { return formatDecimal(int64(p), priceDigits) }

// MarshalJSON writes a decimal number of dollars per million tokens.
func (p Price) MarshalJSON() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalJSON reads a decimal number of dollars per million tokens. Digits after the sixth place are dropped.
func (p *Price) UnmarshalJSON(data []byte) error {
	n, err := parseDecimal(string(data), priceDigits)
	*p = Price(n)
	return err
}

func formatDecimal(n int64, digits int) string {
	sign := ""
	if n < 0 {
		sign = "-"
	}
	s := strings.TrimPrefix(strconv.FormatInt(n, 10), "-")
	if len(s) <= digits {
		s = strings.Repeat("0", digits-len(s)+1) + s
	}
	whole, frac := s[:len(s)-digits], strings.TrimRight(s[len(s)-digits:], "0")
	if frac == "" {
		return sign + whole
	}
	return sign + whole + "." + frac
}

// parseDecimal reads a JSON number as an integer number of 10^-digits; null is zero.
func parseDecimal(s string, digits int) (int64, error) {
	if s == "null" {
		return 0, nil
	}
	if n, ok := parsePlainDecimal(s, digits); ok {
		return n, nil
	}
	bad := func() error { return fmt.Errorf("%w: %q is not an amount of money", ErrWire, s) }
	mantissa, exponent, hasExponent := strings.Cut(strings.ToLower(s), "e")
	shift := digits
	if hasExponent {
		e, err := strconv.Atoi(exponent)
		if err != nil || e < -64 || e > 64 {
			return 0, bad()
		}
		shift += e
	}
	all := make([]byte, 0, 128)
	if rest, negative := strings.CutPrefix(mantissa, "-"); negative {
		all, mantissa = append(all, '-'), rest
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	all = append(append(all, whole...), frac...)
	end := len(all) - len(frac) + shift
	switch {
	case len(whole)+shift <= 0:
		all = []byte("0")
	case end <= len(all):
		all = all[:end]
	}
	for len(all) < end {
		all = append(all, '0')
	}
	n, err := strconv.ParseInt(string(all), 10, 64)
	if err != nil || whole == "" {
		return 0, bad()
	}
	return n, nil
}

// parsePlainDecimal is parseDecimal for a few digits, perhaps with a point: most amounts.
func parsePlainDecimal(s string, digits int) (n int64, ok bool) {
	behind, point := 0, false
	for i := range len(s) {
		c := s[i]
		switch {
		case '0' <= c && c <= '9':
			n = n*10 + int64(c-'0')
			if point {
				behind++
			}
		case c == '.' && i > 0 && !point:
			point = true
		default:
			return 0, false
		}
	}
	if s == "" || len(s)+digits-behind > 18 || behind > digits || point && behind == 0 {
		return 0, false
	}
	for ; behind < digits; behind++ {
		n *= 10
	}
	return n, true
}
