//! The filter without constraints (`ConstrainedImpersonation=false`): asks whether the user may impersonate the named one,
//! part by part in the order in which the headers are read.
//!
//! It is not [`super::mode::LEGACY`], which is how the newer filter does the same: this one asks in another order and about
//! names without a version, takes an authorizer's failure for a no although it allows, does not report the failure, and has
//! no metrics of its own.

use pintle_auth::{Attributes, Authorizer, User, service_account};
use pintle_meta::Status;

use super::super::authorization::forbidden;
use super::{AUTHENTICATION, with_authenticated_group};

pub(super) async fn check(
    authorizer: &dyn Authorizer,
    wanted: &User,
    by: &User,
) -> Result<User, Box<Status>> {
    let of = |(group, version), resource, name| Attributes {
        version,
        name,
        ..Attributes::of_resource(by, "impersonate", group, resource)
    };
    let ask = async |about: Attributes<'_>| {
        let verdict = authorizer.authorize(&about).await;
        if verdict.is_allowed() && verdict.error.is_none() {
            Ok(())
        } else {
            Err(Box::new(forbidden(&about, &verdict.reason)))
        }
    };
    let core = ("", "");
    let mut actual = wanted.clone();
    match service_account::split_username(&wanted.name) {
        Some((namespace, name)) => {
            if wanted.groups.is_empty() {
                actual.groups = service_account::groups(namespace);
            }
            ask(Attributes { namespace, ..of(core, "serviceaccounts", name) }).await?;
        }
        None => ask(of(core, "users", &wanted.name)).await?,
    }
    for group in &wanted.groups {
        ask(of(core, "groups", group)).await?;
    }
    for (key, values) in &wanted.extra {
        for value in values {
            ask(Attributes { subresource: key, ..of(AUTHENTICATION, "userextras", value) }).await?;
        }
    }
    if !wanted.uid.is_empty() {
        ask(of(AUTHENTICATION, "uids", &wanted.uid)).await?;
    }
    Ok(with_authenticated_group(actual))
}
