//! Definitions as operators install them, and an object of each. The schemas are made up; what they are made of is what
//! certificate issuers, gateways, monitoring, infrastructure compositions and workflow engines have.

use serde_json::{Value, json};

use crate::custom_resources::{definition, version};

/// A definition and an object of it.
#[derive(Clone)]
pub(super) struct Sample {
    pub(super) definition: Value,
    pub(super) object: Value,
    /// A change of the object that its schema allows, as a merge patch.
    pub(super) change: Value,
    /// A change that it does not allow, and what is said about it.
    pub(super) wrong: (Value, &'static str),
}

impl Sample {
    pub(super) fn plural(&self) -> &str {
        self.definition["spec"]["names"]["plural"].as_str().expect("a name")
    }

    pub(super) fn kind(&self) -> &str {
        self.definition["spec"]["names"]["kind"].as_str().expect("a kind")
    }

    pub(super) fn group(&self) -> &str {
        self.definition["spec"]["group"].as_str().expect("a group")
    }

    pub(super) fn is_namespaced(&self) -> bool {
        self.definition["spec"]["scope"] == "Namespaced"
    }

    pub(super) fn scales(&self) -> bool {
        !self.definition["spec"]["versions"][0]["subresources"]["scale"].is_null()
    }
}

/// The shapes, each a function of a number.
pub(super) const SHAPES: [fn(usize) -> Sample; 5] = [certificate, gateway, monitor, composition, workflow];

fn text() -> Value {
    json!({"type": "string"})
}

fn texts(list_type: &str) -> Value {
    json!({"type": "array", "maxItems": 64, "items": {"type": "string", "maxLength": 253},
        "x-kubernetes-list-type": list_type})
}

fn fields(properties: Value) -> Value {
    json!({"type": "object", "properties": properties})
}

fn int_or_text() -> Value {
    json!({"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": true})
}

fn conditions() -> Value {
    json!({
        "type": "array",
        "description": "What was last observed, by type.",
        "maxItems": 8,
        "items": {
            "type": "object",
            "required": ["lastTransitionTime", "status", "type"],
            "properties": {
                "type": {"type": "string", "maxLength": 316, "pattern": "^([a-z0-9./-]+/)?[A-Za-z0-9][-A-Za-z0-9_.]*$"},
                "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
                "reason": {"type": "string", "maxLength": 1024},
                "message": {"type": "string", "maxLength": 32768},
                "lastTransitionTime": {"type": "string", "format": "date-time"},
                "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
            },
        },
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
    })
}

fn label_selector() -> Value {
    let mut selector = fields(json!({
        "matchLabels": {"type": "object", "additionalProperties": text()},
        "matchExpressions": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {
            "type": "object", "required": ["key", "operator"],
            "properties": {"key": text(), "operator": text(), "values": texts("atomic")},
        }},
    }));
    selector["x-kubernetes-map-type"] = "atomic".into();
    selector
}

fn resources() -> Value {
    let quantity = json!({
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
        "x-kubernetes-int-or-string": true,
    });
    fields(json!({
        "limits": {"type": "object", "additionalProperties": quantity},
        "requests": {"type": "object", "additionalProperties": quantity},
    }))
}

fn container() -> Value {
    json!({
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "description": "Its name among the others."},
            "image": text(),
            "args": texts("atomic"),
            "command": texts("atomic"),
            "env": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {
                "type": "object", "required": ["name"],
                "properties": {"name": text(), "value": text(), "valueFrom": fields(json!({
                    "secretKeyRef": {"type": "object", "required": ["key"], "x-kubernetes-map-type": "atomic",
                        "properties": {"key": text(), "name": {"type": "string", "default": ""}, "optional": {"type": "boolean"}}},
                    "fieldRef": {"type": "object", "required": ["fieldPath"], "properties": {"fieldPath": text(), "apiVersion": text()}},
                }))},
            }},
            "ports": {"type": "array", "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["containerPort", "protocol"], "items": {
                    "type": "object", "required": ["containerPort"],
                    "properties": {
                        "containerPort": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 65535},
                        "protocol": {"type": "string", "default": "TCP"},
                        "name": text(),
                    },
                }},
            "resources": resources(),
            "livenessProbe": fields(json!({
                "httpGet": {"type": "object", "required": ["port"], "properties": {"path": text(), "port": int_or_text(), "scheme": text()}},
                "periodSeconds": {"type": "integer", "format": "int32"},
            })),
        },
    })
}

/// Returns the schema of a pod template: large, and deeply nested.
fn pod_template() -> Value {
    let containers = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
        "items": container()});
    let term = fields(json!({
        "weight": {"type": "integer", "format": "int32"},
        "podAffinityTerm": {"type": "object", "required": ["topologyKey"], "properties": {
            "labelSelector": label_selector(), "namespaceSelector": label_selector(),
            "namespaces": texts("atomic"), "topologyKey": text(),
        }},
    }));
    let affinity = fields(json!({
        "preferredDuringSchedulingIgnoredDuringExecution": {"type": "array", "items": term, "x-kubernetes-list-type": "atomic"},
    }));
    fields(json!({
        "metadata": fields(json!({
            "labels": {"type": "object", "additionalProperties": text()},
            "annotations": {"type": "object", "additionalProperties": text()},
        })),
        "spec": fields(json!({
            "containers": containers,
            "initContainers": containers,
            "affinity": fields(json!({"podAffinity": affinity, "podAntiAffinity": affinity})),
            "nodeSelector": {"type": "object", "additionalProperties": text(), "x-kubernetes-map-type": "atomic"},
            "tolerations": {"type": "array", "x-kubernetes-list-type": "atomic", "items": fields(json!({
                "key": text(), "operator": text(), "value": text(), "effect": text(),
                "tolerationSeconds": {"type": "integer", "format": "int64"},
            }))},
            "volumes": {"type": "array", "items": {"type": "object", "required": ["name"],
                "properties": {"name": text()}, "x-kubernetes-preserve-unknown-fields": true}},
            "terminationGracePeriodSeconds": {"type": "integer", "format": "int64", "minimum": 0},
        })),
    }))
}

/// An object schema as every definition has it.
fn root(description: &str, spec: Value, status: Value) -> Value {
    let mut schema = fields(json!({
        "apiVersion": {"type": "string", "description": "The version of this form."},
        "kind": text(),
        "metadata": {"type": "object"},
        "spec": spec,
        "status": status,
    }));
    schema["description"] = description.into();
    schema["required"] = json!(["spec"]);
    schema
}

/// Several resources share a group.
fn group(operator: &str, number: usize) -> String {
    format!("g{}.{operator}.test", number / 6)
}

fn named(mut definition: Value, short: &str, number: usize, categories: &[&str]) -> Value {
    let names = &mut definition["spec"]["names"];
    names["shortNames"] = json!([format!("{short}{number}"), format!("{short}s{number}")]);
    names["categories"] = json!(categories);
    definition
}

fn age() -> Value {
    json!({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"})
}

fn sample(definition: Value, spec: Value, change: Value, wrong: (Value, &'static str)) -> Sample {
    let group = definition["spec"]["group"].as_str().expect("a group");
    let version = definition["spec"]["versions"][0]["name"].as_str().expect("a version");
    let object = json!({
        "apiVersion": format!("{group}/{version}"),
        "kind": definition["spec"]["names"]["kind"],
        "metadata": {"name": "sample", "labels": {"app": "sample"}},
        "spec": spec,
    });
    Sample { object, definition, change, wrong }
}

/// Certificates: enums, durations, references to others, a status with conditions that columns look into.
fn certificate(number: usize) -> Sample {
    let reference = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string", "description": "Name of the issuer.", "maxLength": 253},
        "kind": {"type": "string", "default": "Issuer"},
        "group": text(),
    }});
    let mut spec = fields(json!({
        "secretName": {"type": "string", "minLength": 1, "maxLength": 253, "description": "Where the key and the certificate go."},
        "issuerRef": reference,
        "duration": {"type": "string", "maxLength": 32},
        "renewBefore": {"type": "string", "maxLength": 32},
        "dnsNames": texts("set"),
        "isCA": {"type": "boolean"},
        "usages": {"type": "array", "maxItems": 16, "items": {"type": "string", "enum": ["signing", "server auth", "client auth", "key encipherment"]}},
        "privateKey": fields(json!({
            "algorithm": {"type": "string", "enum": ["RSA", "ECDSA", "Ed25519"], "default": "RSA"},
            "size": {"type": "integer", "minimum": 256, "maximum": 8192},
            "rotationPolicy": {"type": "string", "enum": ["Never", "Always"]},
        })),
        "keystores": fields(json!({
            "pkcs12": {"type": "object", "required": ["create"], "properties": {"create": {"type": "boolean"}, "profile": text()}},
        })),
        "secretTemplate": fields(json!({
            "annotations": {"type": "object", "additionalProperties": text()},
            "labels": {"type": "object", "additionalProperties": text()},
        })),
    }));
    spec["required"] = json!(["issuerRef", "secretName"]);
    spec["x-kubernetes-validations"] = json!([
        {"rule": "!has(self.renewBefore) || has(self.duration)", "message": "renewBefore needs a duration"},
        {"rule": "!has(self.duration) || duration(self.duration) >= duration('1h')", "fieldPath": ".duration",
            "messageExpression": "'must be an hour or more, not ' + self.duration", "reason": "FieldValueInvalid"},
    ]);
    let status = fields(json!({
        "conditions": conditions(),
        "notAfter": {"type": "string", "format": "date-time"},
        "revision": {"type": "integer"},
    }));
    let mut served = version("v1", &root("A certificate that is kept up to date.", spec, status));
    served["subresources"] = json!({"status": {}});
    served["selectableFields"] = json!([{"jsonPath": ".spec.issuerRef.name"}]);
    served["additionalPrinterColumns"] = json!([
        {"name": "Ready", "type": "string", "jsonPath": r#".status.conditions[?(@.type=="Ready")].status"#},
        {"name": "Secret", "type": "string", "jsonPath": ".spec.secretName"},
        {"name": "Issuer", "type": "string", "jsonPath": ".spec.issuerRef.name", "priority": 1},
        age(),
    ]);
    let defined =
        definition(&group("certs", number), &format!("Certificate{number}"), "Namespaced", vec![served]);
    sample(
        named(defined, "cert", number, &["certs"]),
        json!({"secretName": "tls", "issuerRef": {"name": "ca"}, "dnsNames": ["a.test", "b.test"], "duration": "24h"}),
        json!({"spec": {"renewBefore": "8h", "privateKey": {"size": 2048}}}),
        (json!({"spec": {"duration": "1m"}}), "must be an hour or more, not 1m"),
    )
}

/// Gateways: several versions, lists with keys, rules over their items.
fn gateway(number: usize) -> Sample {
    let mut listener = fields(json!({
        "name": {"type": "string", "minLength": 1, "maxLength": 253, "pattern": r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"},
        "port": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 65535},
        "protocol": {"type": "string", "minLength": 1, "maxLength": 255},
        "hostname": {"type": "string", "minLength": 1, "maxLength": 253},
        "tls": fields(json!({
            "mode": {"type": "string", "enum": ["Terminate", "Passthrough"], "default": "Terminate"},
            "certificateRefs": {"type": "array", "maxItems": 64, "x-kubernetes-list-type": "atomic", "items": {
                "type": "object", "required": ["name"], "properties": {
                    "group": {"type": "string", "default": "", "maxLength": 253},
                    "kind": {"type": "string", "default": "Secret", "maxLength": 63},
                    "name": {"type": "string", "minLength": 1, "maxLength": 253},
                }}},
        })),
        "allowedRoutes": {"type": "object", "default": {"namespaces": {"from": "Same"}}, "properties": {
            "namespaces": {"type": "object", "default": {"from": "Same"}, "properties": {
                "from": {"type": "string", "enum": ["All", "Selector", "Same"], "default": "Same"},
                "selector": label_selector(),
            }},
        }},
    }));
    listener["required"] = json!(["name", "port", "protocol"]);
    let mut spec = fields(json!({
        "gatewayClassName": {"type": "string", "minLength": 1, "maxLength": 253, "x-kubernetes-validations": [
            {"rule": "self == oldSelf", "message": "the class of a gateway stays"},
        ]},
        "addresses": {"type": "array", "maxItems": 16, "items": {
            "type": "object",
            "oneOf": [
                {"properties": {"type": {"enum": ["IPAddress"]}, "value": {"anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]}}},
                {"properties": {"type": {"not": {"enum": ["IPAddress"]}}}},
            ],
            "properties": {"type": {"type": "string", "default": "IPAddress", "maxLength": 253}, "value": {"type": "string", "maxLength": 253}},
        }},
        "listeners": {
            "type": "array", "minItems": 1, "maxItems": 64, "items": listener,
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "x-kubernetes-validations": [
                {"rule": "self.all(l, l.protocol in ['HTTP', 'TCP', 'UDP'] ? !has(l.tls) : true)", "message": "tls is not for HTTP, TCP and UDP"},
                {"rule": "self.all(l1, self.exists_one(l2, l1.port == l2.port && l1.protocol == l2.protocol))",
                    "message": "a port has one listener of a protocol"},
            ],
        },
    }));
    spec["required"] = json!(["gatewayClassName", "listeners"]);
    let status = fields(json!({
        "conditions": conditions(),
        "listeners": {"type": "array", "maxItems": 64, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "required": ["name"], "properties": {
                "name": text(), "attachedRoutes": {"type": "integer", "format": "int32"}, "conditions": conditions(),
            }}},
    }));
    let mut status = status;
    status["default"] = json!({"conditions": [
        {"type": "Accepted", "status": "Unknown", "reason": "Pending", "message": "nobody has looked yet", "lastTransitionTime": "1970-01-01T00:00:00Z"},
    ]});
    let schema = root("Where traffic comes in.", spec, status);
    let mut versions: Vec<Value> = ["v1", "v1beta1", "v1alpha2"].map(|name| version(name, &schema)).into();
    for version in &mut versions {
        version["subresources"] = json!({"status": {}});
        version["additionalPrinterColumns"] = json!([
            {"name": "Class", "type": "string", "jsonPath": ".spec.gatewayClassName"},
            {"name": "Listeners", "type": "string", "jsonPath": ".spec.listeners[*].name"},
            {"name": "Programmed", "type": "string", "jsonPath": ".status.conditions[?(@.type=='Programmed')].status"},
            age(),
        ]);
    }
    versions[2]["served"] = false.into();
    versions[2]["deprecated"] = true.into();
    let defined = definition(&group("gateways", number), &format!("Gateway{number}"), "Namespaced", versions);
    sample(
        named(defined, "gtw", number, &["gateways"]),
        json!({"gatewayClassName": "fast", "addresses": [{"value": "10.1.2.3"}], "listeners": [
            {"name": "web", "port": 80, "protocol": "HTTP"},
            {"name": "secure", "port": 443, "protocol": "HTTPS", "tls": {"certificateRefs": [{"name": "tls"}]}},
        ]}),
        json!({"spec": {"addresses": [{"value": "10.1.2.3"}, {"type": "Hostname", "value": "a.test"}]}}),
        (json!({"spec": {"gatewayClassName": "slow"}}), "the class of a gateway stays"),
    )
}

/// Monitoring: a scale, templates of pods, numbers that may be texts.
fn monitor(number: usize) -> Sample {
    let span = json!({"type": "string", "pattern": "^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$"});
    let spec = fields(json!({
        "replicas": {"type": "integer", "format": "int32", "default": 1, "description": "How many there should be."},
        "shards": {"type": "integer", "format": "int32"},
        "retention": span,
        "scrapeInterval": {"type": "string", "default": "30s", "pattern": span["pattern"]},
        "serviceMonitorSelector": label_selector(),
        "serviceMonitorNamespaceSelector": label_selector(),
        "template": pod_template(),
        "containers": {"type": "array", "items": container(), "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        "storage": fields(json!({
            "volumeClaimTemplate": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
        })),
        "remoteWrite": {"type": "array", "items": {"type": "object", "required": ["url"], "properties": {
            "url": {"type": "string", "format": "uri"},
            "headers": {"type": "object", "additionalProperties": text()},
            "queueConfig": fields(json!({"capacity": {"type": "integer"}, "maxShards": {"type": "integer"}})),
            "writeRelabelConfigs": {"type": "array", "items": fields(json!({
                "sourceLabels": texts("atomic"), "regex": text(), "modulus": {"type": "integer", "format": "int64"},
                "action": {"type": "string", "default": "replace", "enum": ["replace", "keep", "drop", "labelmap"]},
            }))},
        }}},
        "maximumStartupDurationSeconds": {"type": "integer", "format": "int32", "minimum": 60},
        "targetPort": int_or_text(),
    }));
    let status = fields(json!({
        "replicas": {"type": "integer", "format": "int32"},
        "selector": text(),
        "conditions": conditions(),
    }));
    let mut served = version("v1", &root("Looks at others.", spec, status));
    served["subresources"] = json!({"status": {}, "scale": {
        "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector",
    }});
    served["additionalPrinterColumns"] = json!([
        {"name": "Desired", "type": "integer", "jsonPath": ".spec.replicas"},
        {"name": "Ready", "type": "integer", "jsonPath": ".status.replicas"},
        {"name": "Retention", "type": "string", "jsonPath": ".spec.retention", "priority": 1},
        age(),
    ]);
    let defined =
        definition(&group("monitors", number), &format!("Monitor{number}"), "Namespaced", vec![served]);
    sample(
        named(defined, "mon", number, &["monitors"]),
        json!({
            "retention": "15d", "targetPort": "web",
            "serviceMonitorSelector": {"matchLabels": {"team": "a"}},
            "template": {"spec": {"containers": [{"name": "main", "image": "main:1", "ports": [{"containerPort": 9090}],
                "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"cpu": 2}}}]}},
            "storage": {"volumeClaimTemplate": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
                "spec": {"resources": {"requests": {"storage": "10Gi"}}}}},
        }),
        json!({"spec": {"targetPort": 9090, "remoteWrite": [{"url": "https://a.test/write"}]}}),
        (json!({"spec": {"retention": "fifteen"}}), "spec.retention in body should match"),
    )
}

/// Infrastructure: resources in resources, parts without a schema, and many versions.
fn composition(number: usize) -> Sample {
    let reference = json!({"type": "object", "required": ["name"], "properties": {
        "name": text(),
        "policy": fields(json!({
            "resolution": {"type": "string", "enum": ["Required", "Optional"], "default": "Required"},
            "resolve": {"type": "string", "enum": ["Always", "IfNotPresent"]},
        })),
    }});
    let parameters = fields(json!({
        "region": {"type": "string", "maxLength": 64},
        "tags": {"type": "object", "maxProperties": 32, "additionalProperties": {"type": "string", "maxLength": 256}, "x-kubernetes-map-type": "granular"},
        "networkRef": reference,
        "subnetRefs": {"type": "array", "maxItems": 32, "items": reference},
        "rules": {"type": "array", "maxItems": 32, "items": fields(json!({"from": int_or_text(), "cidr": {"type": "string", "maxLength": 64}}))},
    }));
    let mut spec = fields(json!({
        "deletionPolicy": {"type": "string", "enum": ["Orphan", "Delete"], "default": "Delete"},
        "managementPolicies": {"type": "array", "default": ["*"], "maxItems": 8, "x-kubernetes-list-type": "set",
            "items": {"type": "string", "enum": ["Observe", "Create", "Update", "Delete", "*"]}},
        "forProvider": parameters,
        "initProvider": parameters,
        "providerConfigRef": {"type": "object", "default": {"name": "default"}, "required": ["name"], "properties": {"name": text()}},
        "resources": {"type": "array", "maxItems": 32, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {
            "type": "object", "required": ["name"], "properties": {
                "name": {"type": "string", "maxLength": 253},
                "base": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
                "patches": {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }}},
        "anything": {"x-kubernetes-preserve-unknown-fields": true},
    }));
    spec["required"] = json!(["forProvider"]);
    spec["x-kubernetes-validations"] = json!([{
        "rule": "!('*' in self.managementPolicies || 'Create' in self.managementPolicies) || has(self.forProvider.region) || (has(self.initProvider) && has(self.initProvider.region))",
        "message": "spec.forProvider.region is a required parameter",
    }]);
    let status = fields(json!({
        "atProvider": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "conditions": conditions(),
    }));
    let schema = root("Something that a provider has.", spec, status);
    let mut versions: Vec<Value> =
        ["v1", "v1beta2", "v1beta1", "v1alpha1"].map(|name| version(name, &schema)).into();
    for (place, version) in versions.iter_mut().enumerate() {
        version["subresources"] = json!({"status": {}});
        version["deprecated"] = (place > 1).into();
        version["additionalPrinterColumns"] = json!([
            {"name": "Synced", "type": "string", "jsonPath": ".status.conditions[?(@.type=='Synced')].status"},
            {"name": "Region", "type": "string", "jsonPath": ".spec.forProvider.region"},
            age(),
        ]);
    }
    let defined =
        definition(&group("compositions", number), &format!("Composite{number}"), "Cluster", versions);
    sample(
        named(defined, "comp", number, &["compositions", "managed"]),
        json!({
            "forProvider": {"region": "north", "tags": {"a": "1"}, "rules": [{"from": 80, "cidr": "10.0.0.0/8"}]},
            "resources": [{"name": "net", "base": {"apiVersion": "net.test/v1", "kind": "Network", "spec": {"deep": {"er": [1, {"a": null}]}}},
                "patches": [{"type": "FromTo", "fields": ["a", "b"]}]}],
            "anything": {"goes": [1, "two", {"three": 3.5}]},
        }),
        json!({"spec": {"forProvider": {"tags": {"b": "2"}}, "anything": "else"}}),
        (
            json!({"spec": {"forProvider": {"region": null}}}),
            "spec.forProvider.region is a required parameter",
        ),
    )
}

/// Workflows: lists of lists, maps of anything, no status of its own.
fn workflow(number: usize) -> Sample {
    let parameter = json!({"type": "object", "required": ["name"], "properties": {
        "name": text(),
        "value": int_or_text(),
        "enum": texts("atomic"),
        "valueFrom": fields(json!({"expression": text(), "parameter": text(), "default": int_or_text()})),
    }});
    let arguments = fields(json!({
        "parameters": {"type": "array", "items": parameter, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        "artifacts": {"type": "array", "items": {"type": "object", "required": ["name"], "properties": {"name": text()},
            "x-kubernetes-preserve-unknown-fields": true}},
    }));
    let step = json!({"type": "object", "required": ["name"], "properties": {
        "name": text(), "template": text(), "arguments": arguments, "when": text(),
        "withItems": {"type": "array", "items": {"x-kubernetes-preserve-unknown-fields": true}},
    }});
    let template = json!({"type": "object", "required": ["name"], "properties": {
        "name": text(),
        "inputs": arguments,
        "container": container(),
        "script": container(),
        "steps": {"type": "array", "items": {"type": "array", "items": step}},
        "dag": fields(json!({"tasks": {"type": "array", "items": {"type": "object", "required": ["name"], "properties": {
            "name": text(), "template": text(), "dependencies": texts("set"), "arguments": arguments,
        }}}})),
        "retryStrategy": fields(json!({"limit": int_or_text(), "backoff": fields(json!({"duration": text(), "factor": int_or_text()}))})),
        "activeDeadlineSeconds": int_or_text(),
    }});
    let spec = fields(json!({
        "entrypoint": {"type": "string", "description": "Which template comes first."},
        "arguments": arguments,
        "templates": {"type": "array", "items": template, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        "podSpecPatch": text(),
        "podMetadata": fields(json!({"labels": {"type": "object", "additionalProperties": text()}})),
        "suspend": {"type": "boolean"},
        "priority": {"type": "integer", "format": "int32"},
        "volumes": {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
    }));
    let mut status = fields(json!({"phase": text(), "progress": text(), "nodes": {"type": "object",
        "additionalProperties": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}));
    status["x-kubernetes-preserve-unknown-fields"] = true.into();
    let mut served = version("v1alpha1", &root("Steps that follow one another.", spec, status));
    served["additionalPrinterColumns"] = json!([
        {"name": "Status", "type": "string", "jsonPath": ".status.phase", "description": "How far it is"},
        {"name": "Entry", "type": "string", "jsonPath": ".spec.entrypoint"},
        {"name": "Priority", "type": "integer", "jsonPath": ".spec.priority", "format": "int32"},
        age(),
    ]);
    let defined =
        definition(&group("workflows", number), &format!("Workflow{number}"), "Namespaced", vec![served]);
    sample(
        named(defined, "wf", number, &["workflows"]),
        json!({
            "entrypoint": "main",
            "arguments": {"parameters": [{"name": "count", "value": 3}, {"name": "word", "value": "three"}]},
            "templates": [
                {"name": "main", "steps": [[{"name": "a", "template": "say"}], [{"name": "b", "template": "say", "withItems": [1, "x", {"y": []}]}]]},
                {"name": "say", "container": {"name": "", "image": "echo:1", "args": ["{{inputs}}"]}, "retryStrategy": {"limit": "5"}},
            ],
        }),
        json!({"spec": {"suspend": true, "priority": 7}, "status": {"phase": "Running", "nodes": {"a": {"b": 1}}}}),
        (json!({"spec": {"priority": "high"}}), "spec.priority in body must be of type integer"),
    )
}
