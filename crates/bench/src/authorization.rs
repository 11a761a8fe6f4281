//! Cost of an authorization decision, among few and among many bindings.

use pintle_auth::authorizer::rbac::{Policy, bootstrap};
use pintle_auth::{Attributes, User};
use pintle_codec::json;
use pintle_meta::Value;

use crate::codec::micros;
use crate::figures::show;

pub(crate) fn measure() -> anyhow::Result<()> {
    for bindings in [100, 10_000] {
        let policy = policy(bindings)?;
        let groups = ["devs", "ops", "system:authenticated"].map(str::to_owned).to_vec();
        let user = |name: &str| User { name: name.into(), groups: groups.clone(), ..User::default() };
        let (alice, somebody) = (user("alice"), user("nobody-else"));
        let ask = |user: &User, verb: &str, namespace: &str| {
            let attributes = Attributes {
                namespace,
                name: "web-0",
                version: "v1",
                ..Attributes::of_resource(user, verb, "", "pods")
            };
            policy.authorize(&attributes).is_allowed()
        };
        anyhow::ensure!(ask(&alice, "get", "team-7") && !ask(&somebody, "delete", "team-7"));
        let allowed = micros(&mut || {
            std::hint::black_box(ask(&alice, "get", "team-7"));
        });
        let refused = micros(&mut || {
            std::hint::black_box(ask(&somebody, "delete", "team-7"));
        });
        show(&format!("authorization among {bindings} role bindings, allowed"), allowed, "us");
        show(&format!("authorization among {bindings} role bindings, refused"), refused, "us");
    }
    Ok(())
}

fn object(text: &str) -> anyhow::Result<Value> {
    Ok(json::decode_untyped(text.as_bytes())?.value)
}

/// The roles of every cluster, and bindings of which half are alice's, each in a namespace of its own, and half another
/// user's in one namespace.
fn policy(bindings: usize) -> anyhow::Result<Policy> {
    let mut policy = Policy::default();
    for expected in bootstrap::objects(pintle_features::Features::none()) {
        let value = object(&expected.json)?;
        if expected.is_binding {
            policy.set_binding(expected.namespace, &expected.name, Some(&value));
        } else {
            policy.set_role(expected.namespace, &expected.name, Some(&value));
        }
    }
    let binding = |user: &str| {
        object(&format!(
            r#"{{"roleRef":{{"kind":"ClusterRole","name":"system:aggregate-to-view"}},
                "subjects":[{{"kind":"User","name":"{user}"}}]}}"#
        ))
    };
    for place in 0..bindings / 2 {
        policy.set_binding(&format!("team-{place}"), "alice", Some(&binding("alice")?));
        policy.set_binding("team-7", &format!("b-{place}"), Some(&binding(&format!("user-{place}"))?));
    }
    Ok(policy)
}
