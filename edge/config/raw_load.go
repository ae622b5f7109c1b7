package config

type rawLoad struct {
	Mode          *LoadMode     `yaml:"mode,omitempty"`
	Target        *float64      `yaml:"target,omitempty"`
	Interval      *duration     `yaml:"interval,omitempty"`
	AllowWithdraw *bool         `yaml:"allow_withdraw,omitempty"`
	DwellUp       *duration     `yaml:"dwell_up,omitempty"`
	DwellDown     *duration     `yaml:"dwell_down,omitempty"`
	DeadTime      *duration     `yaml:"dead_time,omitempty"`
	DownAfter     *duration     `yaml:"down_after,omitempty"`
	Slowdown      []rawPoint    `yaml:"slowdown,omitempty,flow"`
	Drop          []rawPoint    `yaml:"drop,omitempty,flow"`
	Flap          *rawFlap      `yaml:"flap,omitempty"`
	Node          *rawResources `yaml:"node,omitempty"`
	Quality       *rawQuality   `yaml:"quality,omitempty"`
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

type rawResources struct {
	CPU            *bool        `yaml:"cpu,omitempty"`
	Interfaces     []rawDevice  `yaml:"interfaces,omitempty"`
	Disks          []string     `yaml:"disks,omitempty,flow"`
	Pressure       *rawPressure `yaml:"pressure,omitempty"`
	Sessions       *count       `yaml:"sessions,omitempty"`
	SessionsPeriod *duration    `yaml:"sessions_period,omitempty"`
	Period         *duration    `yaml:"period,omitempty"`
}

type rawDevice struct {
	Name  *string  `yaml:"name,omitempty"`
	Speed *bitRate `yaml:"speed,omitempty"`
}

// rawPressure has limits for shares of time.
type rawPressure struct {
	CPU    *float64 `yaml:"cpu,omitempty"`
	IO     *float64 `yaml:"io,omitempty"`
	Memory *float64 `yaml:"memory,omitempty"`
}

type rawQuality struct {
	Period *duration `yaml:"period,omitempty"`
}
