package config

import "net/netip"

type rawCheck struct {
	Name         *string   `yaml:"name,omitempty"`
	HTTP         *rawHTTP  `yaml:"http,omitempty"`
	TCP          *rawTCP   `yaml:"tcp,omitempty"`
	DNS          *rawDNS   `yaml:"dns,omitempty"`
	ICMP         *rawICMP  `yaml:"icmp,omitempty"`
	GRPC         *rawGRPC  `yaml:"grpc,omitempty"`
	Exec         *rawExec  `yaml:"exec,omitempty"`
	Unit         *rawUnit  `yaml:"unit,omitempty"`
	File         *rawFile  `yaml:"file,omitempty"`
	Interval     *duration `yaml:"interval,omitempty"`
	FastInterval *duration `yaml:"fast_interval,omitempty"`
	Timeout      *duration `yaml:"timeout,omitempty"`
	Rise         *count    `yaml:"rise,omitempty"`
	Fall         *count    `yaml:"fall,omitempty"`
	Scope        *scope    `yaml:"scope,omitempty"`
	Jitter       *float64  `yaml:"jitter,omitempty"`
	Watch        *bool     `yaml:"watch,omitempty"`
	RestartGrace *duration `yaml:"restart_grace,omitempty"`
}

type rawHTTP struct {
	URL                *string            `yaml:"url,omitempty"`
	Method             *string            `yaml:"method,omitempty"`
	Headers            map[string]literal `yaml:"headers,omitempty"`
	Status             []count            `yaml:"status,omitempty,flow"`
	Body               *multiline         `yaml:"body,omitempty"`
	ExpectHeaders      map[string]literal `yaml:"expect_headers,omitempty"`
	MinBytes           *count             `yaml:"min_bytes,omitempty"`
	MaxTime            *duration          `yaml:"max_time,omitempty"`
	CAFile             *string            `yaml:"ca_file,omitempty"`
	ServerName         *string            `yaml:"server_name,omitempty"`
	InsecureSkipVerify *bool              `yaml:"insecure_skip_verify,omitempty"`
}

type rawTCP struct {
	Address *string `yaml:"address,omitempty"`
}

type rawDNS struct {
	Server     *string     `yaml:"server,omitempty"`
	Transport  *transport  `yaml:"transport,omitempty"`
	Name       *string     `yaml:"name,omitempty"`
	Type       *string     `yaml:"type,omitempty"`
	Class      *string     `yaml:"class,omitempty"`
	RCode      *string     `yaml:"rcode,omitempty"`
	Answer     *multiline  `yaml:"answer,omitempty"`
	MinAnswers *count      `yaml:"min_answers,omitempty"`
	Source     *netip.Addr `yaml:"source,omitempty"`
}

type rawICMP struct {
	Address    *netip.Addr `yaml:"address,omitempty"`
	Count      *count      `yaml:"count,omitempty"`
	MinReplies *count      `yaml:"min_replies,omitempty"`
	Source     *netip.Addr `yaml:"source,omitempty"`
}

type rawGRPC struct {
	Address            *string `yaml:"address,omitempty"`
	Service            *string `yaml:"service,omitempty"`
	TLS                *bool   `yaml:"tls,omitempty"`
	CAFile             *string `yaml:"ca_file,omitempty"`
	ServerName         *string `yaml:"server_name,omitempty"`
	InsecureSkipVerify *bool   `yaml:"insecure_skip_verify,omitempty"`
}

type rawExec struct {
	Command     []literal `yaml:"command,omitempty,flow"`
	Exit        []count   `yaml:"exit,omitempty,flow"`
	Environment []literal `yaml:"environment,omitempty,flow"`
	Directory   *string   `yaml:"directory,omitempty"`
}

type rawUnit struct {
	Name *string `yaml:"name,omitempty"`
}

type rawFile struct {
	Path    *string   `yaml:"path,omitempty"`
	Present *bool     `yaml:"present,omitempty"`
	MaxAge  *duration `yaml:"max_age,omitempty"`
}
