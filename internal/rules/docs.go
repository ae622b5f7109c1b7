package rules

import (
	"fmt"
	"go/ast"
	"slices"
)

// CheckDocs returns one line for each package without a package comment, and for
// each exported constant, variable, type, function, method and interface method
// without a comment. A comment on a group of constants or variables covers them
// all, one above a run of methods in an interface the whole run. Tests, generated files, and the names in main packages are not looked at.
func CheckDocs(files []File) []string {
	var breaches []string
	packages := map[string]bool{} // folder: has a package comment
	for _, f := range files {
		if f.isTest() || f.isGenerated() {
			continue
		}
		packages[f.dir()] = packages[f.dir()] || f.AST.Doc.Text() != ""
		if f.isMain() {
			continue
		}
		for _, decl := range f.AST.Decls {
			for _, name := range undocumented(f, decl) {
				breaches = append(breaches, fmt.Sprintf("%s: %s has no comment", f.at(name.Pos()), name.Name))
			}
		}
	}
	for dir, documented := range packages {
		if !documented {
			breaches = append(breaches, dir+": no file has a package comment")
		}
	}
	slices.Sort(breaches)
	return breaches
}

// undocumented returns the exported names that decl declares without a comment.
func undocumented(f File, decl ast.Decl) []*ast.Ident {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Doc.Text() == "" && decl.Name.IsExported() && receiverIsExported(decl) {
			return []*ast.Ident{decl.Name}
		}
	case *ast.GenDecl:
		var names []*ast.Ident
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				if decl.Doc.Text() == "" && spec.Doc.Text() == "" && spec.Comment.Text() == "" {
					names = append(names, exported(spec.Names)...)
				}
			case *ast.TypeSpec:
				if !spec.Name.IsExported() {
					continue
				}
				alone := !decl.Lparen.IsValid()
				if spec.Doc.Text() == "" && spec.Comment.Text() == "" && !(alone && decl.Doc.Text() != "") {
					names = append(names, spec.Name)
				}
				names = append(names, undocumentedMethods(f, spec)...)
			}
		}
		return names
	}
	return nil
}

// undocumentedMethods returns the exported methods of an interface type that
// have no comment. A comment above a method covers those on the lines right below.
func undocumentedMethods(f File, spec *ast.TypeSpec) []*ast.Ident {
	iface, ok := spec.Type.(*ast.InterfaceType)
	if !ok {
		return nil
	}
	var names []*ast.Ident
	covered, next := false, 0
	for _, method := range iface.Methods.List {
		covered = method.Doc.Text() != "" || covered && f.Fset.Position(method.Pos()).Line == next
		next = f.Fset.Position(method.End()).Line + 1
		if !covered && method.Comment.Text() == "" {
			names = append(names, exported(method.Names)...)
		}
	}
	return names
}

func exported(names []*ast.Ident) []*ast.Ident {
	return slices.DeleteFunc(slices.Clone(names), func(n *ast.Ident) bool { return !n.IsExported() })
}

// receiverIsExported is true for functions, and for methods of exported types.
func receiverIsExported(decl *ast.FuncDecl) bool {
	if decl.Recv == nil || len(decl.Recv.List) == 0 {
		return true
	}
	t := decl.Recv.List[0].Type
	for {
		switch typed := t.(type) {
		case *ast.StarExpr:
			t = typed.X
		case *ast.IndexExpr:
			t = typed.X
		case *ast.IndexListExpr:
			t = typed.X
		case *ast.Ident:
			return typed.IsExported()
		default:
			return true
		}
	}
}
