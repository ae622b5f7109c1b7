package web

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/identity"
)

// upload sends the form of an import with a file.
func (d *desk) upload(name, content, text string) *httptest.ResponseRecorder {
	d.t.Helper()
	var body bytes.Buffer
	m := multipart.NewWriter(&body)
	for field, value := range map[string]string{tokenField: tokenOf(testSecret), "text": text} {
		if err := m.WriteField(field, value); err != nil {
			d.t.Fatal(err)
		}
	}
	if name != "" {
		f, err := m.CreateFormFile("file", name)
		if err != nil {
			d.t.Fatal(err)
		}
		if _, err := f.Write([]byte(content)); err != nil {
			d.t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		d.t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/maintenance/import", &body)
	r.Header.Set("Content-Type", m.FormDataContentType())
	r.AddCookie(&http.Cookie{Name: plainCookie, Value: testSecret})
	return d.do(r)
}

func TestImportTakesAFileOrItsText(t *testing.T) {
	for name, c := range map[string]struct {
		file, content, text string
		want                *centralv1.ImportWindowsRequest // nil: nothing is asked
		code                int
		says                string
	}{
		"file":         {file: `C:\mails\mail.eml`, content: "MAIL", want: &centralv1.ImportWindowsRequest{Name: "mail.eml", Content: []byte("MAIL")}, code: 200, says: "w-maybe"},
		"path":         {file: "../../etc/mail.ics", content: "ICS", want: &centralv1.ImportWindowsRequest{Name: "mail.ics", Content: []byte("ICS")}, code: 200, says: "no circuit of ours"},
		"text":         {text: "BEGIN:VCALENDAR", want: &centralv1.ImportWindowsRequest{Name: "pasted", Content: []byte("BEGIN:VCALENDAR")}, code: 200, says: "1 proposal"},
		"both":         {file: "a", content: "A", text: "B", code: 422, says: "not both"},
		"neither":      {file: "a", content: "", text: " ", code: 422, says: "choose a file"},
		"too long":     {file: "a", content: strings.Repeat("x", maxMail+1), code: 422, says: "longer than 1 MiB"},
		"far too long": {file: "a", content: strings.Repeat("x", maxUpload+1), code: 413, says: "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			d := deskOf(t, fleetAPI(), identity.Operator, nil)
			d.shows(d.upload(c.file, c.content, c.text), c.code, c.says)
			if c.want == nil {
				d.wants()
				return
			}
			d.wants(c.want)
		})
	}
}

func TestImportThatIsNoneKeepsTheText(t *testing.T) {
	d := deskOf(t, fleetAPI(), identity.Operator, nil)
	d.api.err = status.Error(codes.InvalidArgument, "pasted: no maintenance is announced in it")
	w := d.upload("", "", hostile)
	d.shows(w, http.StatusUnprocessableEntity, "no maintenance is announced in it", hostile)
	d.api.err = nil
	d.api.answers = nil
	d.shows(d.upload("", "", "x"), http.StatusOK, "No proposal was made of it.")
}
