package importer

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// synthetic writes a dump of about size octets: what a registry holds, of which one part
// in share is aut-nums with remarks.
func synthetic(w io.Writer, size, share int) int {
	out := bufio.NewWriterSize(w, 1<<20)
	written, auts := 0, 0
	for i := 0; written < size; i++ {
		n := 0
		if i%share == 0 {
			n, _ = fmt.Fprintf(out, "aut-num:        AS%[1]d\nas-name:        TEST-%[1]d\nimport:         from AS64499 accept ANY\nexport:         to AS64499 announce AS%[1]d\n"+
				"remarks:        ---------------------------------------\nremarks:        BGP communities accepted from customers\nremarks:\n"+
				"remarks:        65%03[2]d:1000x - prepend x times towards AS64499\nremarks:        65%03[2]d:666   - blackhole\n"+
				"remarks:        65%03[2]d:80    - set local preference to 80\nremarks:        x = number of prepends (1..3), 0 - do not announce\n"+
				"remarks:        Routes are tagged on ingress:\nremarks:        65%03[2]d:100 learned from customers in Frankfurt\nremarks:        65%03[2]d:200 learned from peers\n"+
				"mnt-by:         EXAMPLE-MNT\ncreated:        2020-12-18T16:09:01Z\nlast-modified:  2023-01-06T13:57:20Z\nsource:         TEST\n\n", 100000+auts, auts%500)
			auts++
		} else {
			n, _ = fmt.Fprintf(out, "inetnum:        10.%[1]d.%[2]d.0 - 10.%[1]d.%[2]d.255\nnetname:        TEST-NET-%[3]d\ndescr:          A network, open 10:00-18:00\ncountry:        ZZ\nadmin-c:        XX0000-RIPE\n"+
				"tech-c:         XX0000-RIPE\nstatus:         ASSIGNED PA\nmnt-by:         EXAMPLE-MNT\ncreated:        2020-12-18T16:09:01Z\nlast-modified:  2023-01-06T13:57:20Z\nsource:         TEST # Filtered\n\n", i>>8&0xFF, i&0xFF, i)
		}
		written += n
	}
	if err := out.Flush(); err != nil {
		panic(err)
	}
	return auts
}

func packed(size, share int) (data []byte, auts int) {
	var b bytes.Buffer
	gz, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		panic(err)
	}
	auts = synthetic(gz, size, share)
	if err := gz.Close(); err != nil {
		panic(err)
	}
	return b.Bytes(), auts
}

func TestADumpYieldsEveryAutNumInConstantMemory(t *testing.T) {
	data, auts := packed(24<<20, 10)
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	most, seen := uint64(0), 0
	err := ReadDump(t.Context(), bytes.NewReader(data), "test.db.gz", nil, func(r Result) error {
		if len(r.Entries) != 5 || len(r.Problems) != 0 || r.Entries[0].Source.File != "test.db.gz" {
			t.Fatalf("an object gave %s", dump(r))
		}
		if seen++; seen%2000 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc)
		}
		return nil
	})
	if err != nil || seen != auts {
		t.Fatalf("%d objects of %d, error %v", seen, auts, err)
	}
	if grown := int64(most) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("the heap has grown by %d octets over 24 MiB", grown)
	}
}

func TestADumpGivesOnlyWhatIsWanted(t *testing.T) {
	var b bytes.Buffer
	synthetic(&b, 1<<20, 5)
	var got []uint32
	err := ReadDump(t.Context(), &b, "test.db", func(asn uint32) bool { return asn == 100007 }, func(r Result) error {
		got = append(got, r.Entries[0].Owner)
		return nil
	})
	if err != nil || len(got) != 1 || got[0] != 100007 {
		t.Errorf("owners %v, error %v; want 100007 only", got, err)
	}
}

func TestADumpEndsWithItsErrors(t *testing.T) {
	data, _ := packed(1<<20, 5)
	stop := errors.New("enough")
	err := ReadDump(t.Context(), bytes.NewReader(data), "d", nil, func(Result) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("error %v, want that of yield", err)
	}
	seen := 0
	err = ReadDump(t.Context(), bytes.NewReader(data[:len(data)/2]), "d", nil, func(Result) error { seen++; return nil })
	if !errors.Is(err, io.ErrUnexpectedEOF) || seen == 0 {
		t.Errorf("a torn dump gave %d objects and error %v", seen, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ReadDump(ctx, bytes.NewReader(data), "d", nil, func(Result) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

func TestGarbageIsReadInTime(t *testing.T) {
	const size = 256 << 10
	for _, piece := range []string{"(", "[", "<", "{", "1", "1:", "64499:", "64499:1 ", "(64499,", "a:", "x=", "(x=1) ", "| ", "<td>", "<a", "&", "[a](", "\\", "remarks: ", "{\"community\":", "[[", "é", "\xff", "\n(x", "\n0 - 1", "\n64499:1x", "\nx = 1", "\n| 64499:1 | a |", "\n64499:1"} {
		text := strings.Repeat(piece, size/len(piece))
		for _, f := range []Format{RPSL, NLNOG, Page} {
			start := time.Now()
			if f == RPSL {
				text = "remarks: " + strings.ReplaceAll(text, "\n", "\nremarks: ")
			}
			if _, err := Read(strings.NewReader(text[:min(len(text), size)]), "x", f, Options{}); err != nil {
				t.Errorf("%q as %s: %v", piece, f, err)
			}
			if took := time.Since(start); took > time.Minute {
				t.Errorf("256 KiB of %q took %v as %s", piece, took, f)
			}
		}
		start := time.Now()
		Values(strings.NewReader(text))
		if took := time.Since(start); took > time.Minute {
			t.Errorf("256 KiB of %q took %v for Values", piece, took)
		}
	}
}

// The dump's speed, beside that of only unpacking it and finding its lines: x-of-bare is
// the ratio. MB/cpu-s is what a second of processor time is good for, which a busy machine
// changes less than MB/s.
func BenchmarkDump(b *testing.B) {
	for _, share := range []int{25, 1} {
		data, _ := packed(100<<20, share)
		b.Run(fmt.Sprintf("one-in-%d", share), func(b *testing.B) {
			var bare, ours, used time.Duration
			size := 0
			for b.Loop() {
				start := time.Now()
				size = scanLines(b, data)
				bare += time.Since(start)
				from := processorTime(b)
				start = time.Now()
				if err := ReadDump(b.Context(), bytes.NewReader(data), "d", nil, func(Result) error { return nil }); err != nil {
					b.Fatal(err)
				}
				ours += time.Since(start)
				used += processorTime(b) - from
			}
			b.ReportMetric(float64(size)*float64(b.N)/1e6/used.Seconds(), "MB/cpu-s")
			b.ReportMetric(float64(size)*float64(b.N)/1e6/ours.Seconds(), "MB/s")
			b.ReportMetric(float64(size)*float64(b.N)/1e6/bare.Seconds(), "bare-MB/s")
			b.ReportMetric(ours.Seconds()/bare.Seconds(), "x-of-bare")
		})
	}
}

// processorTime is what this process has used.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func scanLines(b *testing.B, data []byte) int {
	gz, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		b.Fatal(err)
	}
	size := 0
	for s := bufio.NewScanner(gz); s.Scan(); {
		size += len(s.Bytes()) + 1
	}
	return size
}
