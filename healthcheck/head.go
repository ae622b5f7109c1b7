package healthcheck

// head keeps the first bytes that are written to it, up to its size, and counts
// all of them.
type head struct {
	size  int
	bytes []byte
	total int64
}

// Write never fails.
func (h *head) Write(p []byte) (int, error) {
	h.total += int64(len(p))
	h.bytes = append(h.bytes, p[:min(len(p), h.size-len(h.bytes))]...)
	return len(p), nil
}
