package store

import (
	"fmt"
	"testing"
)

// BenchmarkCommit is the time from a call to its change on disk, of one caller
// and of many, in a directory of the machine's temporary files.
func BenchmarkCommit(b *testing.B) {
	s, err := OpenEmbedded(b.Context(), b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	op := func(i int) []Op { return []Op{{fmt.Sprint("k", i%1000), []byte(`{"state":"announced"}`)}} }
	b.Run("one", func(b *testing.B) {
		for i := range b.N {
			if _, err := s.Commit(b.Context(), nil, op(i)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("many", func(b *testing.B) {
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				if _, err := s.Commit(b.Context(), nil, op(i)); err != nil {
					b.Error(err)
				}
			}
		})
	})
}

// BenchmarkOpen is the time of a start of a directory with 1,000 documents, and of its end.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	for i := 0; ; i++ {
		s, err := OpenEmbedded(b.Context(), dir, Options{})
		if err != nil {
			b.Fatal(err)
		}
		for j := 0; i == 0 && j < 1000; j++ {
			if _, err := s.Commit(b.Context(), nil, []Op{{fmt.Sprint("k", j), []byte(`{"state":"announced"}`)}}); err != nil {
				b.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		if i == 0 {
			b.ResetTimer()
		}
		if i == b.N {
			return
		}
	}
}
