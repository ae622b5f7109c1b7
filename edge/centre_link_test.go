package edge

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	mathrand "math/rand"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/edge/config"
)

func TestRetriesAreJitteredAndWaitLongerWithEachRound(t *testing.T) {
	for _, tt := range []struct {
		failures, centres int
		chance            float64
		want              time.Duration
	}{
		{1, 3, 0, 250 * time.Millisecond}, {1, 3, 1, time.Second}, {3, 3, 1, time.Second},
		{4, 3, 1, 2 * time.Second}, {7, 3, 0.5, 2500 * time.Millisecond}, {1000, 3, 1, 20 * time.Second}, {1000, 1, 0, 5 * time.Second},
	} {
		if got := retryWait(tt.failures, tt.centres, tt.chance); got != tt.want {
			t.Errorf("after %d failures at %d centres, chance %v: %v, want %v", tt.failures, tt.centres, tt.chance, got, tt.want)
		}
	}
}

func TestANodeMovesOnToAnotherCentreWithinFiveSeconds(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		one, two := newCentreFake(), newCentreFake()
		defer one.kill()
		defer two.kill()
		w.clock = func() bool { return true }
		w.centre = func(ctx context.Context, address string) (net.Conn, error) {
			if address == "127.0.0.1:7179" {
				return one.dial(ctx, address)
			}
			return two.dial(ctx, address)
		}
		w.start("leave_hold: 2s", `central: {addresses: ["127.0.0.1:7179", "127.0.0.1:7180"], insecure: true}`+"\nleave_hold: 2s")
		w.well()
		w.pass(5 * time.Second)
		w.expectCentral("connected")
		n := w.journal.len()
		first, other := one, two
		if one.opened() == 0 {
			first, other = two, one
		}
		first.kill()
		w.pass(5 * time.Second)
		w.expectCentral("connected")
		if other.opened() != 1 || len(other.said()) != 1 || len(other.all()) == 0 {
			t.Errorf("at the other: %d streams, %d hellos, %d reports", other.opened(), len(other.said()), len(other.all()))
		}
		if lines := w.journal.since(n, "tell"); lines != nil {
			t.Errorf("%q", lines)
		}
		w.leave()
		<-w.node.Gone()
	})
}

func TestCentresThatAreAwayAreToldOnceEach(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.clock = func() bool { return true }
		w.centre = func(_ context.Context, address string) (net.Conn, error) {
			return nil, fmt.Errorf("dial %s: connection refused", address)
		}
		w.start("leave_hold: 2s", `central: {addresses: ["127.0.0.1:7179", "127.0.0.1:7180"], insecure: true}`+"\nleave_hold: 2s")
		w.well()
		w.pass(10 * time.Minute)
		if n := strings.Count(w.log.String(), "no stream to the centre"); n != 2 {
			t.Errorf("told %d times", n)
		}
		if v := w.snapshot().Centre; !strings.Contains(v.Fault, v.Address+": connection refused") {
			t.Errorf("%s: %s", v.Address, v.Fault)
		}
	})
}

func TestACentreThatFallsSilentIsLeft(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		c.set(func() { c.mute = true })
		w.pass(silentTime + 5*time.Second)
		if c.opened() < 2 {
			t.Errorf("%d streams", c.opened())
		}
		w.expectCentral("away")
	})
}

func TestAConnectionThatComesWhenTheWaitIsOverDoesNoHarm(t *testing.T) {
	for range 200 {
		bubble(t, func(t *testing.T, w *world) {
			c := newCentreFake()
			defer c.kill()
			late := true // until the first try is over
			dial := func(ctx context.Context, address string) (net.Conn, error) {
				if late {
					late = false
					<-time.After(connectTime)
				}
				return c.dial(context.WithoutCancel(ctx), address)
			}
			faults := []string{}
			up := make(chan struct{}, 1)
			l := OpenLink(t.Context(), config.Central{Addresses: []string{"127.0.0.1:7179"}, Insecure: true}, "n1", dial, func(n LinkNews) {
				if n.Up {
					up <- struct{}{}
				} else {
					faults = append(faults, n.Fault)
				}
			})
			<-up
			l.Close()
			if len(faults) > 1 || len(faults) == 1 && faults[0] != errSlow.Error() {
				t.Fatalf("%q", faults)
			}
		})
	}
}

func TestAReloadSaysHelloAgainAndLetsTheCentreGo(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		c.wants(func(in *centralv1.Intent) { in.Tags = []*centralv1.Tag{{Value: "57629:201"}} })
		w.pass(time.Second)
		reload := func(edits ...string) {
			t.Helper()
			if _, err := w.node.Reload(context.Background(), w.config(edits...), nil); err != nil {
				t.Fatal(err)
			}
			w.pass(time.Second)
		}
		reload("leave_hold: 2s", centreLine+"leave_hold: 2s\nsite: moscow")
		if n := len(c.said()); n != 2 || c.said()[1].GetSite() != "moscow" || c.opened() != 1 {
			t.Errorf("%d hellos, %d streams", n, c.opened())
		}
		w.expect("ix", withTag(ix4, "57629:201"), withTag(ix6, "57629:201"))
		reload()
		w.expectCentral("none")
		w.expect("ix", ix4, ix6)
		reload("leave_hold: 2s", centreLine+"leave_hold: 2s")
		w.pass(5 * time.Second)
		w.expectCentral("connected")
		w.expect("ix", withTag(ix4, "57629:201"), withTag(ix6, "57629:201"))
	})
}

// TestTheCentreIsKilledAtAnyMoment kills and starts the centre at random while a window
// runs, a tag is set and leave is held: the wire shows what the window says, no more.
func TestTheCentreIsKilledAtAnyMoment(t *testing.T) {
	for seed := range int64(20) {
		r := mathrand.New(mathrand.NewSource(seed))
		governed(t, func(t *testing.T, w *world, c *centreFake) {
			c.set(func() { c.grants = true })
			c.wants(func(in *centralv1.Intent) {
				in.Tags = []*centralv1.Tag{{Value: "57629:201"}}
				in.Windows = []*centralv1.Window{nodeWindow("w1", 5*time.Minute)}
			})
			w.pass(time.Second)
			end, dead := time.Now().Add(5*time.Minute), false
			n := w.journal.len()
			for time.Now().Before(end.Add(time.Minute)) {
				w.pass(time.Duration(r.Intn(20_000)) * time.Millisecond)
				if dead = !dead; dead {
					c.kill()
				} else {
					c.revive()
				}
			}
			// What it says: withdrawn after the drain, and back at the end, or with no leave
			// in time de-preferred in between.
			lines := w.journal.since(n, "tell ix")
			if len(lines) != 2 || !strings.Contains(lines[0], "tell ix []") || !strings.Contains(lines[1], "57629:201") {
				t.Errorf("seed %d: %q", seed, lines)
			}
		})
	}
}

// authority signs the certificates of one test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	a := authority{}
	a.cert, a.key, a.pem, _ = certify(t, authority{}, 1)
	return a
}

// certify makes a certificate for 127.0.0.1 with a number; of no authority: its own.
func certify(t *testing.T, by authority, number int64) (*x509.Certificate, *ecdsa.PrivateKey, []byte, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(number), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true, IsCA: by.cert == nil,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	parent, signer := by.cert, by.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
}

// TestFilesOfTheIdentityAreTakenUpWhenTheyChange runs the link alone, in virtual time.
func TestFilesOfTheIdentityAreTakenUpWhenTheyChange(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	synctest.Test(t, func(t *testing.T) {
		ca := newAuthority(t)
		_, _, serverCert, serverKey := certify(t, ca, 2)
		_, _, cert, key := certify(t, ca, 3)
		to := config.Central{Addresses: []string{"127.0.0.1:7179"}, TLS: config.TLS{CA: write("ca.pem", ca.pem), Cert: write("edge.pem", cert), Key: write("edge.key", key)}}
		pair, err := tls.X509KeyPair(serverCert, serverKey)
		if err != nil {
			t.Fatal(err)
		}
		var numbers []int64
		c := newCentreFake()
		c.kill()
		c.set(func() { c.dead = false })
		c.listenTLS(&tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS13,
			VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
				cert, err := x509.ParseCertificate(raw[0])
				if err == nil {
					c.set(func() { numbers = append(numbers, cert.SerialNumber.Int64()) })
				}
				return err
			}})
		news, written := make(chan centreNews), make(chan error)
		close(written)
		l := startLink(t.Context(), to, "msk1", 0, written, c.dial, news)
		go func() {
			for range news {
			}
		}()
		l.say(&centralv1.Hello{Node: "msk1"}, &centralv1.Report{})
		time.Sleep(40 * time.Second)
		_, _, cert, key = certify(t, ca, 4)
		write("edge.pem", cert) // half of a change is no change
		time.Sleep(lookEvery)
		write("edge.key", key)
		time.Sleep(lookEvery + time.Second)
		if got := l.certificates(); !got.ca.Equal(ca.cert.NotAfter) || got.node.IsZero() {
			t.Errorf("the certificates end at %v", got)
		}
		l.close()
		close(news)
		c.kill()
		if !slices.Equal(numbers, []int64{3, 4}) {
			t.Errorf("the centre saw certificates %v", numbers)
		}
	})
}

// listenTLS is listen with TLS.
func (f *centreFake) listenTLS(c *tls.Config) { f.listen(grpc.Creds(credentials.NewTLS(c))) }
