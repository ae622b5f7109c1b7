package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/catchment-bgp/catchment/internal/pages"
)

var (
	rfcRE     = regexp.MustCompile(`RFCs? (\d{3,4})((?:(?:,| and|, and) (?:RFC )?\d{3,4}\b)*)`)
	numberRE  = regexp.MustCompile(`\d{3,4}`)
	placeRE   = regexp.MustCompile("\\[`([^`]+)`\\]\\((?:\\.\\./)*([^)]+\\.go)\\)")
	commentRE = regexp.MustCompile(`\s*\n\s*(//)?\s*`)
)

// CheckRFCs holds the page of the RFCs to the code. It returns one line for each place on the
// page that does not exist, for each RFC that the code names and the page does not have, and
// for each on the page that the code does not name. Tests name RFCs, too, and need no row.
func CheckRFCs(files []File, page pages.Page) []string {
	var breaches []string
	listed := map[string]bool{}
	for _, table := range page.Tables() {
		if table.Header[0] != "RFC" {
			continue
		}
		for _, row := range table.Rows {
			number := numberRE.FindString(row[0])
			listed[number] = true
			places := placeRE.FindAllStringSubmatch(row[len(row)-1], -1)
			if len(places) == 0 || row[2] == "" {
				breaches = append(breaches, fmt.Sprintf("%s: RFC %s: say what we do and where", page.Path, number))
			}
			for _, p := range places {
				if !declares(files, p[2], p[1]) {
					breaches = append(breaches, fmt.Sprintf("%s: RFC %s: %s has no %s", page.Path, number, p[2], p[1]))
				}
			}
		}
	}
	named := map[string]string{} // the first place
	for _, f := range files {
		for number := range rfcsOf(f) {
			if _, ok := named[number]; !ok || !f.isTest() {
				named[number] = f.Path
			}
			if !listed[number] && !f.isTest() && !f.isGenerated() {
				breaches = append(breaches, fmt.Sprintf("%s: RFC %s has no row in %s", f.Path, number, page.Path))
			}
		}
	}
	for number := range listed {
		if named[number] == "" {
			breaches = append(breaches, fmt.Sprintf("%s: no Go file names RFC %s", page.Path, number))
		}
	}
	slices.Sort(breaches)
	return slices.Compact(breaches)
}

// declares says whether a file has a declaration of a name; every file has its package.
func declares(files []File, path, name string) bool {
	i := slices.IndexFunc(files, func(f File) bool { return f.Path == path })
	if i < 0 {
		return false
	}
	if name == "package" {
		return true
	}
	found := false
	ast.Inspect(files[i].AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			found = found || n.Name.Name == name
			return false
		case *ast.TypeSpec:
			found = found || n.Name.Name == name
		case *ast.ValueSpec:
			found = found || slices.ContainsFunc(n.Names, func(i *ast.Ident) bool { return i.Name == name })
		}
		return true
	})
	return found
}

// rfcsOf are the numbers of the RFCs that the comments and texts of a file name.
func rfcsOf(f File) map[string]bool {
	out := map[string]bool{}
	add := func(text string) {
		for _, m := range rfcRE.FindAllString(commentRE.ReplaceAllString(text, " "), -1) {
			for _, number := range numberRE.FindAllString(m, -1) {
				out[number] = true
			}
		}
	}
	for _, group := range f.AST.Comments {
		var all strings.Builder
		for _, c := range group.List {
			all.WriteString(c.Text + "\n")
		}
		add(all.String())
	}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if text, err := strconv.Unquote(l.Value); err == nil {
				add(text)
			}
		}
		return true
	})
	return out
}
