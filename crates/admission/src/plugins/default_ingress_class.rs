//! `DefaultIngressClass`: gives new Ingresses that name no class the default one.

use async_trait::async_trait;

use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::chain::Cluster;
use crate::default_class::DefaultClass;
use crate::objects::Resource;
use crate::plugin::Plugin;

const IS_DEFAULT: &[&str] = &["ingressclass.kubernetes.io/is-default-class"];

/// The annotation that controllers read before there was `spec.ingressClassName`.
const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";

pub(crate) struct DefaultIngressClass {
    default: DefaultClass,
}

impl DefaultIngressClass {
    pub(crate) fn new(cluster: &Cluster) -> DefaultIngressClass {
        DefaultIngressClass {
            default: DefaultClass::new(cluster.stores.get(Resource::IngressClass), IS_DEFAULT),
        }
    }
}

#[async_trait]
impl Plugin for DefaultIngressClass {
    fn name(&self) -> &'static str {
        "DefaultIngressClass"
    }

    fn admits(&self, operation: Operation, target: &Target) -> bool {
        operation == Operation::Create
            && target.subresource.is_empty()
            && target.resource.group == "networking.k8s.io"
            && target.resource.resource == "ingresses"
    }

    async fn admit(&self, attributes: &mut Attributes<'_>) -> Result<()> {
        let Some(ingress) = attributes.object() else { return Ok(()) };
        let is_named = ingress.at(&["spec", "ingressClassName"]).is_some();
        if is_named || ingress.annotation(CLASS_ANNOTATION).is_some() {
            return Ok(());
        }
        let Some(class) = self.default.name().await? else { return Ok(()) };
        let spec = attributes.object_mut().and_then(|ingress| ingress.get_mut("spec")?.as_object_mut());
        if let Some(spec) = spec {
            spec.insert("ingressClassName", class);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use pintle_meta::Value;

    use super::*;
    use crate::testing::{TestCluster, create, target};

    async fn class_given(plugin: &DefaultIngressClass, ingress: &str) -> Option<String> {
        let outcome = create("ingresses.networking.k8s.io").json(ingress).run(plugin).await;
        let ingress = outcome.normal("networking/v1.Ingress");
        ingress.at(&["spec", "ingressClassName"]).and_then(Value::as_str).map(str::to_owned)
    }

    #[tokio::test]
    async fn ingresses_without_a_class_get_the_default() {
        let cluster = TestCluster::new().await;
        let plugin = DefaultIngressClass::new(&cluster.cluster);
        assert_eq!(class_given(&plugin, "{}").await, None, "there is no default yet");
        for (name, is_default) in [("a", "false"), ("b", "true"), ("c", "yes")] {
            let annotation = format!(r#"{{"ingressclass.kubernetes.io/is-default-class":"{is_default}"}}"#);
            let class = format!(r#"{{"metadata":{{"name":"{name}","annotations":{annotation}}}}}"#);
            cluster.put(Resource::IngressClass, &class).await;
        }
        // The cache is as new as the store after a list.
        cluster.cluster.objects.list(Resource::IngressClass, "").await.unwrap();
        for (ingress, expected) in [
            ("{}", Some("b")),
            (r#"{"spec":{"defaultBackend":{"service":{"name":"s"}}}}"#, Some("b")),
            (r#"{"spec":{"ingressClassName":"c"}}"#, Some("c")),
            (r#"{"spec":{"ingressClassName":""}}"#, Some("")),
            (r#"{"metadata":{"annotations":{"kubernetes.io/ingress.class":""}}}"#, None),
            (r#"{"metadata":{"annotations":{"kubernetes.io/ingress.class":"c"}}}"#, None),
        ] {
            assert_eq!(class_given(&plugin, ingress).await.as_deref(), expected, "{ingress}");
        }
    }

    #[tokio::test]
    async fn only_new_ingresses_are_handled() {
        let plugin = DefaultIngressClass::new(&TestCluster::new().await.cluster);
        assert!(plugin.admits(Operation::Create, &target("ingresses.networking.k8s.io")));
        assert!(!plugin.admits(Operation::Update, &target("ingresses.networking.k8s.io")));
        for resource in
            ["ingresses.extensions", "ingresses.networking.k8s.io/status", "ingressclasses.networking.k8s.io"]
        {
            assert!(!plugin.admits(Operation::Create, &target(resource)), "{resource}");
        }
    }
}
