//! Tokens of service accounts: for a pod that runs on the node, and an audience that its volumes or their drivers ask for.

use std::collections::HashSet;

use pintle_auth::authorizer;
use pintle_features::Feature;
use pintle_meta::{Value, quote};

use super::pods::node_of;
use super::{NodeRestriction, or_null};
use crate::Result;
use crate::attributes::{Attributes, Operation};
use crate::objects::Resource;

/// CSI drivers that in-tree volume plugins have been migrated to.
const DRIVERS: [(&str, &str); 7] = [
    ("gcePersistentDisk", "pd.csi.storage.gke.io"),
    ("awsElasticBlockStore", "ebs.csi.aws.com"),
    ("cinder", "cinder.csi.openstack.org"),
    ("azureDisk", "disk.csi.azure.com"),
    ("azureFile", "file.csi.azure.com"),
    ("vsphereVolume", "csi.vsphere.vmware.com"),
    ("portworxVolume", "pxd.portworx.com"),
];

impl NodeRestriction {
    pub(super) async fn token(&self, node: &str, attributes: &Attributes<'_>) -> Result<()> {
        if attributes.operation != Operation::Create {
            return Ok(());
        }
        let request = or_null(attributes.object());
        let bound = or_null(request.at(&["spec", "boundObjectRef"]));
        let (name, uid) = (bound.text_at(&["name"]), bound.text_at(&["uid"]));
        let is_pod = (bound.text_at(&["apiVersion"]), bound.text_at(&["kind"])) == ("v1", "Pod");
        if !is_pod || name.is_empty() {
            return Err(attributes.forbidden("node requested token not bound to a pod"));
        }
        if uid.is_empty() {
            return Err(attributes.forbidden("node requested token with a pod binding without a uid"));
        }
        let pod = self.find(Resource::Pod, name, attributes).await?;
        if pod.uid() != uid {
            return Err(attributes.forbidden(&format!(
                "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have \
                 been deleted and then recreated"
            )));
        }
        if node_of(&pod) != node {
            return Err(
                attributes.forbidden("node requested token bound to a pod scheduled on a different node")
            );
        }
        if self.features.enabled(Feature::ServiceAccountNodeAudienceRestriction) {
            let known = self.is_known_audience(request, &pod, attributes).await;
            known.map_err(|why| attributes.forbidden(&why))?;
        }
        Ok(())
    }

    async fn is_known_audience(
        &self,
        request: &Value,
        pod: &Value,
        attributes: &Attributes<'_>,
    ) -> std::result::Result<(), String> {
        let audience = match request.items_at(&["spec", "audiences"]) {
            [] => "",
            [one] => one.as_str().unwrap_or_default(),
            _ => return Err("node may only request 0 or 1 audiences".into()),
        };
        let shown = quote(audience);
        match self.names_audience(pod, audience).await {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(error) => return Err(format!("error validating audience {shown}: {error}")),
        }
        let user = &*attributes.request.user;
        // RBAC rules name the audience as the resource; `*` allows all audiences.
        let verdict = self
            .authorizer
            .authorize(&authorizer::Attributes {
                version: "v1",
                namespace: attributes.namespace(),
                name: attributes.name(),
                ..authorizer::Attributes::of_resource(
                    user,
                    "request-serviceaccounts-token-audience",
                    "",
                    audience,
                )
            })
            .await;
        let name = &user.name;
        match (verdict.is_allowed(), verdict.error) {
            (true, _) => Ok(()),
            (false, Some(error)) => Err(format!(
                "audience {shown} not found in pod spec volume, error authorizing {name} to request tokens for this \
                 audience: {error}"
            )),
            (false, None) => Err(format!(
                "audience {shown} not found in pod spec volume, {name} is not authorized to request tokens for this \
                 audience"
            )),
        }
    }

    /// Returns whether a pod's volumes, or the CSI drivers of them, ask for tokens for an audience.
    async fn names_audience(&self, pod: &Value, audience: &str) -> std::result::Result<bool, String> {
        let (mut errors, mut seen) = (Vec::new(), HashSet::new());
        for volume in pod.items_at(&["spec", "volumes"]) {
            let projected = volume.items_at(&["projected", "sources"]).iter().any(|source| {
                let token = source.get("serviceAccountToken").filter(|token| !token.is_null());
                token.is_some_and(|token| token.text_at(&["audience"]) == audience)
            });
            if projected {
                return Ok(true);
            }
            let asked = match self.driver(pod, volume).await {
                Ok(None) => Ok(false),
                Ok(Some(driver)) => self.driver_asks_for(&driver, audience).await,
                Err(error) => Err(error),
            };
            match asked {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(error) if !seen.insert(error.clone()) => {}
                Err(error) => errors.push(error),
            }
        }
        match errors.as_slice() {
            [] => Ok(false),
            [one] => Err(one.clone()),
            several => Err(format!("[{}]", several.join(", "))),
        }
    }

    /// Returns the CSI driver of a volume of a pod.
    async fn driver(&self, pod: &Value, volume: &Value) -> std::result::Result<Option<String>, String> {
        let has = |path: &[&str]| volume.at(path).is_some_and(|source| !source.is_null());
        let claim = if has(&["ephemeral", "volumeClaimTemplate"]) {
            format!("{}-{}", pod.name(), volume.text_at(&["name"]))
        } else if has(&["persistentVolumeClaim"]) {
            volume.text_at(&["persistentVolumeClaim", "claimName"]).to_owned()
        } else if has(&["csi"]) {
            return Ok(Some(volume.text_at(&["csi", "driver"]).to_owned()));
        } else {
            return Ok(successor(volume));
        };
        let claim = self.look_up(Resource::PersistentVolumeClaim, pod.namespace(), &claim).await?;
        let volume = claim.text_at(&["spec", "volumeName"]);
        let volume = self.look_up(Resource::PersistentVolume, "", volume).await?;
        let spec = or_null(volume.get("spec"));
        match spec.get("csi").filter(|source| !source.is_null()) {
            Some(source) => Ok(Some(source.text_at(&["driver"]).to_owned())),
            None => Ok(successor(spec)),
        }
    }

    async fn driver_asks_for(&self, driver: &str, audience: &str) -> std::result::Result<bool, String> {
        if driver.is_empty() {
            return Ok(false);
        }
        let driver = self.look_up(Resource::CsiDriver, "", driver).await?;
        let requests = driver.items_at(&["spec", "tokenRequests"]);
        Ok(requests.iter().any(|request| request.text_at(&["audience"]) == audience))
    }

    async fn look_up(
        &self,
        resource: Resource,
        namespace: &str,
        name: &str,
    ) -> std::result::Result<Value, String> {
        // A claim that is not bound yet names no volume.
        let found = match name {
            "" => Ok(None),
            name => self.objects.object(resource, namespace, name).await,
        };
        match found {
            Ok(Some(object)) => Ok(object),
            Ok(None) => Err(resource.not_found(name).message.clone()),
            Err(status) => Err(status.message.clone()),
        }
    }
}

/// Returns the CSI driver that an in-tree volume plugin has been migrated to.
fn successor(source: &Value) -> Option<String> {
    let has = |field: &str| source.get(field).is_some_and(|value| !value.is_null());
    DRIVERS.iter().find(|(field, _)| has(field)).map(|(_, driver)| (*driver).to_owned())
}
