package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// File is one Go file of the tree.
type File struct {
	// Path is relative to the root of the module, with slashes.
	Path string
	Fset *token.FileSet
	AST  *ast.File
}

// Parse reads one Go file from source. The error names the place of what is no Go.
func Parse(path string, source []byte) (File, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, path, source, parser.ParseComments|parser.SkipObjectResolution)
	return File{Path: path, Fset: fset, AST: tree}, err
}

// Read parses every Go file under root, whatever its build constraints, but for
// what the go command ignores: testdata, vendor, and names with a leading dot or
// underscore.
func Read(root string) ([]File, error) {
	var files []File
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		if ignored := base[0] == '.' || base[0] == '_' || base == "testdata" || base == "vendor"; ignored && name != root {
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if entry.IsDir() || !strings.HasSuffix(base, ".go") {
			return nil
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		file, err := Parse(filepath.ToSlash(relative), source)
		if err != nil {
			return err
		}
		files = append(files, file)
		return nil
	})
	return files, err
}

// dir is the folder of f: its package's path within the module.
func (f File) dir() string { return path.Dir(f.Path) }

func (f File) isTest() bool { return strings.HasSuffix(f.Path, "_test.go") }

func (f File) isMain() bool { return f.AST.Name.Name == "main" }

func (f File) isGenerated() bool { return ast.IsGenerated(f.AST) }

// at returns "file:line" of a node.
func (f File) at(pos token.Pos) string {
	position := f.Fset.Position(pos)
	position.Column = 0
	return position.String()
}

// within reports whether dir is tree or below it.
func within(dir, tree string) bool {
	return dir == tree || strings.HasPrefix(dir, tree+"/")
}

func withinAny(dir string, trees []string) bool {
	return slices.ContainsFunc(trees, func(tree string) bool { return within(dir, tree) })
}
