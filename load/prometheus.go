package load

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// promAnswer is an answer of the HTTP API v1 to an instant query.
type promAnswer struct {
	Status string `json:"status"`
	Error  string `json:"error"`
	Data   struct {
		ResultType string          `json:"resultType"`
		Result     json.RawMessage `json:"result"`
	} `json:"data"`
}

// promPoint is a time in seconds, and a number as text.
type promPoint [2]json.RawMessage

// ParsePrometheus reads an answer of the HTTP API v1 to an instant query whose
// result is one figure in bit/s. The error is a *Refusal.
func ParsePrometheus(answer []byte) (Sample, error) {
	var a promAnswer
	if err := json.Unmarshal(answer, &a); err != nil {
		return Sample{}, refuse(Malformed, "this is no answer of the Prometheus API: %v", err)
	}
	if a.Status != "success" {
		return Sample{}, refuse(Malformed, "Prometheus refuses the query: %.200s", a.Error)
	}
	var point promPoint
	switch a.Data.ResultType {
	case "scalar":
		if err := json.Unmarshal(a.Data.Result, &point); err != nil {
			return Sample{}, refuse(Malformed, "the scalar: %v", err)
		}
	case "vector":
		var vector []struct {
			Value promPoint `json:"value"`
		}
		if err := json.Unmarshal(a.Data.Result, &vector); err != nil {
			return Sample{}, refuse(Malformed, "the vector: %v", err)
		}
		switch len(vector) {
		case 0:
			return Sample{}, refuse(Absent, "the query finds nothing")
		case 1:
			point = vector[0].Value
		default:
			return Sample{}, refuse(Malformed, "the query finds %d series where one is wanted: sum() or narrow it", len(vector))
		}
	default:
		return Sample{}, refuse(Malformed, "the result is of type %.20q; an instant query with one number is wanted", a.Data.ResultType)
	}
	return point.sample()
}

func (p promPoint) sample() (Sample, error) {
	var seconds float64
	var text string
	if json.Unmarshal(p[0], &seconds) != nil || json.Unmarshal(p[1], &text) != nil || math.Abs(seconds) > 1<<40 {
		return Sample{}, refuse(Malformed, "a result is a time in seconds and a number in quotes")
	}
	load, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return Sample{}, refuse(Malformed, "the result %.40q is no number", text)
	}
	return Sample{Load: load, At: time.UnixMilli(int64(math.Round(seconds * 1000)))}, nil
}

// prometheusReader asks a Prometheus.
type prometheusReader struct {
	*getter
	url string
}

func newPrometheusReader(s *Source) *prometheusReader {
	p, base := s.Prometheus, s.Prometheus.URL
	base, _, _ = strings.Cut(base, "?")
	where := strings.TrimRight(base, "/") + "/api/v1/query?query=" + url.QueryEscape(p.Query)
	return &prometheusReader{newGetter(p.Period), where}
}

func (r *prometheusReader) read(ctx context.Context) (Sample, error) {
	body, err := r.get(ctx, r.url, answersQuery)
	if err != nil {
		return Sample{}, err
	}
	return ParsePrometheus(body)
}

// answersQuery tells the statuses whose body is an answer: 400 and 422 have the
// reason why a query was refused.
func answersQuery(status int) bool {
	return status == http.StatusOK || status == http.StatusBadRequest || status == http.StatusUnprocessableEntity
}
