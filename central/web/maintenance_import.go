package web

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"path"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
)

const (
	// maxMail bounds what is imported, in bytes, and maxUpload the form around it.
	maxMail   = 1 << 20
	maxUpload = 3*maxMail + 64<<10 // text that is typed takes three bytes for one
)

// importView is the form to import a provider's announcement, and what came of it.
type importView struct {
	Text, Fault string
	Done        bool
	Proposals   []windowView
	Problems    []*centralv1.ImportProblem
}

// bounded refuses a form that is longer than most bytes, and reads one with a file.
func (s *Site) bounded(most int64, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, most)
		err := r.ParseForm() // ParseMultipartForm forgets its error
		if err == nil {
			err = r.ParseMultipartForm(most)
		}
		var long *http.MaxBytesError
		switch {
		case errors.As(err, &long), errors.Is(err, multipart.ErrMessageTooLarge):
			s.fail(w, r, http.StatusRequestEntityTooLarge, "This is too long. Send it in parts.")
			return
		case err != nil && !errors.Is(err, http.ErrNotMultipart):
			s.fail(w, r, http.StatusBadRequest, "The form cannot be read: "+err.Error())
			return
		}
		next(w, r)
	}
}

func (s *Site) importForm(w http.ResponseWriter, r *http.Request) {
	s.showImport(w, r, http.StatusOK, importView{})
}

func (s *Site) showImport(w http.ResponseWriter, r *http.Request, code int, v importView) {
	s.show(w, r, code, "import", layout{Title: "Import an announcement", Section: "maintenance", Body: v})
}

// importMail makes proposals of a provider's mail or calendar.
func (s *Site) importMail(w http.ResponseWriter, r *http.Request) {
	v := importView{Text: r.PostForm.Get("text")}
	ask := &centralv1.ImportWindowsRequest{Name: "pasted", Content: []byte(v.Text)}
	name, content, err := uploaded(r)
	switch {
	case err != nil:
		s.fail(w, r, http.StatusBadRequest, "The file cannot be read: "+err.Error())
		return
	case len(content) > 0 && strings.TrimSpace(v.Text) != "":
		v.Fault = "send the file or the text, not both"
	case len(content) > 0:
		ask.Name, ask.Content = name, content
	case strings.TrimSpace(v.Text) == "":
		v.Fault = "choose a file, or paste the mail or the calendar"
	}
	if len(ask.Content) > maxMail {
		v.Fault = "it is longer than 1 MiB"
	}
	if v.Fault != "" {
		s.showImport(w, r, http.StatusUnprocessableEntity, v)
		return
	}
	m, err := s.cfg.Fleet.ImportWindows(r.Context(), ask)
	switch st := status.Convert(err); st.Code() {
	case codes.OK:
	case codes.InvalidArgument, codes.FailedPrecondition, codes.Aborted:
		v.Fault = st.Message()
		s.showImport(w, r, httpCode(st.Code()), v)
		return
	default:
		s.failed(w, r, err)
		return
	}
	v = importView{Done: true, Problems: m.GetProblems()}
	for _, p := range m.GetProposals() {
		v.Proposals = append(v.Proposals, viewOf(p))
	}
	s.showImport(w, r, http.StatusOK, v)
}

// uploaded is the file of a form, if there is one.
func uploaded(r *http.Request) (name string, content []byte, err error) {
	f, head, err := r.FormFile("file")
	switch {
	case errors.Is(err, http.ErrMissingFile), errors.Is(err, http.ErrNotMultipart):
		return "", nil, nil
	case err != nil:
		return "", nil, err
	}
	defer f.Close() // it was only read
	content, err = io.ReadAll(io.LimitReader(f, maxMail+1))
	return path.Base(strings.ReplaceAll(head.Filename, `\`, "/")), content, err
}
