// Package sigv4 signs requests to Amazon Bedrock with AWS credentials (Signature Version 4).
package sigv4

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/sdk"
)

// DefaultRegion is opencode's.
const DefaultRegion = "us-east-1"

// Setup reads the options region and profile. It returns the region and the function that signs requests to an AWS service, which is nil if the
// provider has a key or a sign-in.
func Setup(info *sdk.ProviderInfo, r *wire.Options, service string) (region string, authorize func(*http.Request, []byte) error, err error) {
	s := &signer{service: service, region: DefaultRegion}
	wire.Read(r, "region", wire.Label, &s.region)
	wire.Read(r, "profile", wire.String, &s.profile)
	switch {
	case info.Key != "" || info.Authorize != nil:
		return s.region, nil, nil
	case info.KeyOnly:
		return "", nil, wire.KeyRequired("AWS credentials")
	}
	return s.region, s.authorize, nil
}

// signer signs requests with the credentials of the AWS chain: environment, shared files, SSO, web identity, container, instance.
type signer struct {
	service, region, profile string

	mu          sync.Mutex
	credentials aws.CredentialsProvider // nil until the first request: opening the chain takes longer than a start
}

func (s *signer) authorize(req *http.Request, body []byte) error {
	ctx := req.Context()
	chain, err := s.chain(ctx)
	if err != nil {
		return err
	}
	credentials, err := chain.Retrieve(ctx)
	if err != nil {
		// %v, because without credentials the chain ends with a network error, which must not count as temporary.
		return fmt.Errorf("no AWS credentials: %v; run aws sso login, or set AWS_PROFILE, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK", err)
	}
	return sign(ctx, req, body, credentials, s.service, s.region, time.Now())
}

func sign(ctx context.Context, req *http.Request, body []byte, credentials aws.Credentials, service, region string, at time.Time) error {
	sum := sha256.Sum256(body)
	return v4.NewSigner().SignHTTP(ctx, credentials, req, hex.EncodeToString(sum[:]), service, region, at)
}

// chain returns the source of credentials, which caches them until they expire.
func (s *signer) chain(ctx context.Context) (aws.CredentialsProvider, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.credentials != nil {
		return s.credentials, nil
	}
	options := []func(*config.LoadOptions) error{config.WithRegion(s.region), config.WithLogger(logging.Nop{})} // the usual logger writes to stderr
	if s.profile != "" {
		options = append(options, config.WithSharedConfigProfile(s.profile))
	}
	loaded, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("AWS configuration: %w", err)
	}
	s.credentials = loaded.Credentials
	return s.credentials, nil
}
