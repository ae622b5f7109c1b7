package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func newCA(t *testing.T) (*CA, string) {
	t.Helper()
	dir := t.TempDir()
	ca, err := Init(filepath.Join(dir, "ca"), domain, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return ca, dir
}

func TestInitNeverOverwritesAndHidesTheKey(t *testing.T) {
	ca, dir := newCA(t)
	before, err := os.ReadFile(filepath.Join(dir, "ca/ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Init(filepath.Join(dir, "ca"), domain, time.Now()); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("%v", err)
	}
	if after, err := os.ReadFile(filepath.Join(dir, "ca/ca.key")); err != nil || !slices.Equal(before, after) {
		t.Error("the key has changed")
	}
	for file, want := range map[string]fs.FileMode{"ca": 0o700 | fs.ModeDir, "ca/ca.key": 0o600, "ca/ca.pem": 0o644} {
		if info, err := os.Stat(filepath.Join(dir, file)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v %v", file, info.Mode(), err)
		}
	}
	if ca.Domain != domain || ca.cert.MaxPathLen != 0 || !ca.cert.MaxPathLenZero || !ca.cert.NotAfter.After(time.Now().Add(CALife-time.Hour)) {
		t.Errorf("%+v", ca.cert)
	}
	if _, err := Init(filepath.Join(dir, "x"), "UPPER", time.Now()); err == nil {
		t.Error("a bad domain is taken")
	}
	if _, err := os.Stat(filepath.Join(dir, "x")); err == nil {
		t.Error("a bad domain leaves a directory")
	}
	// A certificate without its key stays as it is, and nothing is left beside it.
	if err := os.Remove(filepath.Join(dir, "ca/ca.key")); err != nil {
		t.Fatal(err)
	}
	if _, err := Init(filepath.Join(dir, "ca"), domain, time.Now()); err == nil {
		t.Error("half a CA is overwritten")
	}
	if _, err := os.Stat(filepath.Join(dir, "ca/ca.key")); err == nil {
		t.Error("a key without a certificate is left")
	}
}

func TestIssueGivesEachKindWhatItNeeds(t *testing.T) {
	ca, dir := newCA(t)
	now := time.Now()
	cases := []struct {
		order Order
		life  time.Duration
		units []string
		usage x509.ExtKeyUsage
		certs int
	}{
		{Order{Kind: Edge, Name: "msk1"}, MachineLife, nil, x509.ExtKeyUsageClientAuth, 1},
		{Order{Kind: NOC, Name: "vera"}, PersonLife, []string{"viewer"}, x509.ExtKeyUsageClientAuth, 1},
		{Order{Kind: NOC, Name: "anna", Role: Admin, Life: time.Hour}, time.Hour, []string{"admin"}, x509.ExtKeyUsageClientAuth, 1},
		{Order{Kind: Central, Name: "c1", Hosts: []string{"c1.example.net", "10.0.0.1", "::1"}}, MachineLife, nil, x509.ExtKeyUsageServerAuth, 2},
	}
	for _, c := range cases {
		cert, key := filepath.Join(dir, c.order.Name+".pem"), filepath.Join(dir, c.order.Name+".key")
		if err := ca.Issue(c.order, cert, key, now); err != nil {
			t.Fatal(err)
		}
		certs, err := readCerts(cert)
		if err != nil || len(certs) != c.certs {
			t.Fatalf("%d certificates, %v", len(certs), err)
		}
		leaf := certs[0]
		name, err := nameOf(leaf)
		if err != nil || name != (Name{domain, c.order.Kind, c.order.Name}) {
			t.Errorf("%v %v", name, err)
		}
		if leaf.IsCA || !slices.Equal(leaf.Subject.OrganizationalUnit, c.units) || !slices.Equal(leaf.ExtKeyUsage, []x509.ExtKeyUsage{c.usage}) {
			t.Errorf("%s: %v %v", name, leaf.Subject, leaf.ExtKeyUsage)
		}
		if got := leaf.NotAfter.Sub(now); got > c.life || got < c.life-2*time.Second {
			t.Errorf("%s lives %v", name, got)
		}
		if k, ok := leaf.PublicKey.(*ecdsa.PublicKey); !ok || k.Curve != elliptic.P256() {
			t.Errorf("%s has another key", name)
		}
		if info, err := os.Stat(key); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v %v", key, info, err)
		}
		if err := ca.Issue(c.order, cert, filepath.Join(dir, "other.key"), now); err == nil || !strings.Contains(err.Error(), "is there already") {
			t.Errorf("overwritten: %v", err)
		}
		if _, err := os.Stat(filepath.Join(dir, "other.key")); err == nil {
			t.Error("a key without a certificate is left")
		}
	}
	certs, err := readCerts(filepath.Join(dir, "c1.pem"))
	if err != nil || !slices.Equal(certs[0].DNSNames, []string{"c1.example.net"}) || len(certs[0].IPAddresses) != 2 || !certs[1].IsCA {
		t.Errorf("%v %v", certs, err)
	}
}

func TestIssueRefusesWhatMakesNoSense(t *testing.T) {
	ca, dir := newCA(t)
	for says, o := range map[string]Order{
		"no name":                      {Kind: Edge},
		`kind "x"`:                     {Kind: "x", Name: "a"},
		"a role is for the noc":        {Kind: Edge, Name: "a", Role: Admin},
		"hosts are for a centre":       {Kind: Edge, Name: "a", Hosts: []string{"x"}},
		"needs the names or addresses": {Kind: Central, Name: "a"},
		`role "edge"`:                  {Kind: NOC, Name: "a", Role: EdgeRole},
		`role "none"`:                  {Kind: NOC, Name: "a", Role: None},
		"at most":                      {Kind: NOC, Name: "a", Life: MaxLife + 1},
		"a life of -1s":                {Kind: NOC, Name: "a", Life: -time.Second},
	} {
		if err := ca.Issue(o, filepath.Join(dir, "c"), filepath.Join(dir, "k"), time.Now()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if err := ca.Issue(Order{Kind: Edge, Name: "a"}, filepath.Join(dir, "c"), filepath.Join(dir, "k"), time.Now().Add(CALife)); err == nil || !strings.Contains(err.Error(), "the CA ends at") {
		t.Errorf("%v", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "[ck]"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestRenewKeepsAllButTheDates(t *testing.T) {
	ca, dir := newCA(t)
	past := time.Now().Add(-PersonLife - 24*time.Hour)
	for _, o := range []Order{
		{Kind: NOC, Name: "olga", Role: Operator}, {Kind: Edge, Name: "msk1", Life: 48 * time.Hour},
		{Kind: Central, Name: "c1", Hosts: []string{"c1.example.net", "10.0.0.1"}},
	} {
		cert, key := filepath.Join(dir, o.Name+".pem"), filepath.Join(dir, o.Name+".key")
		if err := ca.Issue(o, cert, key, past); err != nil {
			t.Fatal(err)
		}
		old, err := Show(cert, past)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		if err := ca.Renew(cert, now); err != nil {
			t.Fatal(err)
		}
		got, err := Show(cert, now)
		if err != nil || len(got) != len(old) {
			t.Fatal(err)
		}
		life := func(i Info) time.Duration { return i.NotAfter.Sub(i.NotBefore) }
		if g, w := got[0], old[0]; g.Name != w.Name || g.Role != w.Role || !slices.Equal(g.Hosts, w.Hosts) || life(g) != life(w) ||
			g.Serial == w.Serial || !g.NotAfter.After(now) || g.Problem != "" {
			t.Errorf("got %+v\nwant %+v", g, w)
		}
		if _, err := Open(Paths{CA: filepath.Join(dir, "ca/ca.pem"), Cert: cert, Key: key}, nil); err != nil {
			t.Errorf("the key does not fit: %v", err)
		}
		if kept, err := Show(cert+"."+old[0].Serial, now); err != nil || kept[0].Serial != old[0].Serial {
			t.Errorf("the old one is gone: %v", err)
		}
	}
	other, err := Init(filepath.Join(dir, "other"), domain, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Renew(filepath.Join(dir, "olga.pem"), time.Now()); err == nil || !strings.Contains(err.Error(), "is not from this CA") {
		t.Errorf("%v", err)
	}
}

func TestShowTellsWhatIsWrong(t *testing.T) {
	ca, dir := newCA(t)
	cert := filepath.Join(dir, "vera.pem")
	now := time.Now()
	if err := ca.Issue(Order{Kind: NOC, Name: "vera"}, cert, filepath.Join(dir, "vera.key"), now); err != nil {
		t.Fatal(err)
	}
	for after, says := range map[time.Duration]string{0: "", PersonLife + 1: "it has expired", -time.Hour: "it is not valid yet"} {
		infos, err := Show(cert, now.Add(after))
		if err != nil || len(infos) != 1 {
			t.Fatal(err)
		}
		if i := infos[0]; !strings.HasPrefix(i.Problem, says) || (says == "") != (i.Problem == "") || i.Role != Viewer ||
			i.Name != "spiffe://example.net/noc/vera" || i.CA || len(i.Fingerprint) != 64 || i.Hosts == nil {
			t.Errorf("%+v", i)
		}
	}
	infos, err := Show(filepath.Join(dir, "ca/ca.pem"), now)
	if err != nil || !infos[0].CA || infos[0].Name != "spiffe://example.net" || infos[0].Problem != "" {
		t.Errorf("%+v %v", infos, err)
	}
	if _, err := Show(filepath.Join(dir, "vera.key"), now); err == nil || !strings.Contains(err.Error(), "no certificate in PEM") {
		t.Errorf("%v", err)
	}
}

func TestLoadCARefusesWhatIsNone(t *testing.T) {
	ca, dir := newCA(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := ca.Issue(Order{Kind: Edge, Name: "msk1"}, at("e.pem"), at("e.key"), time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ cert, key, says string }{
		{"e.pem", "e.key", "is no CA certificate"},
		{"ca/ca.pem", "e.key", "is not the key of"},
		{"none", "ca/ca.key", "catchment pki init"},
		{"ca/ca.pem", "none", "no such file"},
		{"ca/ca.pem", "ca/ca.pem", "pem"},
	} {
		if _, err := LoadCA(at(c.cert), at(c.key)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v", c, err)
		}
	}
	if _, err := Open(Paths{CA: at("e.pem"), Cert: at("e.pem"), Key: at("e.key")}, nil); err == nil || !strings.Contains(err.Error(), "is no CA certificate") {
		t.Errorf("%v", err)
	}
}

// csr makes a certificate request that a test has changed.
func csr(t *testing.T, change func(*x509.CertificateRequest)) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	r := &x509.CertificateRequest{Subject: pkix.Name{CommonName: "msk1"}}
	change(r)
	der, err := x509.CreateCertificateRequest(rand.Reader, r, key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func TestSignTakesOnlyTheKeyOfARequest(t *testing.T) {
	ca, dir := newCA(t)
	good, keyPEM, err := NewRequest("msk1")
	if err != nil {
		t.Fatal(err)
	}
	cert, err := ca.Sign(good, "msk1", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile := filepath.Join(dir, "e.pem"), filepath.Join(dir, "e.key")
	if err := WriteCert(certFile, cert); err != nil {
		t.Fatal(err)
	}
	if err := WriteKey(keyFile, keyPEM); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Paths{CA: filepath.Join(dir, "ca/ca.pem"), Cert: certFile, Key: keyFile}, nil); err != nil {
		t.Fatal(err)
	}
	ambitious := csr(t, func(r *x509.CertificateRequest) {
		r.Subject.OrganizationalUnit = []string{"admin"}
		r.ExtraExtensions = []pkix.Extension{{Id: []int{2, 5, 29, 19}, Critical: true, Value: []byte{0x30, 3, 1, 1, 0xff}}} // CA: true
	})
	if cert, err = ca.Sign(ambitious, "msk1", time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := WriteCert(certFile+"2", cert); err != nil {
		t.Fatal(err)
	}
	if infos, err := Show(certFile+"2", time.Now()); err != nil || infos[0].CA || infos[0].Role != EdgeRole || infos[0].Name != "spiffe://example.net/edge/msk1" {
		t.Errorf("%+v %v", infos, err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ofRSA, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "msk1"}}, rsaKey)
	if err != nil {
		t.Fatal(err)
	}
	broken := slices.Clone(good)
	broken[len(broken)-1] ^= 1
	other := func(s string) func(*x509.CertificateRequest) {
		u, err := url.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return func(r *x509.CertificateRequest) { r.URIs = []*url.URL{u} }
	}
	for name, c := range map[string]struct {
		der  []byte
		says string
	}{
		"nothing":             {nil, "not a certificate request"},
		"a certificate":       {ca.cert.Raw, "not a certificate request"},
		"more after it":       {append(slices.Clone(good), 0), "not a certificate request"},
		"too large":           {make([]byte, maxRequest+1), "at most"},
		"an RSA key":          {ofRSA, "not ECDSA on P-256"},
		"a broken signature":  {broken, "not signed by its key"},
		"another node":        {csr(t, func(r *x509.CertificateRequest) { r.Subject.CommonName = "ams1" }), `is for "ams1"`},
		"another's URI":       {csr(t, other("spiffe://example.net/noc/root")), "asks for other names"},
		"a host name":         {csr(t, func(r *x509.CertificateRequest) { r.DNSNames = []string{"c1"} }), "asks for other names"},
		"an address":          {csr(t, func(r *x509.CertificateRequest) { r.IPAddresses = []net.IP{{1, 2, 3, 4}} }), "asks for other names"},
		"a mail address":      {csr(t, func(r *x509.CertificateRequest) { r.EmailAddresses = []string{"a@b"} }), "asks for other names"},
		"its own URI is good": {csr(t, other("spiffe://example.net/edge/msk1")), ""},
	} {
		_, err := ca.Sign(c.der, "msk1", time.Now())
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzCheckRequest(f *testing.F) {
	good, _, err := NewRequest("msk1")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte{})
	f.Add(good[:len(good)/2])
	want := Name{Domain: domain, Kind: Edge, Name: "msk1"}
	f.Fuzz(func(t *testing.T, der []byte) {
		r, err := CheckRequest(der, want)
		if err != nil {
			if r != nil {
				t.Error("an error and a request")
			}
			return
		}
		if r.CheckSignature() != nil || r.Subject.CommonName != "msk1" || len(r.DNSNames) > 0 || !onlyNames(r.URIs, want) {
			t.Errorf("taken in: %+v", r.Subject)
		}
	})
}
