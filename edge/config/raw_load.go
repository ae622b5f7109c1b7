package config

type rawLoad struct {
	Mode          *LoadMode  `yaml:"mode,omitempty"`
	Target        *float64   `yaml:"target,omitempty"`
	Interval      *duration  `yaml:"interval,omitempty"`
	AllowWithdraw *bool      `yaml:"allow_withdraw,omitempty"`
	DwellUp       *duration  `yaml:"dwell_up,omitempty"`
	DwellDown     *duration  `yaml:"dwell_down,omitempty"`
	DownAfter     *duration  `yaml:"down_after,omitempty"`
	Slowdown      []rawPoint `yaml:"slowdown,omitempty,flow"`
	Drop          []rawPoint `yaml:"drop,omitempty,flow"`
	Flap          *rawFlap   `yaml:"flap,omitempty"`
}

// rawPoint is a corner of a curve.
type rawPoint struct {
	Load  *float64 `yaml:"load,omitempty"`
	Share *float64 `yaml:"share,omitempty"`
}

type rawFlap struct {
	Profiles    []FlapProfile `yaml:"profiles,omitempty,flow"`
	Exploration *float64      `yaml:"exploration,omitempty"`
	Margin      *float64      `yaml:"margin,omitempty"`
}
