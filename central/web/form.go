package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"unicode/utf8"

	"github.com/catchment-bgp/catchment/central/identity"
)

const (
	// formCookie binds the forms of who has no session to the browser.
	formCookie = "__Host-catchment-form"
	// plainCookie is for --dev: browsers take __Host- over TLS only.
	plainCookie = "catchment-form"
	// tokenField is the field of a form with the token.
	tokenField = "token"
	// formSecret is how many random bytes the cookie has.
	formSecret = 24
	// formKey is how many a form has that shall do what it does once.
	formKey = 16
)

// token returns what a form must bring back: it is made of a cookie that no other site
// can read or set. Who has none gets one.
func (s *Site) token(w http.ResponseWriter, r *http.Request) string {
	if secret := secretOf(r); secret != "" {
		return tokenOf(secret)
	}
	secret := random(formSecret)
	http.SetCookie(w, &http.Cookie{Name: formName(r), Value: secret, Path: "/", Secure: r.TLS != nil, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	return tokenOf(secret)
}

// random is a text of so many random bytes.
func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: crypto/rand ends the process rather
	return base64.RawURLEncoding.EncodeToString(b)
}

// secretOf is the cookie that the tokens of a browser are made of.
func secretOf(r *http.Request) string {
	for _, name := range []string{identity.SessionCookie, formName(r)} {
		if c, err := r.Cookie(name); err == nil && c.Value != "" {
			return c.Value
		}
	}
	return ""
}

func formName(r *http.Request) string {
	if r.TLS == nil {
		return plainCookie
	}
	return formCookie
}

func tokenOf(secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("catchment form"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// form lets only requests through that come from a form of ours.
func (s *Site) form(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		secret := secretOf(r)
		if err := r.ParseForm(); err != nil {
			s.fail(w, r, http.StatusBadRequest, "The form cannot be read: "+err.Error())
			return
		}
		if !utf8Only(r.PostForm) {
			s.fail(w, r, http.StatusUnprocessableEntity, notText)
			return
		}
		if secret == "" || !hmac.Equal([]byte(r.PostForm.Get(tokenField)), []byte(tokenOf(secret))) {
			s.fail(w, r, http.StatusForbidden, "This form is too old, or not of this page. Go back, load the page again, and send it once more.")
			return
		}
		next(w, r)
	}
}

const notText = "That is no text in UTF-8, in which everything here is written."

// utf8Only reports whether all values are texts: the API takes no others.
func utf8Only(values url.Values) bool {
	for name, all := range values {
		if !utf8.ValidString(name) || slices.ContainsFunc(all, func(v string) bool { return !utf8.ValidString(v) }) {
			return false
		}
	}
	return true
}
