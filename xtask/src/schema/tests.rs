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
type Port struct {
	// +default="TCP"
	Protocol *Protocol `json:"protocol,omitempty" protobuf:"bytes,1,opt,name=protocol,casttype=Protocol"`
}

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

/// The first type is nobody's business.
const QUANTITY: &str = "package resource\n\ntype amount struct{ Value int64 `json:\"value\"` }\n\ntype Quantity struct{ i int64 }\n\nfunc (q Quantity) MarshalJSON() ([]byte, error) {\n\treturn nil, nil\n}\n";

const EXPECT: &str = "\
# Written by `cargo xtask schema`. Facts of the API types, one field to a line.

alias core/v1.Name string

struct core/v1.Pod
  . - meta/v1.TypeMeta inline
  metadata 1 meta/v1.ObjectMeta omitempty optional
  ports 6 []core/v1.Port omitempty list=map keys=port,protocol patch=merge:port
  limits 2 map[core/v1.Name]resource.Quantity omitempty

struct core/v1.Port atomic
  protocol 1 *core/v1.Protocol omitempty default=\"TCP\"

alias core/v1.Protocol string enum=TCP,UDP

opaque resource.Quantity

struct meta/v1.ObjectMeta
  creationTimestamp 8 meta/v1.Time omitempty omitzero

opaque meta/v1.Time

struct meta/v1.TypeMeta
  kind 1 string omitempty
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
    root
}

#[test]
fn facts_of_a_small_checkout() {
    assert_eq!(type_facts(checkout().path()).unwrap(), EXPECT);
}

#[test]
fn the_same_checkout_gives_the_same_bytes() {
    let root = checkout();
    assert_eq!(type_facts(root.path()).unwrap(), type_facts(root.path()).unwrap());
}

#[test]
fn a_folder_that_is_no_checkout_is_refused() {
    let error = type_facts(tempfile::tempdir().unwrap().path()).unwrap_err().to_string();
    assert!(error.contains("is not a Kubernetes source tree"), "{error}");
}
