package store

func runWriter() error { return nil }
