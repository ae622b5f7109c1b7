package store

// Usage is how much of what it may have an embedded store has, in bytes.
type Usage struct {
	// Size is what the database holds, and Quota from where on nothing is written.
	Size, Quota int64
	// Free is what its disk has left, and Reserve below which nothing is written.
	Free, Reserve int64
}

// Usage returns how much the store has; false for a cluster elsewhere, which has
// metrics of its own, for one that is closed, and where the disk does not say.
func (e *Etcd) Usage() (Usage, bool) {
	if e.member == nil || e.usable() != nil {
		return Usage{}, false
	}
	free, err := freeBytes(e.member.dir)
	if err != nil {
		return Usage{}, false
	}
	return Usage{Size: e.member.used(), Quota: e.member.quota, Free: free, Reserve: e.member.minFree}, true
}
