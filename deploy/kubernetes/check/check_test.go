// Package check decodes the files of deploy/kubernetes into the types of Kubernetes and KEDA. It is a
// module of its own, so that Shatter does not depend on them. It needs no cluster, and does not show
// that one runs the pods.
package check

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	scaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	network "k8s.io/api/networking/v1"
	disruption "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	admission "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// scaledObject has the fields that the base uses of KEDA's keda.sh/v1alpha1, of which version 2.21 was
// read: its own module would bring six hundred packages.
type scaledObject struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`
	Spec            struct {
		ScaleTargetRef struct {
			Kind string `json:"kind"`
			Name string `json:"name"`
		} `json:"scaleTargetRef"`
		PollingInterval *int32 `json:"pollingInterval"`
		CooldownPeriod  *int32 `json:"cooldownPeriod"`
		MinReplicaCount *int32 `json:"minReplicaCount"`
		MaxReplicaCount *int32 `json:"maxReplicaCount"`
		Advanced        struct {
			HorizontalPodAutoscalerConfig struct {
				Behavior *scaling.HorizontalPodAutoscalerBehavior `json:"behavior"`
			} `json:"horizontalPodAutoscalerConfig"`
		} `json:"advanced"`
		Triggers []struct {
			Type     string            `json:"type"`
			Metadata map[string]string `json:"metadata"`
		} `json:"triggers"`
	} `json:"spec"`
}

// types are those that the base uses, by kind.
var types = map[string]func() any{
	"Namespace":           func() any { return new(core.Namespace) },
	"NetworkPolicy":       func() any { return new(network.NetworkPolicy) },
	"PodDisruptionBudget": func() any { return new(disruption.PodDisruptionBudget) },
	"ScaledObject":        func() any { return new(scaledObject) },
	"Service":             func() any { return new(core.Service) },
	"StatefulSet":         func() any { return new(apps.StatefulSet) },
}

// objects returns what kustomize makes of the base, decoded: a field that a type does not have is an
// error.
func objects(t *testing.T) (all []any) {
	t.Helper()
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "..")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range made.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		make := types[r.GetKind()]
		if make == nil {
			t.Fatalf("kind %s of %s is not known here", r.GetKind(), r.GetName())
		}
		object := make()
		if err := yaml.UnmarshalStrict(text, object); err != nil {
			t.Errorf("%s %s: %v", r.GetKind(), r.GetName(), err)
		}
		if r.GetKind() != "Namespace" && r.GetNamespace() != "shatter" {
			t.Errorf("%s %s is in the namespace %q", r.GetKind(), r.GetName(), r.GetNamespace())
		}
		all = append(all, object)
	}
	return all
}

// pods returns the templates of all pods, by name.
func pods(all []any) map[string]core.PodTemplateSpec {
	found := map[string]core.PodTemplateSpec{}
	for _, x := range all {
		if x, ok := x.(*apps.StatefulSet); ok {
			found[x.Name] = x.Spec.Template
		}
	}
	return found
}

func TestDecodes(t *testing.T) {
	count := map[string]int{}
	for _, x := range objects(t) {
		count[fmt.Sprintf("%T", x)]++
	}
	for what, want := range map[string]int{
		"*v1.StatefulSet": 3, "*check.scaledObject": 1, "*v1.PodDisruptionBudget": 3,
	} {
		if count[what] != want {
			t.Errorf("%d %s, want %d", count[what], what, want)
		}
	}
}

// The admission controller of Kubernetes takes every pod under the level restricted.
func TestRestricted(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	level := admission.LevelVersion{Level: admission.LevelRestricted, Version: admission.LatestVersion()}
	for name, pod := range pods(objects(t)) {
		for _, result := range evaluator.EvaluatePod(level, &pod.ObjectMeta, &pod.Spec) {
			if !result.Allowed {
				t.Errorf("%s: %s: %s", name, result.ForbiddenReason, result.ForbiddenDetail)
			}
		}
		for _, c := range pod.Spec.Containers {
			if s := c.SecurityContext; s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
				t.Errorf("%s: its root can be written", name)
			}
			if c.LivenessProbe == nil || c.ReadinessProbe == nil || c.Resources.Limits.Memory().IsZero() {
				t.Errorf("%s: a probe or a limit of memory is missing", name)
			}
		}
	}
}

// What is mounted, probed and selected is there.
func TestNamesMatch(t *testing.T) {
	all := objects(t)
	templates := pods(all)
	volumes := map[string][]string{}
	for _, x := range all {
		if x, ok := x.(*apps.StatefulSet); ok {
			for _, claim := range x.Spec.VolumeClaimTemplates {
				volumes[x.Name] = append(volumes[x.Name], claim.Name)
			}
		}
	}
	for name, pod := range templates {
		for _, v := range pod.Spec.Volumes {
			volumes[name] = append(volumes[name], v.Name)
		}
		for _, c := range pod.Spec.Containers {
			for _, m := range c.VolumeMounts {
				if !slices.Contains(volumes[name], m.Name) {
					t.Errorf("%s mounts %s, which is no volume", name, m.Name)
				}
			}
			for _, p := range []*core.Probe{c.LivenessProbe, c.ReadinessProbe} {
				if !slices.ContainsFunc(c.Ports, func(x core.ContainerPort) bool { return x.Name == p.HTTPGet.Port.StrVal }) {
					t.Errorf("%s is probed at the port %v, which it does not have", name, p.HTTPGet.Port)
				}
			}
		}
	}
	selects := func(what string, s *meta.LabelSelector) {
		selector, err := meta.LabelSelectorAsSelector(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range templates {
			if selector.Matches(labels.Set(pod.Labels)) {
				return
			}
		}
		t.Errorf("%s selects no pod", what)
	}
	for _, x := range all {
		switch x := x.(type) {
		case *disruption.PodDisruptionBudget:
			selects("the budget "+x.Name, x.Spec.Selector)
		case *network.NetworkPolicy:
			if x.Name != "people" {
				selects("the policy "+x.Name, &x.Spec.PodSelector)
			}
		case *core.Service:
			selects("the service "+x.Name, &meta.LabelSelector{MatchLabels: x.Spec.Selector})
		case *apps.StatefulSet:
			selects("the set "+x.Name, x.Spec.Selector)
		case *scaledObject:
			if _, ok := templates[x.Spec.ScaleTargetRef.Name]; !ok || x.Spec.ScaleTargetRef.Kind != "StatefulSet" {
				t.Errorf("%s is scaled and is not there", x.Spec.ScaleTargetRef.Name)
			}
		}
	}
}

// A worker has the time to drain before it is killed.
func TestTimeToDrain(t *testing.T) {
	pod := pods(objects(t))["worker"].Spec
	args := pod.Containers[0].Args
	drain, err := time.ParseDuration(args[slices.Index(args, "--drain-timeout")+1])
	if err != nil {
		t.Fatal(err)
	}
	if grace := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second; grace < drain+10*time.Second {
		t.Errorf("%v of grace for %v of draining", grace, drain)
	}
	if cpu := pod.Containers[0].Resources.Requests.Cpu().String(); args[slices.Index(args, "--workers")+1] != cpu {
		t.Errorf("other slots than %s CPUs: %v", cpu, args)
	}
}

// A pod sees its own credentials only, and only its group can read them.
func TestOwnCredentials(t *testing.T) {
	for name, pod := range pods(objects(t)) {
		shared := map[string]bool{} // volumes with the secrets of several pods
		for _, v := range pod.Spec.Volumes {
			var mode *int32
			switch {
			case v.Secret != nil:
				mode, shared[v.Name] = v.Secret.DefaultMode, v.Secret.SecretName == "workers"
			case v.Projected != nil:
				mode, shared[v.Name] = v.Projected.DefaultMode, true
			default:
				continue
			}
			if mode == nil || *mode != 0o440 {
				t.Errorf("%s: the volume %s has no mode 0440", name, v.Name)
			}
		}
		if len(shared) != 1 {
			t.Errorf("%s has %d volumes of secrets", name, len(shared))
		}
		for _, m := range pod.Spec.Containers[0].VolumeMounts {
			if shared[m.Name] && m.SubPath != "ca.pem" && !strings.Contains(m.SubPathExpr, "$(POD_NAME)") {
				t.Errorf("%s sees what is others' at %s", name, m.MountPath)
			}
		}
	}
}

// As many workers as the base scales to have credentials.
func TestCredentialsForAll(t *testing.T) {
	text, err := os.ReadFile("../kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range objects(t) {
		if x, ok := x.(*scaledObject); ok {
			if last := fmt.Sprintf("in $(seq 0 %d);", *x.Spec.MaxReplicaCount-1); !strings.Contains(string(text), last) {
				t.Errorf("kustomization.yaml does not issue credentials %s", last)
			}
		}
	}
}

// A field with a wrong name is found.
func TestStrict(t *testing.T) {
	err := yaml.UnmarshalStrict([]byte("spec: {replica: 3}"), new(apps.StatefulSet))
	if err == nil || !strings.Contains(err.Error(), "replica") {
		t.Errorf("a wrong field was taken: %v", err)
	}
}
