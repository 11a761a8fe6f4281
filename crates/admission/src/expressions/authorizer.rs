//! Authorization checks of expressions.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pintle_auth::authorizer::Selector;
use pintle_auth::{Attributes, Authorizer, User, service_account};
use pintle_cel::{Check, Checked, Decision, ResourceCheck};
use pintle_meta::selector::{field, label};

/// The checks that expressions of one request ask for, and the decisions that are known.
pub(crate) struct Checks {
    user: Arc<User>,
    authorizer: Arc<dyn Authorizer>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    decided: HashMap<String, Decision>,
    pending: Vec<Check>,
}

impl fmt::Debug for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checks").field("user", &self.user).finish_non_exhaustive()
    }
}

/// Returns a text that is the same for equal checks.
fn key(check: &Check) -> String {
    format!("{check:?}")
}

impl Checks {
    pub(crate) fn new(user: Arc<User>, authorizer: Arc<dyn Authorizer>) -> Checks {
        Checks { user, authorizer, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides the checks that were asked for in vain. Reports whether there were any.
    pub(crate) async fn decide_pending(&self) -> bool {
        let pending = std::mem::take(&mut self.state().pending);
        for check in &pending {
            let decision = self.decide(check).await;
            self.state().decided.insert(key(check), decision);
        }
        !pending.is_empty()
    }

    async fn decide(&self, check: &Check) -> Decision {
        let account = check.service_account.as_ref().map(|(namespace, name)| User {
            name: service_account::username(namespace, name),
            groups: service_account::groups(namespace),
            ..User::default()
        });
        let user = account.as_ref().unwrap_or(&self.user);
        match &check.what {
            Checked::Path(path) => self.authorize(&Attributes { path, ..of(user, &check.verb) }).await,
            Checked::Resource(resource) => self.decide_resource(user, &check.verb, resource).await,
        }
    }

    async fn decide_resource(&self, user: &User, verb: &str, resource: &ResourceCheck) -> Decision {
        let fields = parsed(&resource.field_selector, |text| {
            field::Selector::parse(text).map(|selector| selector.requirements().to_vec())
        });
        let labels = parsed(&resource.label_selector, |text| {
            label::Selector::parse(text)
                .map(|selector| selector.requirements().map(<[_]>::to_vec).unwrap_or_default())
        });
        let attributes = Attributes {
            is_resource: true,
            group: &resource.group,
            version: "*",
            resource: &resource.resource,
            subresource: &resource.subresource,
            namespace: &resource.namespace,
            name: &resource.name,
            field_selector: given(&fields),
            label_selector: given(&labels),
            ..of(user, verb)
        };
        self.authorize(&attributes).await
    }

    async fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        let verdict = self.authorizer.authorize(attributes).await;
        Decision { allowed: verdict.is_allowed(), reason: verdict.reason.to_string(), error: verdict.error }
    }
}

fn of<'a>(user: &'a User, verb: &'a str) -> Attributes<'a> {
    Attributes {
        user,
        verb,
        is_resource: false,
        path: "",
        group: "",
        version: "",
        resource: "",
        subresource: "",
        namespace: "",
        name: "",
        field_selector: Selector::Absent,
        label_selector: Selector::Absent,
    }
}

type Parsed<R> = Option<Result<Vec<R>, String>>;

fn parsed<R>(text: &str, parse: impl FnOnce(&str) -> Result<Vec<R>, String>) -> Parsed<R> {
    (!text.is_empty()).then(|| parse(text))
}

fn given<R>(parsed: &Parsed<R>) -> Selector<'_, R> {
    match parsed {
        None => Selector::Absent,
        Some(Ok(requirements)) => Selector::Requirements(requirements),
        Some(Err(error)) => Selector::Invalid { understood: &[], error },
    }
}

impl pintle_cel::Authorizer for Checks {
    fn check(&self, check: &Check) -> Decision {
        let mut state = self.state();
        match state.decided.get(&key(check)) {
            Some(decision) => decision.clone(),
            None => {
                if !state.pending.contains(check) {
                    state.pending.push(check.clone());
                }
                Decision::default()
            }
        }
    }
}
