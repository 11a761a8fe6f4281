//! The machine's kubectl, on both stores.

mod apply_server_side;
mod auth;
mod change;
mod client_side_apply;
mod component_status;
mod create;
mod delete;
mod describe;
mod discover;
mod evict;
mod get;
mod nowhere;
mod patch;
mod replace;
mod wait;
mod watch;

/// Two pods, one of them running, and a config map.
const OBJECTS: &str = r#"
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {app: web, tier: front}
spec:
  nodeName: worker
  containers:
  - name: server
    image: nginx:1.29
    ports: [{containerPort: 80}]
    env: [{name: MODE, value: fast}]
    resources: {requests: {cpu: 100m}}
---
apiVersion: v1
kind: Pod
metadata:
  name: db
  labels: {app: db, tier: back}
spec:
  containers:
  - {name: main, image: postgres}
  - {name: side, image: exporter}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {first: "1", text: "two\nlines\n"}
"#;
