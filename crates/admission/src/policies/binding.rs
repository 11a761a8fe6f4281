//! Bindings of policies.

use pintle_meta::Value;

use super::params::ParamRef;
use super::source::selectors_present;
use crate::Result;
use crate::matching::Predicate;

/// A stored binding.
pub(crate) struct Binding {
    pub(crate) name: String,
    pub(crate) policy: String,
    /// `matchResources`, or what is wrong with them; without them, every request of the policy matches.
    pub(crate) predicate: Option<Result<Predicate, String>>,
    pub(crate) param_ref: Option<ParamRef>,
    /// `Deny`, `Warn`, `Audit`; only bindings of validating policies have them.
    pub(crate) actions: Vec<String>,
}

impl Binding {
    pub(super) fn read(binding: &Value) -> Binding {
        let given = |field: &str| binding.at(&["spec", field]).filter(|value| !value.is_null());
        let actions = binding.items_at(&["spec", "validationActions"]).iter().filter_map(Value::as_str);
        Binding {
            name: binding.name().to_owned(),
            policy: binding.text_at(&["spec", "policyName"]).to_owned(),
            predicate: given("matchResources").map(|constraints| {
                selectors_present(constraints).map(|()| Predicate::of_match_resources(constraints))
            }),
            param_ref: given("paramRef").map(ParamRef::read),
            actions: actions.map(str::to_owned).collect(),
        }
    }
}
