package main

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
)

// asProgram makes this test binary the program itself.
const asProgram = "CATCHMENT_TEST_AS_PROGRAM"

// oneStatus is a node without news.
type oneStatus struct{ edgev1.UnimplementedEdgeServer }

func (oneStatus) Watch(_ *edgev1.StatusRequest, s grpc.ServerStreamingServer[edgev1.StatusResponse]) error {
	if err := s.Send(&edgev1.StatusResponse{Node: "msk1"}); err != nil {
		return err
	}
	<-s.Context().Done()
	return nil
}

func TestSignalEndsAWatchWithSuccess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "edge.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	edgev1.RegisterEdgeServer(server, oneStatus{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		watchUntil(t, path, signal)
	}
}

// watchUntil starts the program, waits for its first line and sends the signal.
func watchUntil(t *testing.T, socket string, signal syscall.Signal) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "edge", "status", "--watch", "-o", "json")
	cmd.Env = append(os.Environ(), asProgram+"=1", "CATCHMENT_EDGE=unix://"+socket)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	defer limit.Stop()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, `{"node":"msk1",`) {
		t.Errorf("first line %q, error %v", line, err)
	}
	if err := cmd.Process.Signal(signal); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
		t.Errorf("%s: %v, stderr %q", signal, err, stderr.String())
	}
}

func TestDemoWhoseReaderLeavesCleansUp(t *testing.T) {
	cmd := exec.Command(os.Args[0], "demo")
	folder := t.TempDir()
	cmd.Env = append(os.Environ(), asProgram+"=1", "TMPDIR="+folder)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer limit.Stop()
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || !strings.HasPrefix(line, "catchment demo: ") {
		t.Errorf("first line %q, error %v", line, err)
	}
	if err := stdout.Close(); err != nil {
		t.Error(err)
	}
	var ended *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &ended) || ended.ExitCode() != exit.Failed {
		t.Errorf("%v, stderr %q; want exit %d", err, stderr.String(), exit.Failed)
	}
	if want := "catchment: demo: print the story: "; !strings.HasPrefix(stderr.String(), want) {
		t.Errorf("stderr %q, want %q...", stderr.String(), want)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
