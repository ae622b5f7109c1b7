package store

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

// Dial returns the store in the etcd cluster (3.5 or later) that answers at any
// of the endpoints (https://HOST:PORT). Without config the connection is in plain text: for
// loopback only. It waits for the cluster to answer, at most opts.Timeout.
func Dial(ctx context.Context, endpoints []string, config *tls.Config, opts Options) (*Etcd, error) {
	if len(endpoints) == 0 {
		return nil, fmt.Errorf("no endpoint of an etcd cluster: %w", ErrInvalid)
	}
	opts = opts.withDefaults()
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            endpoints,
		TLS:                  config,
		DialTimeout:          opts.Timeout,
		DialKeepAliveTime:    10 * time.Second,
		DialKeepAliveTimeout: 3 * time.Second,
		PermitWithoutStream:  true,
		Logger:               zapLogger(opts.Log, nil),
		DialOptions:          []grpc.DialOption{grpc.WithDisableServiceConfig()},
	})
	if err != nil {
		return nil, fmt.Errorf("etcd at %s: %w", strings.Join(endpoints, ", "), err)
	}
	e, err := newEtcd(ctx, client, nil, opts)
	if errors.Is(err, ErrUnavailable) {
		return nil, fmt.Errorf("no etcd member at %s answers; look at the addresses, the certificates and whether most members are up: %w",
			strings.Join(endpoints, ", "), err)
	}
	return e, err
}
