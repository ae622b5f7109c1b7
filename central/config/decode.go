package config

import (
	"fmt"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"
)

// decode has viper turn what passed the walk into the raw structs. The delimiter
// stands in no key, so that viper splits none.
func decode(values map[string]any) (*rawConfig, error) {
	v := viper.NewWithOptions(viper.KeyDelimiter("\x00"))
	if err := v.MergeConfigMap(values); err != nil {
		return nil, fmt.Errorf("viper: %w", err)
	}
	raw := new(rawConfig)
	err := v.UnmarshalExact(raw, func(dc *mapstructure.DecoderConfig) {
		dc.TagName = "yaml"
		dc.WeaklyTypedInput = false
	})
	if err != nil {
		return nil, fmt.Errorf("viper: %w", err)
	}
	return raw, nil
}
