package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/internal/pages"
)

const referencePage = "docs/reference/central-config.md"

// TestTheReferenceHasEveryKeyAndNoOther holds each section to a shape of the file.
func TestTheReferenceHasEveryKeyAndNoOther(t *testing.T) {
	page, err := pages.Read(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	for section, shape := range map[string]reflect.Type{
		"Top level": reflect.TypeFor[rawConfig](), "etcd": reflect.TypeFor[rawEtcd](), "tls": reflect.TypeFor[rawTLS](),
		"audit": reflect.TypeFor[rawAudit](), "services": reflect.TypeFor[rawService](),
		"bmp": reflect.TypeFor[rawBMP](), "views": reflect.TypeFor[rawView](),
		"web": reflect.TypeFor[rawWeb](), "oidc": reflect.TypeFor[rawOIDC](),
	} {
		table, err := page.Table(section)
		if err != nil {
			t.Error(err)
			continue
		}
		_, want := fieldsOf(shape)
		var got []string
		for _, row := range table.Rows {
			got = append(got, strings.Trim(row[0], "`"))
			if len(row) != 3 || row[1] == "" || row[2] == "" {
				t.Errorf("%s, section %s: %q says too little", page.Path, section, row)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s, section %s: the keys are %q, and a file has %q", page.Path, section, got, want)
		}
		if section == "Top level" && !slices.ContainsFunc(table.Rows, func(row []string) bool { return row[0] == "`listen`" && row[1] == "`"+DefaultListen+"`" }) {
			t.Errorf("the default of listen is %s", DefaultListen)
		}
	}
}

// TestTheExampleOfThePageAboutBMPIsGood parses it.
func TestTheExampleOfThePageAboutBMPIsGood(t *testing.T) {
	page, err := pages.Read("docs/howto/see-from-outside.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range page.Blocks() {
		if b.Lang != "yaml" {
			continue
		}
		c, err := Parse(page.Path, []byte("data: store\n"+b.Text), "/etc/catchment-central")
		if err != nil || c.BMP == nil || len(c.BMP.Views) != 1 || c.BMP.Grace != DefaultGrace || c.BMP.Views[0].Policy != DefaultPolicy {
			t.Errorf("%+v, %v", c, err)
		}
		return
	}
	t.Error("the page has no example")
}

// TestTheExampleOfTheReferenceHasEveryKey parses it.
func TestTheExampleOfTheReferenceHasEveryKey(t *testing.T) {
	page, err := pages.Read(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	parsed := 0
	for _, b := range page.Blocks() {
		if b.Lang != "yaml" {
			continue
		}
		c, err := Parse(page.Path, []byte(b.Text), "/etc/catchment-central")
		if err != nil {
			t.Fatal(err)
		}
		parsed++
		v := reflect.ValueOf(*c)
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "Etcd" { // instead of data
				t.Errorf("the example says nothing of %s", name)
			}
		}
	}
	if parsed != 1 {
		t.Errorf("%d examples", parsed)
	}
}
