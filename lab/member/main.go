// Command member is one member of an etcd cluster, as a fleet that has outgrown one machine keeps its store in: three or
// five of them, each on a machine of its own. It is for tests in the lab, where Debian's etcd is older than central/store
// takes, and is never installed.
//
// In go addresses and certificates; "ready" goes out, on stdout, once the cluster has a leader. It ends with the process
// only, and speaks to nobody without a certificate of the cluster's CA.
package main

import (
	"flag"
	"fmt"
	"net/url"
	"os"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
)

func main() {
	name := flag.String("name", "", "`name` of this member")
	data := flag.String("data", "", "its `folder`")
	client := flag.String("client", "", "`URL` at which clients reach it")
	peer := flag.String("peer", "", "`URL` at which the others do")
	cluster := flag.String("cluster", "", "all members, as `NAME=URL,...`")
	ca := flag.String("ca", "", "`file` of the cluster's CA")
	server := flag.String("server", "", "`path` of the certificate for who dials it, without .pem and .key")
	dialer := flag.String("dialer", "", "`path` of the certificate for whom it dials")
	flag.Parse()
	secure := transport.TLSInfo{CertFile: *server + ".pem", KeyFile: *server + ".key", ClientCertFile: *dialer + ".pem", ClientKeyFile: *dialer + ".key",
		TrustedCAFile: *ca, ClientCertAuth: true}
	if err := run(*name, *data, *client, *peer, *cluster, secure); err != nil {
		fmt.Fprintln(os.Stderr, "member:", err)
		os.Exit(1)
	}
}

func run(name, data, client, peer, cluster string, secure transport.TLSInfo) error {
	forClients, err := url.Parse(client)
	if err != nil {
		return err
	}
	forPeers, err := url.Parse(peer)
	if err != nil {
		return err
	}
	c := embed.NewConfig()
	c.Name, c.Dir, c.InitialCluster, c.LogLevel = name, data, cluster, "error"
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{*forClients}, []url.URL{*forClients}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{*forPeers}, []url.URL{*forPeers}
	c.ClientTLSInfo, c.PeerTLSInfo = secure, secure
	e, err := embed.StartEtcd(c)
	if err != nil {
		return err
	}
	<-e.Server.ReadyNotify()
	fmt.Println("ready")
	return <-e.Err()
}
