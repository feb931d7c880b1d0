package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protodsse "github.com/sigstore/protobuf-specs/gen/pb-go/dsse"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/testing/ca"
)

const (
	who    = "https://github.com/owner/repo/.github/workflows/release.yml@refs/tags/v1"
	issuer = "https://token.actions.githubusercontent.com"
)

// signed is a bundle of version 0.3 about an artifact, and the trusted root of its instance; with certificates, it has a log of them, in
// which the signer's certificate is not.
func signed(t testing.TB, artifact []byte, certificates bool) (bundle []byte, rootFile string) {
	t.Helper()
	virtual, err := ca.NewVirtualSigstore()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(artifact)
	statement := fmt.Sprintf(`{"_type": "https://in-toto.io/Statement/v1", "subject": [{"name": "a", "digest": {"sha256": %q}}], "predicateType": "https://example.com/p", "predicate": {}}`,
		hex.EncodeToString(sum[:]))
	entity, err := virtual.AttestHashedRekordV2(who, issuer, []byte(statement))
	if err != nil {
		t.Fatal(err)
	}
	content, err := entity.VerificationContent()
	if err != nil {
		t.Fatal(err)
	}
	signature, err := entity.SignatureContent()
	if err != nil {
		t.Fatal(err)
	}
	entries, err := entity.TlogEntries()
	if err != nil {
		t.Fatal(err)
	}
	times, err := entity.Timestamps()
	if err != nil {
		t.Fatal(err)
	}
	envelope := signature.EnvelopeContent().RawEnvelope()
	b := &protobundle.Bundle{
		MediaType: "application/vnd.dev.sigstore.bundle.v0.3+json",
		VerificationMaterial: &protobundle.VerificationMaterial{
			Content:                   &protobundle.VerificationMaterial_Certificate{Certificate: &protocommon.X509Certificate{RawBytes: content.Certificate().Raw}},
			TlogEntries:               []*protorekor.TransparencyLogEntry{entries[0].TransparencyLogEntry()},
			TimestampVerificationData: &protobundle.TimestampVerificationData{Rfc3161Timestamps: []*protocommon.RFC3161SignedTimestamp{{SignedTimestamp: times[0]}}},
		},
		Content: &protobundle.Bundle_DsseEnvelope{DsseEnvelope: &protodsse.Envelope{
			Payload: []byte(statement), PayloadType: envelope.PayloadType, Signatures: []*protodsse.Signature{{Sig: signature.Signature()}},
		}},
	}
	if bundle, err = protojson.Marshal(b); err != nil {
		t.Fatal(err)
	}
	// The virtual logs have the hexadecimal form of their identifier where a file has the bytes.
	logs := func(in map[string]*root.TransparencyLog) map[string]*root.TransparencyLog {
		for id, log := range in {
			if log.ID, err = hex.DecodeString(id); err != nil {
				t.Fatal(err)
			}
			log.SignatureHashFunc = log.HashFunc
		}
		return in
	}
	published := map[string]*root.TransparencyLog{}
	if certificates {
		published = logs(virtual.CTLogs())
	}
	trusted, err := root.NewTrustedRoot(root.TrustedRootMediaType01, virtual.FulcioCertificateAuthorities(), published, virtual.TimestampingAuthorities(), logs(virtual.RekorLogs()))
	if err != nil {
		t.Fatal(err)
	}
	data, err := trusted.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	rootFile = filepath.Join(t.TempDir(), "trusted_root.json")
	if err := os.WriteFile(rootFile, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return bundle, rootFile
}

var update = flag.Bool("update", false, "make the signed files that tests of tenon install")

// fixtures are files that tests of tenon install: an archive, and the manifest of a registry that names it, each with a bundle.
var fixtures = filepath.Join("..", "..", "plugins", "install", "testdata")

// TestFixtures verifies the fixtures. With -update it makes them.
func TestFixtures(t *testing.T) {
	t.Parallel()
	if *update {
		writeFixtures(t)
	}
	for _, name := range []string{"signed.tar.gz", "manifest.json"} {
		artifact, err := os.ReadFile(filepath.Join(fixtures, name))
		if err != nil {
			t.Fatal(err)
		}
		bundle, err := os.ReadFile(filepath.Join(fixtures, name+".sigstore.json"))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(artifact)
		r := request{Bundle: bundle, Digest: "sha256:" + hex.EncodeToString(sum[:]), Identity: ".*", Issuer: issuer, TrustedRoot: filepath.Join(fixtures, name+".trusted_root.json")}
		if a, err := ask(t, r); err != nil || a.Identity != who {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}

func writeFixtures(t *testing.T) {
	var archive bytes.Buffer
	z := gzip.NewWriter(&archive)
	w := tar.NewWriter(z)
	for _, f := range [][2]string{
		{"plugin.json", `{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "signed", "version": "1.0.0"}`},
		{"skills/a/SKILL.md", "---\nname: a\ndescription: d\n---\nText."},
	} {
		err := w.WriteHeader(&tar.Header{Name: f[0], Mode: 0o644, Size: int64(len(f[1])), Typeflag: tar.TypeReg})
		if err == nil {
			_, err = w.Write([]byte(f[1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	manifest := fmt.Sprintf(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"application/vnd.tenon.plugin.v1",`+
		`"config":{"mediaType":"application/vnd.oci.empty.v1+json","digest":"sha256:%x","size":2},`+
		`"layers":[{"mediaType":"application/vnd.tenon.plugin.content.v1.tar+gzip","digest":"sha256:%x","size":%d}]}`,
		sha256.Sum256([]byte("{}")), sha256.Sum256(archive.Bytes()), archive.Len())
	for name, data := range map[string][]byte{"signed.tar.gz": archive.Bytes(), "manifest.json": []byte(manifest)} {
		bundle, rootFile := signed(t, data, false)
		trusted, err := os.ReadFile(rootFile)
		if err != nil {
			t.Fatal(err)
		}
		for suffix, data := range map[string][]byte{"": data, ".sigstore.json": bundle, ".trusted_root.json": trusted} {
			if err := os.WriteFile(filepath.Join(fixtures, name+suffix), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func ask(t testing.TB, r request) (answer, error) {
	t.Helper()
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return check(bytes.NewReader(data))
}

func TestSigned(t *testing.T) {
	t.Parallel()
	artifact := []byte("content")
	sum := sha256.Sum256(artifact)
	bundle, rootFile := signed(t, artifact, false)
	good := request{Bundle: bundle, Digest: "sha256:" + hex.EncodeToString(sum[:]), Identity: `https://github\.com/owner/repo/\.github/workflows/release\.yml@refs/tags/.*`, Issuer: issuer, TrustedRoot: rootFile}
	if a, err := ask(t, good); err != nil || a.Identity != who || a.Issuer != issuer {
		t.Fatalf("check() = %+v, %v", a, err)
	}
	unpublished, withLog := signed(t, artifact, true)
	for name, change := range map[string]func(r *request){
		"another artifact":       func(r *request) { r.Digest = "sha256:" + strings.Repeat("00", 32) },
		"another identity":       func(r *request) { r.Identity = `https://github\.com/other/.*` },
		"part of the identity":   func(r *request) { r.Identity = `github\.com/owner` },
		"an alternative":         func(r *request) { r.Identity = `x|https://github\.com/owner/repo` },
		"another issuer":         func(r *request) { r.Issuer = "https://accounts.example.com" },
		"any identity":           func(r *request) { r.Identity = "" },
		"any issuer":             func(r *request) { r.Issuer = "" },
		"another instance":       func(r *request) { r.TrustedRoot = "" },
		"a trusted root missing": func(r *request) { r.TrustedRoot += ".x" },
		"no digest":              func(r *request) { r.Digest = "" },
		"a short digest":         func(r *request) { r.Digest = "sha256:00" },
		"a weak digest":          func(r *request) { r.Digest = "md5:" + strings.Repeat("00", 16) },
		"a changed bundle": func(r *request) {
			r.Bundle = regexp.MustCompile(`("sig":\s*")ME`).ReplaceAll(r.Bundle, []byte("${1}MF"))
		},
		"no log entry":                         func(r *request) { r.Bundle = without(t, r.Bundle, "verificationMaterial", "tlogEntries") },
		"a certificate that was not published": func(r *request) { r.Bundle, r.TrustedRoot = unpublished, withLog },
		"no bundle":                            func(r *request) { r.Bundle = json.RawMessage("{}") },
	} {
		r := good
		change(&r)
		if a, err := ask(t, r); err == nil {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// without returns a bundle without a field.
func without(t testing.TB, bundle []byte, object, field string) []byte {
	t.Helper()
	var b map[string]json.RawMessage
	var inner map[string]json.RawMessage
	err := json.Unmarshal(bundle, &b)
	if err == nil {
		err = json.Unmarshal(b[object], &inner)
	}
	if err != nil {
		t.Fatal(err)
	}
	delete(inner, field)
	if b[object], err = json.Marshal(inner); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestPublicGood verifies a real bundle of 2023 with the embedded root: its certificate expired, its log entry proves the time.
func TestPublicGood(t *testing.T) {
	t.Parallel()
	bundle, err := os.ReadFile("testdata/sigstore-js-1.3.0.sigstore.json")
	if err != nil {
		t.Fatal(err)
	}
	r := request{
		Bundle:   bundle,
		Digest:   "sha512:76176ffa33808b54602c7c35de5c6e9a4deb96066dba6533f50ac234f4f1f4c6b3527515dc17c06fbe2860030f410eee69ea20079bd3a2c6f3dcf3b329b10751",
		Identity: `https://github\.com/sigstore/sigstore-js/\.github/workflows/release\.yml@refs/heads/main`, Issuer: issuer,
	}
	if a, err := ask(t, r); err != nil || !strings.Contains(a.Identity, "sigstore-js") {
		t.Errorf("check() = %+v, %v", a, err)
	}
	r.Digest = strings.Replace(r.Digest, "7", "8", 1)
	if a, err := ask(t, r); err == nil {
		t.Errorf("another artifact: %+v", a)
	}
}

func FuzzCheck(f *testing.F) {
	bundle, rootFile := signed(f, []byte("content"), false)
	f.Add(bundle)
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			return
		}
		// Not the artifact that was signed.
		r := request{Bundle: data, Digest: "sha256:" + strings.Repeat("11", 32), Identity: ".*", Issuer: issuer, TrustedRoot: rootFile}
		if a, err := ask(t, r); err == nil {
			t.Errorf("check() = %+v", a)
		}
	})
}
