package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"
)

// keyDelimiter stands in no key of the file, so that viper splits none.
const keyDelimiter = "\x00"

// decode has viper turn what passed the walk into the raw structs. viper folds
// the case of keys, coerces types and lets unknown keys pass; here it finds only
// known keys in lower case, texts that their rules accept, and free-form
// dictionaries as map[string]string, which it leaves alone.
func decode(values map[string]any) (*rawConfig, error) {
	v := viper.NewWithOptions(viper.KeyDelimiter(keyDelimiter))
	if err := v.MergeConfigMap(values); err != nil {
		return nil, fmt.Errorf("viper: %w", err)
	}
	raw := new(rawConfig)
	err := v.UnmarshalExact(raw, func(dc *mapstructure.DecoderConfig) {
		dc.TagName = "yaml"
		dc.WeaklyTypedInput = false
		dc.DecodeHook = mapstructure.DecodeHookFuncType(parseHook)
	})
	if err != nil {
		return nil, fmt.Errorf("viper: %w", err)
	}
	return raw, nil
}

// parseHook applies the rule of the type that is being decoded.
func parseHook(from, to reflect.Type, data any) (any, error) {
	text, ok := data.(string)
	r, ends := rules[to]
	if !ok || !ends {
		return data, nil
	}
	return r.parse(text)
}

// fieldsOf gives the keys of a raw struct and the types below them.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		elem := f.Type
		if elem.Kind() == reflect.Pointer {
			elem = elem.Elem()
		}
		if name := keyOf(f); name != "-" {
			out[name] = elem
		}
	}
	return out
}

// fieldNames gives the keys of a raw struct in their order.
func fieldNames(t reflect.Type) []string {
	var out []string
	for i := range t.NumField() {
		if name := keyOf(t.Field(i)); name != "-" {
			out = append(out, name)
		}
	}
	return out
}

func keyOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return name
}
