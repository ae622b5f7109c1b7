// Package kubernetes tests the manifests of deploy/kubernetes.
//
// In go the files; out comes whether Kubernetes' own types take every key of them, whether the configurations in them
// are accepted by our loaders, and whether they promise what the systemd units do. No cluster is asked. Only tests use
// it, and no program of ours holds a part of Kubernetes.
package kubernetes
