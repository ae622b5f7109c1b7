package importer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// restAnswer is a WhoisResources document of the RIPE Database REST API.
type restAnswer struct {
	Objects struct {
		Object []struct {
			Type       string `json:"type"`
			Attributes struct {
				Attribute []struct {
					Name  string `json:"name"`
					Value string `json:"value"`
				} `json:"attribute"`
			} `json:"attributes"`
		} `json:"object"`
	} `json:"objects"`
	ErrorMessages struct {
		ErrorMessage []struct {
			Text string `json:"text"`
			Args []struct {
				Value string `json:"value"`
			} `json:"args"`
		} `json:"errormessage"`
	} `json:"errormessages"`
}

// REST gets an aut-num object from a RIPE Database REST address, such as
// https://rest.db.ripe.net/ripe/aut-num/AS64500.json. Lines of its entries are the
// object's attributes, from 1 on. What is no JSON is read as [Read] reads it with [Auto].
// It takes at most 30 seconds and 16 MiB. An error is that of the network or the server.
func REST(ctx context.Context, client *http.Client, url string) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, longestWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return Result{}, err
	}
	req.Header.Set("Accept", "application/json, text/plain;q=0.5, */*;q=0.1")
	resp, err := client.Do(req)
	if err != nil {
		return Result{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, longestAnswer+1))
	switch {
	case err != nil:
		return Result{}, fmt.Errorf("%s: %w", url, err)
	case len(body) > longestAnswer:
		return Result{}, fmt.Errorf("%s: the answer is larger than %d MiB", url, longestAnswer>>20)
	case resp.StatusCode != http.StatusOK:
		return Result{}, fmt.Errorf("%s: %s%s", url, resp.Status, restError(body))
	}
	if trimmed := bytes.TrimSpace(body); len(trimmed) == 0 || trimmed[0] != '{' {
		return Read(bytes.NewReader(body), url, Auto, Options{})
	}
	return readREST(body, url)
}

// readREST reads the objects of a REST answer.
func readREST(body []byte, url string) (Result, error) {
	var answer restAnswer
	if err := json.Unmarshal(body, &answer); err != nil {
		return Result{}, fmt.Errorf("%s: %w", url, err)
	}
	var out Result
	found := false
	words := newLexicon()
	for _, o := range answer.Objects.Object {
		read := object{class: o.Type}
		for i, a := range o.Attributes.Attribute {
			for n, text := range strings.Split(a.Value, "\n") {
				text, cut := clean(text), len(text) > longestLine
				if cut {
					text = text[:longestLine]
				}
				read.attributes = append(read.attributes, attribute{name: strings.ToLower(a.Name), value: text, no: i + 1, folded: n > 0, cut: cut})
			}
			if strings.EqualFold(a.Name, o.Type) {
				read.key = strings.TrimSpace(a.Value)
			}
		}
		found = found || o.Type == "aut-num"
		out.add(readObjectWith(words, &read, url, Options{}))
	}
	if !found {
		return Result{}, fmt.Errorf("%s: the answer has no aut-num object%s", url, restError(body))
	}
	return out, nil
}

// restError is what the server says in its answer.
func restError(body []byte) string {
	var answer restAnswer
	if json.Unmarshal(body, &answer) != nil || len(answer.ErrorMessages.ErrorMessage) == 0 {
		return ""
	}
	first := answer.ErrorMessages.ErrorMessage[0]
	text := first.Text
	for _, a := range first.Args {
		text = strings.Replace(text, "%s", a.Value, 1)
	}
	return ": " + brief(clean(squeeze(text)))
}
