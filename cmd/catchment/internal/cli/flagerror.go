package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagError says what to write instead where pflag tells of Go's parsers, and
// which flag may be meant where one is unknown.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		if near := nearFlags(cmd, unknown.GetSpecifiedName()); len(near) > 0 {
			return fmt.Errorf("%w; did you mean %s?", err, strings.Join(near, " or "))
		}
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand
		}
		return fmt.Errorf("%s %s: %s", name, invalid.GetValue(), instead(f.Value.Type(), invalid.Unwrap()))
	}
	return err
}

// instead is what to write for a flag's type; cause is the text for a type of our own.
func instead(kind string, cause error) string {
	switch {
	case kind == "duration":
		return "write a time with its unit, such as 5m"
	case kind == "int32" && errors.Is(cause, strconv.ErrRange):
		return "write a smaller whole number"
	case kind == "int32":
		return "write a whole number"
	case kind == "bool":
		return "write true or false, or the flag alone"
	}
	return cause.Error()
}

// nearFlags are the flags whose name is like that, by the measure that cobra has
// for commands and does not export for flags.
func nearFlags(cmd *cobra.Command, name string) []string {
	if name == "" {
		return nil
	}
	measure := &cobra.Command{SuggestionsMinimumDistance: 2}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			measure.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		}
	})
	var near []string
	for _, n := range measure.SuggestionsFor(name) {
		near = append(near, "--"+n)
	}
	return near
}
