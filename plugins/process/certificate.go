package process

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"time"
)

// clientTLS creates the host's certificate for one process. It returns the host's TLS configuration, and the certificate in PEM form for the
// plugin.
//
// It replaces go-plugin's AutoMTLS, whose certificates use the curve P-521: the BoringSSL in gRPC for Python, C++, Ruby and PHP refuses
// it (https://github.com/hashicorp/go-plugin/pull/281). All of them support P-256.
func clientTLS() (*tls.Config, string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, "", err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 128))
	if err != nil {
		return nil, "", err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: serverName, Organization: []string{"tenon"}},
		DNSNames:              []string{serverName},
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, // it is its own root
		BasicConstraintsValid: true,
		IsCA:                  true,
		SerialNumber:          serial,
		NotBefore:             time.Now().Add(-time.Minute), // for clocks that are slightly behind
		NotAfter:              time.Now().AddDate(30, 0, 0), // no process lives longer
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, "", err
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		MinVersion:   tls.VersionTLS12,
		ServerName:   serverName,
	}
	return config, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), nil
}

// serverName is the name that a plugin's certificate must have, see docs/process-protocol.md, "TLS".
const serverName = "localhost"
