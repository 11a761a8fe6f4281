//! `ServiceAccount`: every pod runs as a service account of its namespace, `default` unless it names another, and its
//! containers get a token of it, unless the pod or the account opts out.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pintle_auth::authorizer::node::{Kind, used_by};
use pintle_codec::json;
use pintle_meta::{Status, Value, names};
use pintle_runtime::{Clock, Random};
use pintle_schema::find;

use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::chain::Cluster;
use crate::objects::{ObjectLister, Resource, check_name};
use crate::plugin::Plugin;

const DEFAULT: &str = "default";
const MIRROR: &str = "kubernetes.io/config.mirror";
/// Path at which clients in containers look for their token.
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const VOLUME: &str = "kube-api-access-";
/// An account with this annotation allows only the secrets that it names.
const ENFORCE: &str = "kubernetes.io/enforce-mountable-secrets";
/// Reads of the account `default`, which a controller creates in every namespace.
const ATTEMPTS: usize = 10;

pub(crate) struct ServiceAccount {
    objects: Arc<dyn ObjectLister>,
    clock: Clock,
    random: Random,
}

impl ServiceAccount {
    pub(crate) fn new(cluster: &Cluster) -> ServiceAccount {
        ServiceAccount {
            objects: cluster.objects.clone(),
            clock: cluster.clock.clone(),
            random: cluster.random.clone(),
        }
    }

    /// Returns the account from the cache. A missing one is read from the store, the default account several times.
    async fn account(&self, attributes: &Attributes<'_>, name: &str) -> Result<Value> {
        check_name(name).map_err(|status| unknown(attributes, name, &status))?;
        let namespace = attributes.namespace();
        let pause = self.random.jitter(Duration::from_millis(100), 1.0);
        let attempts = if name == DEFAULT { ATTEMPTS } else { 1 };
        for attempt in 0..attempts {
            if attempt > 0 {
                self.clock.sleep(pause).await;
            }
            match self.objects.object(Resource::ServiceAccount, namespace, name).await {
                Ok(Some(account)) => return Ok(account),
                Ok(None) => {}
                Err(status) => return Err(unknown(attributes, name, &status)),
            }
        }
        Err(unknown(attributes, name, &Resource::ServiceAccount.not_found(name)))
    }
}

fn unknown(attributes: &Attributes<'_>, name: &str, why: &Status) -> Box<Status> {
    let namespace = attributes.namespace();
    attributes.forbidden(&format!("error looking up service account {namespace}/{name}: {}", why.message))
}

#[async_trait]
impl Plugin for ServiceAccount {
    fn name(&self) -> &'static str {
        "ServiceAccount"
    }

    fn admits(&self, operation: Operation, target: &Target) -> bool {
        operation == Operation::Create && is_pod(target) && target.subresource.is_empty()
    }

    async fn admit(&self, attributes: &mut Attributes<'_>) -> Result<()> {
        let Some(mut pod) = attributes.object().cloned() else { return Ok(()) };
        // A mirror pod shows a static pod of a node and is not changed.
        if pod.annotation(MIRROR).is_some() {
            return self.validate(attributes).await;
        }
        let name = match pod.text_at(&["spec", "serviceAccountName"]) {
            "" => DEFAULT,
            name => name,
        }
        .to_owned();
        if let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) {
            spec.insert("serviceAccountName", name.as_str());
            spec.insert("serviceAccount", name.as_str());
        }
        attributes.set_object(pod.clone());
        let account = self.account(attributes, &name).await?;
        if wants_token(&account, &pod) {
            mount_token(&mut pod, &self.random)?;
        }
        let secrets = account.items_at(&["imagePullSecrets"]);
        if pod.items_at(&["spec", "imagePullSecrets"]).is_empty()
            && !secrets.is_empty()
            && let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut)
        {
            spec.insert("imagePullSecrets", Value::list(secrets.to_vec()));
        }
        let refused = refusal(attributes, &pod, &account);
        attributes.set_object(pod);
        refused
    }

    fn validates(&self, operation: Operation, target: &Target) -> bool {
        let subresource = target.subresource.as_str();
        is_pod(target)
            && matches!(
                (operation, subresource),
                (Operation::Create, "") | (Operation::Update, "ephemeralcontainers")
            )
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        let Some(pod) = attributes.object() else { return Ok(()) };
        if attributes.operation == Operation::Create && pod.annotation(MIRROR).is_some() {
            return validate_mirror(attributes, pod);
        }
        let name = pod.text_at(&["spec", "serviceAccountName"]);
        if name.is_empty() {
            let (namespace, pod) = (attributes.namespace(), pod.name());
            return Err(
                attributes.forbidden(&format!("no service account specified for pod {namespace}/{pod}"))
            );
        }
        let account = self.account(attributes, name).await?;
        refusal(attributes, pod, &account)
    }
}

/// Rejects a pod that uses a secret which its account must list and does not.
fn refusal(attributes: &Attributes<'_>, pod: &Value, account: &Value) -> Result<()> {
    if !enforces(account) {
        return Ok(());
    }
    if attributes.operation == Operation::Update {
        // The reference gives this error no reason.
        let wrong = foreign_in(account, pod, "ephemeralContainers", "ephemeral container");
        return wrong.map_or(Ok(()), |why| Err(Box::new(Status::plain(why))));
    }
    foreign_secret(account, pod).map_or(Ok(()), |why| Err(attributes.forbidden(&why)))
}

fn is_pod(target: &Target) -> bool {
    target.resource.group.is_empty() && target.resource.resource == "pods"
}

/// Returns whether the containers get a token. The field of the pod takes precedence over that of the account.
fn wants_token(account: &Value, pod: &Value) -> bool {
    let flag = |value: Option<&Value>| value.and_then(Value::as_bool);
    flag(pod.at(&["spec", "automountServiceAccountToken"]))
        .or(flag(account.at(&["automountServiceAccountToken"])))
        .unwrap_or(true)
}

fn enforces(account: &Value) -> bool {
    matches!(account.annotation(ENFORCE), Some("1" | "t" | "T" | "true" | "TRUE" | "True"))
}

fn validate_mirror(attributes: &Attributes<'_>, pod: &Value) -> Result<()> {
    let refuse = |why: &str| Err(attributes.forbidden(why));
    if !pod.text_at(&["spec", "serviceAccountName"]).is_empty() {
        return refuse("a mirror pod may not reference service accounts");
    }
    if used_by(pod).iter().any(|(used, _)| *used == Kind::Secret) {
        return refuse("a mirror pod may not reference secrets");
    }
    let sources = pod.items_at(&["spec", "volumes"]).iter();
    let mut sources = sources.flat_map(|volume| volume.items_at(&["projected", "sources"]));
    if sources.any(|source| source.at(&["serviceAccountToken"]).is_some()) {
        return refuse("a mirror pod may not use ServiceAccountToken volume projections");
    }
    Ok(())
}

/// Returns why a pod is rejected that refers to a secret which its account does not list.
fn foreign_secret(account: &Value, pod: &Value) -> Option<String> {
    let account_name = account.name();
    let mountable = named(account, "secrets");
    for volume in pod.items_at(&["spec", "volumes"]) {
        let Some(secret) = volume.get("secret").filter(|source| !source.is_null()) else { continue };
        let secret = secret.text_at(&["secretName"]);
        if !mountable.contains(&secret) {
            return Some(format!(
                "volume with secret.secretName=\"{secret}\" is not allowed because service account {account_name} does not \
                 reference that secret"
            ));
        }
    }
    let wrong = foreign_in(account, pod, "initContainers", "init container")
        .or_else(|| foreign_in(account, pod, "containers", "container"));
    if wrong.is_some() {
        return wrong;
    }
    let pullable = named(account, "imagePullSecrets");
    for (index, secret) in pod.items_at(&["spec", "imagePullSecrets"]).iter().enumerate() {
        let name = secret.text_at(&["name"]);
        if !pullable.contains(&name) {
            return Some(format!(
                "imagePullSecrets[{index}].name=\"{name}\" is not allowed because service account {account_name} does not \
                 reference that imagePullSecret"
            ));
        }
    }
    None
}

/// Returns the same for the environments of containers.
fn foreign_in(account: &Value, pod: &Value, containers: &str, what: &str) -> Option<String> {
    let mountable = named(account, "secrets");
    for container in pod.items_at(&["spec", containers]) {
        let (container_name, account_name) = (container.text_at(&["name"]), account.name());
        for variable in container.items_at(&["env"]) {
            let secret = variable.at(&["valueFrom", "secretKeyRef"]).filter(|secret| !secret.is_null());
            let Some(secret) = secret.map(|secret| secret.text_at(&["name"])) else { continue };
            if !mountable.contains(&secret) {
                let variable = variable.text_at(&["name"]);
                return Some(format!(
                    "{what} {container_name} with envVar {variable} referencing secret.secretName=\"{secret}\" is not allowed \
                     because service account {account_name} does not reference that secret"
                ));
            }
        }
        for source in container.items_at(&["envFrom"]) {
            let secret = source.get("secretRef").filter(|secret| !secret.is_null());
            let secret = secret.map(|secret| secret.text_at(&["name"]));
            let Some(secret) = secret.filter(|secret| !mountable.contains(secret)) else { continue };
            return Some(format!(
                "{what} {container_name} with envFrom referencing secret.secretName=\"{secret}\" is not allowed because service \
                 account {account_name} does not reference that secret"
            ));
        }
    }
    None
}

fn named<'a>(account: &'a Value, field: &str) -> HashSet<&'a str> {
    account.items_at(&[field]).iter().map(|reference| reference.text_at(&["name"])).collect()
}

/// Mounts a volume with a token into every container that mounts nothing at its path.
fn mount_token(pod: &mut Value, random: &Random) -> Result<()> {
    let volumes = pod.items_at(&["spec", "volumes"]).iter();
    let there = volumes.map(|volume| volume.text_at(&["name"])).find(|name| name.starts_with(VOLUME));
    let is_there = there.is_some();
    let name = there.map_or_else(|| names::generate(VOLUME, || random.number()), str::to_owned);
    let mut mount =
        typed("core/v1.VolumeMount", &format!(r#"{{"readOnly":true,"mountPath":"{MOUNT_PATH}"}}"#))?;
    if let Some(fields) = mount.as_object_mut() {
        // The name may be a client's, and is not validated yet.
        fields.insert("name", name.as_str());
    }
    let mut is_needed = false;
    for containers in ["initContainers", "containers"] {
        let all = pod.at_mut(&["spec", containers]).and_then(Value::as_list_mut);
        for container in all.into_iter().flatten() {
            let mut mounts = container.items_at(&["volumeMounts"]).iter();
            if mounts.any(|mount| mount.text_at(&["mountPath"]) == MOUNT_PATH) {
                continue;
            }
            is_needed = true;
            add(container, "volumeMounts", mount.clone());
        }
    }
    if is_needed && !is_there {
        let volume = typed("core/v1.Volume", &token_volume(&name))?;
        if let Some(spec) = pod.get_mut("spec") {
            add(spec, "volumes", volume);
        }
    }
    Ok(())
}

fn add(object: &mut Value, field: &'static str, value: Value) {
    let Some(object) = object.as_object_mut() else { return };
    let list = object.get_or_insert_with(field, || Value::list(Vec::new()));
    if let Some(list) = list.as_list_mut() {
        list.push(value);
    }
}

/// Returns the JSON of the volume: the token, the CA of the server and the namespace.
fn token_volume(name: &str) -> String {
    format!(
        r#"{{"name":"{name}","projected":{{"defaultMode":420,"sources":[
            {{"serviceAccountToken":{{"expirationSeconds":3607,"path":"token"}}}},
            {{"configMap":{{"name":"kube-root-ca.crt","items":[{{"key":"ca.crt","path":"ca.crt"}}]}}}},
            {{"downwardAPI":{{"items":[{{"path":"namespace","fieldRef":{{"apiVersion":"v1","fieldPath":"metadata.namespace"}}}}]}}}}
        ]}}}}"#
    )
}

fn typed(of: &str, text: &str) -> Result<Value> {
    let found = find(of).ok_or_else(|| Status::internal(format_args!("there is no type {of}")))?;
    Ok(json::decode(found, text.as_bytes()).map_err(Status::internal)?.value)
}

#[cfg(test)]
#[path = "service_account_tests.rs"]
mod tests;
