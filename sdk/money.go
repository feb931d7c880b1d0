package sdk

import (
	"cmp"
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
	mantissa, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	whole, frac, _ := strings.Cut(mantissa, ".")
	shift, err := strconv.Atoi(cmp.Or(exponent, "0"))
	if err != nil || shift < -64 || shift > 64 {
		return 0, fmt.Errorf("%w: %q is not an amount of money", ErrWire, s)
	}
	var buffer [32]byte // does not escape
	text := append(append(buffer[:0], whole...), frac...)
	end := max(0, len(whole)+digits+shift) // of the sign and the digits of the result
	for len(text) < end {
		text = append(text, '0')
	}
	if text = text[:end]; len(text) == 0 || string(text) == "-" {
		return 0, nil
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %q is not an amount of money", ErrWire, s)
	}
	return n, nil
}
