package identity

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestADeviceOrAHugeFileIsNoCertificate(t *testing.T) {
	huge := filepath.Join(t.TempDir(), "huge.pem")
	if err := os.WriteFile(huge, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(huge, longestPEM+1); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/dev/zero": "no regular file", huge: "more than any certificate"} {
		if _, err := readCerts(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("certificates of %s: %v", path, err)
		}
		if _, err := readKey(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a key of %s: %v", path, err)
		}
	}
}
