//! A checkout in small: what matters about the real one, a few lines each.

use std::fs;
use std::path::Path;

use super::*;

const CORE: &str = r#"
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// +enum
type Protocol string

const (
	UDP Protocol = "UDP"
	TCP Protocol = "TCP"
)

type Pod struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// +listType=map
	// +listMapKey=port
	// +listMapKey=protocol
	Ports []Port `json:"ports,omitempty" patchStrategy:"merge" patchMergeKey:"port" protobuf:"bytes,6,rep,name=ports"`
	Limits map[Name]resource.Quantity `json:"limits,omitempty" protobuf:"bytes,2,rep,name=limits"`
	secret string
}

// +structType=atomic
// +union
type Port struct {
	// +default=ref(TCP)
	// +unionDiscriminator
	Protocol *Same `json:"protocol,omitempty" protobuf:"bytes,1,opt,name=protocol,casttype=Protocol"`
	// +required
	Number *int32 `json:"number,omitempty"`
}

type Same = Protocol

type Name string
"#;

const META: &str = r#"
package v1

import "time"

type TypeMeta struct {
	Kind string `json:"kind,omitempty" protobuf:"bytes,1,opt,name=kind"`
}

type ObjectMeta struct {
	CreationTimestamp Time `json:"creationTimestamp,omitempty,omitzero" protobuf:"bytes,8,opt,name=creationTimestamp"`
}

type Time struct {
	time.Time `protobuf:"-"`
}

type InternalEvent time.Ticker

type Doer interface{ Do() }
"#;

/// The method stands in another file than its type, as it may.
const META_JSON: &str = "package v1\n\nfunc (t *Time) MarshalJSON() ([]byte, error) { return nil, nil }\n";

/// The first type is not exported.
const QUANTITY: &str = "package resource\n\ntype amount struct{ Value int64 `json:\"value\"` }\n\ntype Quantity struct{ i int64 }\n\nfunc (q Quantity) MarshalJSON() ([]byte, error) {\n\treturn nil, nil\n}\n";

const EXPECT: &str = "\
# Written by `cargo xtask schema`. Facts of the API types, one field to a line.

alias core/v1.Name string

struct core/v1.Pod
  . - meta/v1.TypeMeta inline
  metadata 1 meta/v1.ObjectMeta omitempty optional
  ports 6 []core/v1.Port omitempty list=map keys=port,protocol patch=merge:port
  limits 2 map[core/v1.Name]resource.Quantity omitempty

struct core/v1.Port atomic union
  protocol 1 *core/v1.Protocol omitempty discriminator default=\"TCP\"
  number - *int32 omitempty required

alias core/v1.Protocol string enum=TCP,UDP

opaque resource.Quantity

struct meta/v1.ObjectMeta
  creationTimestamp 8 meta/v1.Time omitempty omitzero

opaque meta/v1.Time

struct meta/v1.TypeMeta
  kind 1 string omitempty
";

/// The kind, its internal form, and something that is none of both.
const INTERNAL_CORE: &str = r#"
package core

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

type Protocol string

type Pod struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Ports []Port
	Limits ResourceList
	PortNumbers
	secret string
}

type PortNumbers struct {
	limits []int32
}

type ResourceList map[Name]resource.Quantity

type Port struct {
	Protocol *Protocol
}

type Name string

type Unrelated struct{ Field string }
"#;

const EXPECT_INTERNAL: &str = "\
# Written by `cargo xtask schema`. Facts of the internal types, one field to a line.

alias core.Name string

struct core.Pod core/v1.Pod
  *TypeMeta meta/v1.TypeMeta -
  *ObjectMeta meta/v1.ObjectMeta metadata
  Ports []core.Port ports
  Limits core.ResourceList limits
  *PortNumbers core.PortNumbers .

struct core.Port core/v1.Port
  Protocol *core.Protocol protocol

struct core.PortNumbers core/v1.Pod

alias core.Protocol string

alias core.ResourceList map[core.Name]resource.Quantity
";

fn write(root: &Path, package: &str, name: &str, text: &str) {
    let folder = root.join("staging/src").join(package);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(name), text).unwrap();
}

fn checkout() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "k8s.io/api/core/v1", "types.go", CORE);
    write(root.path(), "k8s.io/api/core/v1", "types_test.go", "package v1\n\ntype Wrong struct{}\n");
    write(root.path(), "k8s.io/apimachinery/pkg/apis/meta/v1", "types.go", META);
    write(root.path(), "k8s.io/apimachinery/pkg/apis/meta/v1", "a_time.go", META_JSON);
    write(root.path(), "k8s.io/apimachinery/pkg/api/resource", "quantity.go", QUANTITY);
    fs::create_dir_all(root.path().join("pkg/apis/core/v1")).unwrap();
    fs::write(root.path().join("pkg/apis/core/types.go"), INTERNAL_CORE).unwrap();
    root
}

fn type_facts(checkout: &Path) -> Result<String> {
    Ok(render::render(&collect::collect(checkout)?))
}

fn internal_facts(checkout: &Path) -> Result<String> {
    let kinds = ["core/v1.Pod".to_owned(), "core/v1.Gone".to_owned()];
    internal::render(&collect::collect_internal(checkout)?, &collect::collect(checkout)?, &kinds)
}

#[test]
fn internal_facts_of_a_small_checkout() {
    assert_eq!(internal_facts(checkout().path()).unwrap(), EXPECT_INTERNAL);
}

#[test]
fn an_internal_type_that_is_kept_in_two_forms_is_refused() {
    let root = checkout();
    let port = "package v2\n\ntype Port struct { Protocol *string `json:\"proto\"` }\n\ntype Claim struct { Port Port `json:\"port\"` }\n";
    write(root.path(), "k8s.io/api/core/v2", "types.go", port);
    fs::write(
        root.path().join("pkg/apis/core/claim.go"),
        "package core\n\ntype Claim struct { Port Port }\n",
    )
    .unwrap();
    let kinds = ["core/v1.Pod".to_owned(), "core/v2.Claim".to_owned()];
    let internal = collect::collect_internal(root.path()).unwrap();
    let error = internal::render(&internal, &collect::collect(root.path()).unwrap(), &kinds).unwrap_err();
    assert!(
        error.to_string().starts_with("core.Port is kept as core/v1.Port and as core/v2.Port"),
        "{error}"
    );
}

#[test]
fn an_internal_field_without_a_counterpart_must_be_explained() {
    let root = checkout();
    let source = INTERNAL_CORE.replace("\tLimits ", "\tBounds ");
    fs::write(root.path().join("pkg/apis/core/types.go"), source).unwrap();
    let error = internal_facts(root.path()).unwrap_err().to_string();
    assert!(error.contains("core.Pod has a field Bounds"), "{error}");
}

#[test]
fn facts_of_a_small_checkout() {
    assert_eq!(type_facts(checkout().path()).unwrap(), EXPECT);
}

#[test]
fn the_same_checkout_gives_the_same_bytes() {
    let root = checkout();
    assert_eq!(type_facts(root.path()).unwrap(), type_facts(root.path()).unwrap());
    assert_eq!(internal_facts(root.path()).unwrap(), internal_facts(root.path()).unwrap());
}

#[test]
fn a_folder_that_is_no_checkout_is_refused() {
    let error = type_facts(tempfile::tempdir().unwrap().path()).unwrap_err().to_string();
    assert!(error.contains("is not a Kubernetes source tree"), "{error}");
}
