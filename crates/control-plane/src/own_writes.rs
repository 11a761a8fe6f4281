//! Admission of the server's own writes, in its own name.

use std::sync::Arc;

use pintle_admission::{Chain, ObjectConversion, Request, RequestAdmission, ServedVersions, Target};
use pintle_auth::User;
use pintle_meta::Object;
use pintle_meta::gvk::GroupVersionResource;
use pintle_registry::{AdmissionFactory, Served};

/// Returns the admission of writes of a resource or subresource, which is empty for the resource itself. `chain` is called for each
/// write, so it may be made later.
pub(crate) fn admission(
    chain: impl Fn() -> Chain + Send + Sync + 'static,
    served: Arc<dyn Served>,
    resource: GroupVersionResource,
    subresource: &str,
) -> AdmissionFactory {
    let target = Target {
        kind: served.kind().clone(),
        resource: resource.clone(),
        subresource: subresource.into(),
        ..Target::default()
    };
    let (target, user) = (Arc::new(target), Arc::new(User::api_server()));
    let conversion: Arc<dyn ObjectConversion> = Arc::new(ServedVersions::new([(resource, served)]));
    Arc::new(move |namespace: &str, name: &str| {
        let request = Request {
            target: target.clone(),
            namespace: namespace.into(),
            name: name.into(),
            user: user.clone(),
            conversion: Some(conversion.clone()),
            options: Some(Object::new()),
            ..Request::default()
        };
        Box::new(RequestAdmission::new(chain(), request)) as _
    })
}
