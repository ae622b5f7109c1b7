package rules

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
)

// clock are the names in package time that read the clock or wait for it.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}

// CheckCalls returns one line for each place outside tests that can end the
// process (panic, Fatal; os.Exit but in a command), and for each place in policy
// that reads the clock. Generated files are not looked at.
func CheckCalls(files []File) []string {
	var breaches []string
	for _, f := range files {
		if f.isTest() || f.isGenerated() {
			continue
		}
		imported := importNames(f)
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if what, rule := forbiddenCall(f, imported, n); rule != "" {
				breaches = append(breaches, fmt.Sprintf("%s uses %s: %s", f.at(n.Pos()), what, rule))
			}
			return true
		})
	}
	return breaches
}

// forbiddenCall returns what n uses and the rule that forbids it, or "".
func forbiddenCall(f File, imported map[string]string, n ast.Node) (what, rule string) {
	switch n := n.(type) {
	case *ast.ImportSpec:
		if n.Name != nil && n.Name.Name == "." {
			return "a dot import", "it hides what is called"
		}
	case *ast.CallExpr:
		if fun, ok := n.Fun.(*ast.Ident); ok && fun.Name == "panic" {
			return "panic", "return an error that says what, where and what to do"
		}
	case *ast.SelectorExpr:
		from, ok := n.X.(*ast.Ident)
		if !ok || imported[from.Name] == "" {
			return "", ""
		}
		pkg, name := imported[from.Name], n.Sel.Name
		what = pkg + "." + name
		switch {
		case pkg == "os" && name == "Exit" && !f.isMain():
			return what, "only a command's main package ends the process"
		case strings.HasPrefix(name, "Fatal") || strings.HasPrefix(name, "Panic") && path.Base(pkg) == "log":
			return what, "it ends the process and skips deferred calls; return an error"
		case pkg == "time" && slices.Contains(clock, name) && within(f.dir(), "policy"):
			return what, "policy takes the time as an argument"
		}
	}
	return "", ""
}

// importNames maps the name that each import has in f to its path.
func importNames(f File) map[string]string {
	names := map[string]string{}
	for _, spec := range f.AST.Imports {
		importPath, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has refused it
		}
		name := path.Base(importPath)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = importPath
	}
	return names
}
