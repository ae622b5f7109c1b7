package load

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

const stamp = `"timestamp":"2026-11-30T10:00:00Z"`

func TestFeedFigures(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		d    Direction
		want float64 // kbit/s
	}{
		"total":                    {`{` + stamp + `,"total_bandwidth":5000,"rx_bandwidth":1000,"tx_bandwidth":4000}`, Busier, 5000},
		"transmit":                 {`{` + stamp + `,"total_bandwidth":5000,"rx_bandwidth":1000,"tx_bandwidth":4000}`, Transmit, 4000},
		"receive":                  {`{` + stamp + `,"total_bandwidth":5000,"rx_bandwidth":1000,"tx_bandwidth":4000}`, Receive, 1000},
		"no total: tx is busier":   {`{` + stamp + `,"rx_bandwidth":1000,"tx_bandwidth":4000}`, Busier, 4000},
		"no total: rx is busier":   {`{` + stamp + `,"rx_bandwidth":7000,"tx_bandwidth":4000}`, Busier, 7000},
		"no total, the wild's tx":  {`{` + stamp + `,"rx_bandwidth":1000,"tx_badwidth":4000}`, Busier, 4000},
		"transmit in the wild":     {`{` + stamp + `,"total_bandwidth":5000,"tx_badwidth":4000}`, Transmit, 4000},
		"both spellings":           {`{` + stamp + `,"tx_badwidth":1,"tx_bandwidth":4000}`, Transmit, 4000},
		"only rx":                  {`{` + stamp + `,"rx_bandwidth":1000}`, Busier, 1000},
		"only tx":                  {`{` + stamp + `,"tx_bandwidth":1000}`, Busier, 1000},
		"total null":               {`{` + stamp + `,"total_bandwidth":null,"tx_bandwidth":1000}`, Busier, 1000},
		"zero is a figure":         {`{` + stamp + `,"total_bandwidth":0,"tx_bandwidth":1000}`, Busier, 0},
		"fraction and exponent":    {`{` + stamp + `,"total_bandwidth":1.5e3}`, Busier, 1500},
		"others' fields":           {`{` + stamp + `,"total_bandwidth":5,"note":{"a":[1]}}`, Busier, 5},
		"negative is for the gate": {`{` + stamp + `,"total_bandwidth":-5}`, Busier, -5},
		"no direction hides a lie": {`{` + stamp + `,"rx_bandwidth":-1,"tx_bandwidth":5}`, Busier, -1},
	} {
		s, err := ParseFeed([]byte(c.text), c.d)
		if err != nil || s.Load != c.want*1000 || !s.At.Equal(start) {
			t.Errorf("%s: %+v, %v; want %v bit/s at %v", name, s, err, c.want*1000, start)
		}
	}
}

func TestFeedTimestamps(t *testing.T) {
	for _, text := range []string{
		"2026-11-30T10:00:00Z", "2026-11-30t10:00:00z", "2026-11-30 10:00:00Z", "2026-11-30T13:00:00+03:00", "2026-11-30T10:00:00.000Z",
	} {
		s, err := ParseFeed([]byte(`{"timestamp":"`+text+`","total_bandwidth":1}`), Busier)
		if err != nil || !s.At.Equal(start) {
			t.Errorf("%s: %v, %v", text, s.At, err)
		}
	}
	for _, text := range []string{"", "2026-11-30", "2026-11-30T10:00:00", "1796032800", "30.11.2026 10:00", "2026-02-30T10:00:00Z"} {
		_, err := ParseFeed([]byte(`{"timestamp":"`+text+`","total_bandwidth":1}`), Busier)
		if r, ok := errors.AsType[*Refusal](err); !ok || r.Reason != Malformed || !strings.Contains(r.Text, "RFC 3339") {
			t.Errorf("%q: %v, want a refusal that names RFC 3339", text, err)
		}
	}
}

func TestFeedRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		d    Direction
		want Reason
	}{
		"empty":               {``, Busier, Malformed},
		"HTML":                {`<html>`, Busier, Malformed},
		"array":               {`[]`, Busier, Malformed},
		"null":                {`null`, Busier, Malformed},
		"two documents":       {`{` + stamp + `,"total_bandwidth":1}{}`, Busier, Malformed},
		"number in quotes":    {`{` + stamp + `,"total_bandwidth":"1"}`, Busier, Malformed},
		"number without end":  {`{` + stamp + `,"total_bandwidth":1e999}`, Busier, Malformed},
		"NaN":                 {`{` + stamp + `,"total_bandwidth":NaN}`, Busier, Malformed},
		"no timestamp":        {`{"total_bandwidth":1}`, Busier, Malformed},
		"timestamp a number":  {`{"timestamp":1796032800,"total_bandwidth":1}`, Busier, Malformed},
		"no figure":           {`{` + stamp + `}`, Busier, Absent},
		"not that direction":  {`{` + stamp + `,"total_bandwidth":1,"tx_bandwidth":1}`, Receive, Absent},
		"not that direction2": {`{` + stamp + `,"total_bandwidth":1,"rx_bandwidth":1}`, Transmit, Absent},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseFeed([]byte(c.text), c.d)
			wantReason(t, err, c.want)
		})
	}
}

func FuzzParseFeed(f *testing.F) {
	f.Add([]byte(`{`+stamp+`,"total_bandwidth":5000,"rx_bandwidth":1000,"tx_badwidth":4000}`), uint8(0))
	f.Add([]byte(`{"timestamp":"2026-11-30 10:00:00+03:00","tx_bandwidth":-1e300}`), uint8(1))
	f.Add([]byte(`[{}]`), uint8(2))
	f.Fuzz(func(t *testing.T, text []byte, d uint8) {
		checkParsed(t, text, func() (Sample, error) { return ParseFeed(text, Direction(d)) })
	})
}

// checkParsed has a parser tell the same twice, and either a figure or a refusal.
func checkParsed(t *testing.T, text []byte, parse func() (Sample, error)) {
	t.Helper()
	s, err := parse()
	again, errAgain := parse()
	same := s.At.Equal(again.At) && (s.Load == again.Load || math.IsNaN(s.Load) && math.IsNaN(again.Load))
	if !same || (err == nil) != (errAgain == nil) {
		t.Errorf("%q: %+v %v, then %+v %v", text, s, err, again, errAgain)
	}
	if err == nil {
		return
	}
	if _, ok := errors.AsType[*Refusal](err); !ok || s != (Sample{}) {
		t.Errorf("%q: %+v with the error %v", text, s, err)
	}
}

func TestPrometheusFigures(t *testing.T) {
	at := time.UnixMilli(1435781451781)
	for name, c := range map[string]struct {
		text string
		want float64
	}{
		"vector":   {`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"b"},"value":[1435781451.781,"5e9"]}]}}`, 5e9},
		"scalar":   {`{"status":"success","data":{"resultType":"scalar","result":[1435781451.781,"42"]},"warnings":["w"]}`, 42},
		"infinite": {`{"status":"success","data":{"resultType":"scalar","result":[1435781451.781,"+Inf"]}}`, math.Inf(1)},
	} {
		s, err := ParsePrometheus([]byte(c.text))
		if err != nil || s.Load != c.want || !s.At.Equal(at) {
			t.Errorf("%s: %+v, %v; want %v at %v", name, s, err, c.want, at)
		}
	}
	s, err := ParsePrometheus([]byte(`{"status":"success","data":{"resultType":"scalar","result":[1,"NaN"]}}`))
	if err != nil || !math.IsNaN(s.Load) {
		t.Errorf("NaN: %+v, %v; want it for the gate", s, err)
	}
}

func TestPrometheusRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want Reason
		says string
	}{
		"HTML":        {`<html>`, Malformed, "no answer of the Prometheus API"},
		"other JSON":  {`{}`, Malformed, "refuses"},
		"error":       {`{"status":"error","errorType":"bad_data","error":"parse error: x"}`, Malformed, "parse error: x"},
		"nothing":     {`{"status":"success","data":{"resultType":"vector","result":[]}}`, Absent, "finds nothing"},
		"two series":  {`{"status":"success","data":{"resultType":"vector","result":[{"value":[1,"1"]},{"value":[1,"2"]}]}}`, Malformed, "2 series"},
		"matrix":      {`{"status":"success","data":{"resultType":"matrix","result":[]}}`, Malformed, `"matrix"`},
		"histogram":   {`{"status":"success","data":{"resultType":"vector","result":[{"histogram":[1,{}]}]}}`, Malformed, "number in quotes"},
		"bare number": {`{"status":"success","data":{"resultType":"scalar","result":[1,2]}}`, Malformed, "number in quotes"},
		"no value":    {`{"status":"success","data":{"resultType":"scalar","result":[1]}}`, Malformed, "number in quotes"},
		"no number":   {`{"status":"success","data":{"resultType":"scalar","result":[1,"x"]}}`, Malformed, "no number"},
		"no result":   {`{"status":"success","data":{"resultType":"scalar"}}`, Malformed, "scalar"},
		"far times":   {`{"status":"success","data":{"resultType":"scalar","result":[1e300,"1"]}}`, Malformed, "time in seconds"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParsePrometheus([]byte(c.text))
			wantReason(t, err, c.want)
			if err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v; want it to say %q", err, c.says)
			}
		})
	}
}

func FuzzParsePrometheus(f *testing.F) {
	f.Add([]byte(`{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1435781451.781,"5e9"]}]}}`))
	f.Add([]byte(`{"status":"success","data":{"resultType":"scalar","result":[1435781451.781,"NaN"]}}`))
	f.Add([]byte(`{"status":"error","error":"x"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		checkParsed(t, text, func() (Sample, error) { return ParsePrometheus(text) })
	})
}
