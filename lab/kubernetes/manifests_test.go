package kubernetes

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"

	centralconfig "github.com/catchment-bgp/catchment/central/config"
	"github.com/catchment-bgp/catchment/edge"
	edgeconfig "github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/lab/unitlab"
)

const (
	manifests = "../../deploy/kubernetes"
	units     = "../../deploy/systemd"
)

// decoder takes known kinds and known keys only, each once.
func decoder(t *testing.T) *json.Serializer {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Yaml: true, Strict: true})
}

// decode reads all documents of all files.
func decode(t *testing.T) map[string]runtime.Object {
	t.Helper()
	files, err := filepath.Glob(manifests + "/*.yaml")
	if err != nil || len(files) != 3 {
		t.Fatalf("%q, %v", files, err)
	}
	out, strict := map[string]runtime.Object{}, decoder(t)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
			document, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			object, kind, err := strict.Decode(document, nil, nil)
			if err != nil {
				t.Fatalf("%s: %v\n%s", file, err, document)
			}
			meta, ok := object.(metav1.Object)
			if !ok {
				t.Fatalf("%s: %T has no name", file, object)
			}
			if kind.Kind != "Namespace" && meta.GetNamespace() != "catchment" {
				t.Errorf("%s: %s %s is in namespace %q", file, kind.Kind, meta.GetName(), meta.GetNamespace())
			}
			out[kind.Kind+" "+meta.GetName()] = object
		}
	}
	return out
}

func get[T runtime.Object](t *testing.T, name string) T {
	t.Helper()
	object, ok := decode(t)[name].(T)
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	return object
}

func TestEveryDocumentIsWhatKubernetesKnows(t *testing.T) {
	var got []string
	for name := range decode(t) {
		got = append(got, name)
	}
	slices.Sort(got)
	want := []string{
		"ConfigMap catchment-central", "ConfigMap catchment-edge", "DaemonSet catchment-edge", "Namespace catchment", "NetworkPolicy catchment-central",
		"PodDisruptionBudget catchment-edge", "Service catchment-central", "ServiceAccount catchment-central", "ServiceAccount catchment-edge",
		"StatefulSet catchment-central",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, wrong := range []string{
		"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a, labels: {}}\nautomountToken: false\n",
		"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a}\nmetadata: {name: b}\n",
		"apiVersion: v1\nkind: Deployment\nmetadata: {name: a}\n",
	} {
		if _, _, err := decoder(t).Decode([]byte(wrong), nil, nil); err == nil {
			t.Errorf("it is accepted:\n%s", wrong)
		}
	}
}

func edgeConfigs(t *testing.T) map[string]*edgeconfig.Config {
	t.Helper()
	out := map[string]*edgeconfig.Config{}
	for name, text := range get[*corev1.ConfigMap](t, "ConfigMap catchment-edge").Data {
		c, warnings, err := edgeconfig.Parse(name, []byte(text), edgeconfig.Options{Getenv: func(string) (string, bool) { return "secret", true }})
		if err != nil || len(warnings) > 0 {
			t.Fatalf("%v, %v", warnings, err)
		}
		if c.Node+".yaml" != name {
			t.Errorf("%s is of node %s: the pod looks for its machine's name", name, c.Node)
		}
		out[name] = c
	}
	if len(out) == 0 {
		t.Fatal("no configuration")
	}
	return out
}

func TestTheConfigurationsAreAccepted(t *testing.T) {
	edgeConfigs(t)
	c := centralConfig(t)
	if c.TLS == nil || c.HTTP == "" {
		t.Errorf("%+v", c)
	}
}

func centralConfig(t *testing.T) *centralconfig.Config {
	t.Helper()
	data := get[*corev1.ConfigMap](t, "ConfigMap catchment-central").Data
	c, err := centralconfig.Parse("central.yaml", []byte(data["central.yaml"]), "/etc/catchment-central")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAnEdgePodMayWhatTheUnitMay(t *testing.T) {
	daemons := get[*appsv1.DaemonSet](t, "DaemonSet catchment-edge")
	pod, unit := daemons.Spec.Template.Spec, unitlab.Settings(t, units+"/catchment-edge.service")
	if daemons.Spec.UpdateStrategy.Type != appsv1.OnDeleteDaemonSetStrategyType {
		t.Errorf("strategy %q: an upgrade would take all nodes", daemons.Spec.UpdateStrategy.Type)
	}
	if !pod.HostNetwork || pod.HostPID || pod.HostIPC || pod.DNSPolicy != corev1.DNSClusterFirstWithHostNet {
		t.Errorf("host: %v %v %v, DNS %q", pod.HostNetwork, pod.HostPID, pod.HostIPC, pod.DNSPolicy)
	}
	grace := unitlab.Seconds(t, unit, "TimeoutStopSec")
	if got := *pod.TerminationGracePeriodSeconds; got != int64(grace.Seconds()) {
		t.Errorf("grace %d s, the unit has %v", got, grace)
	}
	for name, c := range edgeConfigs(t) {
		if grace <= edge.LeaveTime(c) {
			t.Errorf("%s: leaving may take %v", name, edge.LeaveTime(c))
		}
	}
	container := restrained(t, pod)
	var caps []string
	for _, c := range container.SecurityContext.Capabilities.Add {
		caps = append(caps, "CAP_"+string(c))
	}
	if got := strings.Join(caps, " "); got != unit["CapabilityBoundingSet"][0] {
		t.Errorf("capabilities %q, the unit has %q", got, unit["CapabilityBoundingSet"])
	}
	for _, p := range container.Ports {
		if p.HostPort != p.ContainerPort { // the API warns of a hostIP without it
			t.Errorf("port %+v of the machine's network", p)
		}
	}
	live := container.LivenessProbe
	if got := live.PeriodSeconds * live.FailureThreshold; float64(got) != unitlab.Seconds(t, unit, "WatchdogSec").Seconds() {
		t.Errorf("a node that hangs is ended after %d s, by the unit's watchdog after %v", got, unit["WatchdogSec"])
	}
	for path, probe := range map[string]*corev1.Probe{"/healthz": live, "/readyz": container.ReadinessProbe} {
		for name, c := range edgeConfigs(t) {
			if at := probe.HTTPGet; at.Path != path || at.Host+":"+at.Port.String() != c.Metrics {
				t.Errorf("%s: a probe asks %+v, the node answers at %s%s", name, at, c.Metrics, path)
			}
		}
	}
}

func TestTheCentresPodNeedsNothing(t *testing.T) {
	set := get[*appsv1.StatefulSet](t, "StatefulSet catchment-central")
	pod := set.Spec.Template.Spec
	container := restrained(t, pod)
	if pod.HostNetwork || !*pod.SecurityContext.RunAsNonRoot || len(container.SecurityContext.Capabilities.Add) > 0 || *set.Spec.Replicas != 1 {
		t.Errorf("%+v", pod)
	}
	if seccomp := pod.SecurityContext.SeccompProfile; seccomp == nil || seccomp.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("seccomp %+v: Kubernetes would not call it restricted", seccomp)
	}
	if got, want := *pod.TerminationGracePeriodSeconds, unitlab.Seconds(t, unitlab.Settings(t, units+"/catchment-central.service"), "TimeoutStopSec"); got != int64(want.Seconds()) {
		t.Errorf("grace %d s, the unit has %v", got, want)
	}
	c, ports := centralConfig(t), map[string]string{}
	for _, p := range container.Ports {
		ports[p.Name] = "0.0.0.0:" + strconv.Itoa(int(p.ContainerPort))
	}
	if ports["grpc"] != c.Listen || ports["https"] != c.HTTP {
		t.Errorf("ports %v, the centre listens at %s and %s", ports, c.Listen, c.HTTP)
	}
	for _, port := range get[*corev1.Service](t, "Service catchment-central").Spec.Ports {
		if ports[port.TargetPort.String()] != "0.0.0.0:"+strconv.Itoa(int(port.Port)) {
			t.Errorf("the service's %+v leads nowhere", port)
		}
	}
	var open []string
	for _, p := range get[*networkingv1.NetworkPolicy](t, "NetworkPolicy catchment-central").Spec.Ingress[0].Ports {
		open = append(open, "0.0.0.0:"+p.Port.String())
	}
	if !slices.Equal(open, []string{c.Listen, c.HTTP}) {
		t.Errorf("open: %q", open)
	}
}

// restrained is the pod's one container, which is held to what is the same for all of ours.
func restrained(t *testing.T, pod corev1.PodSpec) corev1.Container {
	t.Helper()
	if len(pod.Containers) != 1 || pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
		t.Fatalf("%d containers, token %v", len(pod.Containers), pod.AutomountServiceAccountToken)
	}
	c := pod.Containers[0]
	s := c.SecurityContext
	if !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation || s.Privileged != nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) {
		t.Errorf("security %+v", s)
	}
	if c.StartupProbe == nil || c.LivenessProbe == nil || c.ReadinessProbe == nil {
		t.Error("a probe is missing")
	}
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
	}
	for _, m := range c.VolumeMounts {
		if strings.HasPrefix(m.MountPath, "/etc/") && !m.ReadOnly {
			t.Errorf("%s can be written", m.MountPath)
		}
		delete(volumes, m.Name)
	}
	if len(volumes) > 0 {
		t.Errorf("volumes that nobody mounts: %v", volumes)
	}
	if len(c.Resources.Limits) > 0 {
		t.Errorf("limits %v", c.Resources.Limits)
	}
	return c
}

func TestProgramsHoldNothingOfKubernetes(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "../../cmd/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "catchment/cmd/catchment-edge\n") {
		t.Fatalf("odd list: %.200s", out)
	}
	for pkg := range strings.Lines(string(out)) {
		if strings.HasPrefix(pkg, "k8s.io/") {
			t.Errorf("a program needs %s", pkg)
		}
	}
}
