//! Tokens that were asked for: until when they are good, and what must still be there.

use std::time::{Duration, SystemTime};

use pintle_meta::Value;
use pintle_meta::time::Time;
use pintle_meta::value::Node;

use super::tokens::{Public, refused};
use super::{Bearer, Kind, Objects, Ref, Use};
use crate::authenticator::{Error, Notes};
use crate::jwt;

/// Clocks differ, and what is deleted may still be saying goodbye.
const LEEWAY: Duration = Duration::from_secs(60);
const INVALIDATED: &str = "service account token has been invalidated";

/// The private claims of a bound token, under `kubernetes.io`.
#[derive(Debug, Default)]
pub(super) struct Private {
    namespace: String,
    account: Ref,
    pod: Option<Ref>,
    secret: Option<Ref>,
    node: Option<Ref>,
    warn_after: Option<i64>,
}

impl Private {
    pub(super) fn read(claims: &jwt::Claims) -> Result<Private, ()> {
        let Some(own) = present(claims.value().get("kubernetes.io")) else { return Ok(Private::default()) };
        own.as_object().ok_or(())?;
        Ok(Private {
            namespace: text(own.get("namespace"))?,
            account: reference(own.get("serviceaccount"))?.unwrap_or_default(),
            pod: reference(own.get("pod"))?,
            secret: reference(own.get("secret"))?,
            node: reference(own.get("node"))?,
            warn_after: own.get("warnafter").map_or(Ok(None), jwt::date)?,
        })
    }
}

fn present(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null())
}

fn text(value: Option<&Value>) -> Result<String, ()> {
    match present(value).map(Value::node) {
        None => Ok(String::new()),
        Some(Node::String(text)) => Ok(text.to_owned()),
        Some(_) => Err(()),
    }
}

fn reference(value: Option<&Value>) -> Result<Option<Ref>, ()> {
    let Some(value) = present(value) else { return Ok(None) };
    value.as_object().ok_or(())?;
    Ok(Some(Ref { name: text(value.get("name"))?, uid: text(value.get("uid"))? }))
}

/// Validates a token with a verified signature and issuer.
pub(super) async fn validate(
    objects: &dyn Objects,
    public: &Public,
    private: Private,
    now: SystemTime,
    notes: &mut Notes,
) -> Result<Bearer, Error> {
    let now = Now(now.into());
    now.check_times(public)?;
    let Private { namespace, account, pod, secret, node, warn_after } = private;

    let live = objects.get(Kind::ServiceAccount, &namespace, &account.name).await.map_err(refused)?;
    if live.uid() != account.uid {
        let (is, claim) = (live.uid(), &account.uid);
        return Err(refused(format!("service account UID ({is}) does not match claim ({claim})")));
    }
    if now.is_gone(&live) {
        return Err(refused(format!("service account {namespace}/{} has been deleted", account.name)));
    }
    if let Some(secret) = &secret {
        now.check_bound(objects, Kind::Secret, &namespace, secret, "secret").await?;
    }
    if let Some(pod) = &pod {
        now.check_bound(objects, Kind::Pod, &namespace, pod, "pod").await?;
    }
    // The node of a pod is only told: the pod itself answers for the token.
    if let (Some(node), None) = (&node, &pod) {
        now.check_bound(objects, Kind::Node, "", node, "node").await?;
    }
    if let Some(warn_after) = warn_after.filter(|seconds| *seconds != 0) {
        let late = now.0.unix_seconds().saturating_sub(warn_after);
        if now.0.nanos_since(&Time::from_unix(warn_after, 0)) > 0 {
            let subject = &public.subject;
            let text = format!("subject: {subject}, seconds after warning threshold: {late}");
            notes.annotations.push(("authentication.k8s.io/stale-token".into(), text));
            objects.count(Use::Stale);
        } else {
            objects.count(Use::Valid);
        }
    }
    Ok(Bearer { namespace, name: account.name, uid: account.uid, pod, node, token_id: public.id.clone() })
}

struct Now(Time);

impl Now {
    /// Where the clock is, seen from a time in a token: how long after it. Saturates.
    fn since(&self, seconds: i64) -> i64 {
        self.0.nanos_since(&Time::from_unix(seconds, 0))
    }

    fn check_times(&self, public: &Public) -> Result<(), Error> {
        let leeway = LEEWAY.as_nanos() as i64;
        let too_early = |time: Option<i64>| time.is_some_and(|time| self.since(time) < -leeway);
        if too_early(public.not_before) {
            return Err(refused("service account token is not valid yet"));
        }
        if public.expiry.is_some_and(|time| self.since(time) > leeway) {
            return Err(refused("service account token has expired"));
        }
        if too_early(public.issued_at) {
            return Err(refused("service account token is issued in the future"));
        }
        Ok(())
    }

    /// Whether an object has been on its way out for so long that nothing of it counts any more.
    fn is_gone(&self, object: &Value) -> bool {
        let deleted = object.deletion_timestamp().and_then(|time| Time::parse(time).ok());
        deleted.is_some_and(|time| self.0.nanos_since(&time) > LEEWAY.as_nanos() as i64)
    }

    async fn check_bound(
        &self,
        objects: &dyn Objects,
        kind: Kind,
        namespace: &str,
        wanted: &Ref,
        called: &str,
    ) -> Result<(), Error> {
        let live = objects.get(kind, namespace, &wanted.name).await.map_err(|error| {
            tracing::debug!(error, namespace, name = wanted.name, "what a token is bound to is not there");
            refused(INVALIDATED)
        })?;
        if live.uid() != wanted.uid {
            let (is, claim) = (live.uid(), &wanted.uid);
            return Err(refused(format!(
                "{called} UID ({is}) does not match service account {called} ref claim ({claim})"
            )));
        }
        if self.is_gone(&live) { Err(refused(INVALIDATED)) } else { Ok(()) }
    }
}
