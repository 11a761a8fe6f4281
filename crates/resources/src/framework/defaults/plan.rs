//! The defaults of each type's defaulting, and the walk that takes them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use pintle_meta::Value;
use pintle_meta::value::Key;
use pintle_schema::{Field, Shape, Struct, Type, TypeKind, normal};

use super::Settings;
use super::draft::{Draft, element, is_unset, would_change};

/// The defaults of some types of a group.
pub(crate) struct Rule {
    /// Such as `core/v1.PodSpec`.
    pub(crate) types: &'static [&'static str],
    /// For fields that are not set.
    pub(crate) fields: &'static [(&'static str, Fill)],
    /// Fills in values that depend on something; called after `fields` were filled in.
    pub(crate) call: Option<Call>,
}

pub(crate) type Call = fn(&mut Draft<'_>);

/// For types that are no structs: what it should be, if that is something else.
pub(crate) type Amend = fn(&Value) -> Option<Value>;

/// A value that does not depend on anything.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fill {
    Text(&'static str),
    Int(i64),
    /// A list of strings.
    Texts(&'static [&'static str]),
    /// A struct of which nothing was set.
    Zero,
}

impl Rule {
    pub(crate) const fn table(
        types: &'static [&'static str],
        fields: &'static [(&'static str, Fill)],
    ) -> Rule {
        Rule { types, fields, call: None }
    }

    pub(crate) const fn code(types: &'static [&'static str], call: Call) -> Rule {
        Rule { types, fields: &[], call: Some(call) }
    }
}

/// The rules of all groups.
const RULES: &[&[Rule]] = &[
    crate::admissionregistration::defaults::RULES,
    crate::apiextensions::defaults::RULES,
    crate::apiregistration::defaults::RULES,
    crate::apps::defaults::RULES,
    crate::authentication::defaults::RULES,
    crate::autoscaling::defaults::RULES,
    crate::batch::defaults::RULES,
    crate::certificates::defaults::RULES,
    crate::core::defaults::RULES,
    crate::discovery::defaults::RULES,
    crate::flowcontrol::defaults::RULES,
    crate::networking::defaults::RULES,
    crate::rbac::defaults::RULES,
    crate::resource::defaults::RULES,
    crate::scheduling::defaults::RULES,
    crate::storage::defaults::RULES,
];

/// Types that are no structs.
const AMENDS: &[(&str, Amend)] = &[("core/v1.ResourceList", crate::core::defaults::round_amounts)];

/// Constants that declarations name instead of writing a value.
const CONSTANTS: &[(&str, &str)] =
    &[("ref(AzureDataDiskCachingReadWrite)", "ReadWrite"), ("ref(AzureSharedBlobDisk)", "Shared")];

/// Groups for which the reference has no defaulting at all, whatever their types refer to: the overhead of a
/// RuntimeClass is not rounded as other amounts are.
const WITHOUT: &[&str] = &["node/"];

static PLANS: LazyLock<Vec<Option<Plan>>> = LazyLock::new(|| Planner::new().run());

/// Returns the plan of a type that has defaults.
pub(super) fn of(of: &Type) -> Option<&'static Plan> {
    PLANS.get(of.index)?.as_ref()
}

#[derive(Debug)]
pub(super) struct Plan {
    of: &'static Struct,
    defaults: Vec<PlannedDefault>,
}

#[derive(Clone, Debug)]
pub(super) enum PlannedDefault {
    /// A function looks at this struct.
    Call(Call),
    /// A field that is not set gets a value.
    Fill(&'static Field, Value),
    /// A struct below, by its type's place.
    Into(&'static Field, usize),
    /// A list of structs below.
    Each(&'static Field, usize),
    /// Something below that is no struct.
    Amend(&'static Field, Amend),
}

impl Plan {
    pub(super) fn would_change(&self, value: &Value, settings: &Settings) -> bool {
        let Some(object) = value.as_object() else { return false };
        self.defaults.iter().any(|default| match default {
            PlannedDefault::Call(call) => would_change(self.of, value, settings, call),
            PlannedDefault::Fill(field, _) => is_unset(field, object.get(field.name)),
            PlannedDefault::Into(field, below) => {
                object.get(field.name).is_some_and(|value| below_would_change(*below, value, settings))
            }
            PlannedDefault::Each(field, below) => {
                let items = object.get(field.name).and_then(Value::as_list).unwrap_or_default();
                items.iter().any(|item| below_would_change(*below, item, settings))
            }
            PlannedDefault::Amend(field, amend) => {
                object.get(field.name).is_some_and(|value| amend(value).is_some())
            }
        })
    }

    /// Takes for writing only what changes, so that nothing else is copied where the tree is shared.
    pub(super) fn change(&self, value: &mut Value, settings: &Settings) {
        for default in &self.defaults {
            match default {
                PlannedDefault::Call(call) => {
                    if would_change(self.of, value, settings, call) {
                        call(&mut Draft::change(self.of, value, settings));
                    }
                }
                PlannedDefault::Fill(field, fill) => {
                    if is_unset(field, value.get(field.name))
                        && let Some(object) = value.as_object_mut()
                    {
                        object.insert(Key::new_static(field.name), fill.clone());
                    }
                }
                PlannedDefault::Into(field, below) => {
                    if value.get(field.name).is_some_and(|value| below_would_change(*below, value, settings))
                        && let Some(value) = value.get_mut(field.name)
                    {
                        change_below(*below, value, settings);
                    }
                }
                PlannedDefault::Each(field, below) => {
                    let items = value.get(field.name).and_then(Value::as_list).unwrap_or_default();
                    let first = items.iter().position(|item| below_would_change(*below, item, settings));
                    if let Some(first) = first
                        && let Some(items) = value.get_mut(field.name).and_then(Value::as_list_mut)
                    {
                        change_below(*below, &mut items[first], settings);
                        for item in &mut items[first + 1..] {
                            if below_would_change(*below, item, settings) {
                                change_below(*below, item, settings);
                            }
                        }
                    }
                }
                PlannedDefault::Amend(field, amend) => {
                    if let Some(amended) = value.get(field.name).and_then(amend)
                        && let Some(value) = value.get_mut(field.name)
                    {
                        *value = amended;
                    }
                }
            }
        }
    }
}

fn below_would_change(place: usize, value: &Value, settings: &Settings) -> bool {
    PLANS[place].as_ref().is_some_and(|plan| plan.would_change(value, settings))
}

fn change_below(place: usize, value: &mut Value, settings: &Settings) {
    if let Some(plan) = &PLANS[place] {
        plan.change(value, settings);
    }
}

/// Makes the plans of all types, those that a type refers to first.
struct Planner {
    rules: BTreeMap<&'static str, &'static Rule>,
    plans: Vec<State>,
}

enum State {
    Unknown,
    /// Being made: a type that contains itself, which has no defaults of its own to bring in again.
    Begun,
    Made(Option<Plan>),
}

impl Planner {
    fn new() -> Planner {
        let all = RULES.iter().flat_map(|rules| rules.iter());
        let rules = all.flat_map(|rule| rule.types.iter().map(move |name| (*name, rule))).collect();
        Planner { rules, plans: pintle_schema::types().iter().map(|_| State::Unknown).collect() }
    }

    fn run(mut self) -> Vec<Option<Plan>> {
        for of in pintle_schema::types() {
            self.make(of);
        }
        let made = |state| if let State::Made(plan) = state { plan } else { None };
        self.plans.into_iter().map(made).collect()
    }

    /// Whether there is anything to do for a type.
    fn make(&mut self, of: &'static Type) -> bool {
        match &self.plans[of.index] {
            State::Made(plan) => return plan.is_some(),
            State::Begun => return false,
            State::Unknown => self.plans[of.index] = State::Begun,
        }
        let mut plan = None;
        if let TypeKind::Struct(structure) = &of.kind
            && !WITHOUT.iter().any(|group| of.name.starts_with(group))
        {
            let mut defaults = Vec::new();
            self.defaults(of, structure, &mut defaults);
            plan = (!defaults.is_empty()).then_some(Plan { of: structure, defaults });
        }
        let found = plan.is_some();
        self.plans[of.index] = State::Made(plan);
        found
    }

    fn defaults(
        &mut self,
        of: &'static Type,
        structure: &'static Struct,
        defaults: &mut Vec<PlannedDefault>,
    ) {
        if let Some(rule) = self.rules.get(of.name) {
            for (name, fill) in rule.fields {
                if let Some(field) = structure.field(name) {
                    defaults.push(PlannedDefault::Fill(field, fill.value(field)));
                }
            }
            defaults.extend(rule.call.map(PlannedDefault::Call));
        }
        for field in structure.fields {
            self.add_defaults_of(field, defaults);
        }
    }

    fn add_defaults_of(&mut self, field: &'static Field, defaults: &mut Vec<PlannedDefault>) {
        if let Some(value) = field.default().and_then(|text| declared(field, text)) {
            defaults.push(PlannedDefault::Fill(field, value));
        }
        if let Shape::Named(alias) = field.shape
            && let Some((_, amend)) = AMENDS.iter().find(|(name, _)| *name == alias.name)
        {
            defaults.push(PlannedDefault::Amend(field, *amend));
            return;
        }
        // Values of maps are defaulted by functions only.
        let Shape::Named(below @ Type { kind: TypeKind::Struct(structure), .. }) = element(field.shape)
        else {
            return;
        };
        if field.is_inline() {
            // Its fields stand in this very struct.
            self.defaults(below, structure, defaults);
        } else if self.make(below) {
            if is_list(field.shape) {
                defaults.push(PlannedDefault::Each(field, below.index));
            } else {
                defaults.push(PlannedDefault::Into(field, below.index));
            }
        }
    }
}

fn is_list(shape: Shape) -> bool {
    match shape.underlying() {
        Shape::Pointer(of) => is_list(*of),
        other => matches!(other, Shape::List(_)),
    }
}

impl Fill {
    fn value(self, field: &Field) -> Value {
        match self {
            Fill::Text(text) => Value::literal(text),
            Fill::Int(number) => number.into(),
            Fill::Texts(texts) => texts.iter().map(|text| Value::literal(text)).collect::<Vec<_>>().into(),
            Fill::Zero => normal::zero(element(field.shape)),
        }
    }
}

/// The value of a `+default`; `None` where a field holds it without doing anything.
fn declared(field: &Field, text: &'static str) -> Option<Value> {
    let value = match text {
        "true" => true.into(),
        "false" => false.into(),
        _ => match CONSTANTS.iter().find(|(name, _)| *name == text) {
            Some((_, value)) => Value::literal(value),
            None => match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
                Some(text) => Value::literal(text),
                None => text.parse::<i64>().ok()?.into(),
            },
        },
    };
    (!is_unset(field, Some(&value))).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_about_types_and_fields_that_exist() {
        let mut seen = std::collections::BTreeSet::new();
        for rule in RULES.iter().flat_map(|rules| rules.iter()) {
            for name in rule.types {
                assert!(seen.insert(name), "two rules for {name}");
                let of = pintle_schema::find(name).unwrap_or_else(|| panic!("no type {name}"));
                let structure = of.structure().unwrap();
                for (field, fill) in rule.fields {
                    let found = structure.field(field).unwrap_or_else(|| panic!("no {field} in {name}"));
                    assert!(!is_unset(found, Some(&fill.value(found))), "{name}.{field} stays unset");
                }
            }
        }
        for (name, _) in AMENDS {
            assert!(pintle_schema::find(name).is_some(), "no type {name}");
        }
    }

    #[test]
    fn every_declared_default_is_understood() {
        for of in pintle_schema::types() {
            let TypeKind::Struct(structure) = &of.kind else { continue };
            for field in structure.fields {
                let Some(text) = field.default() else { continue };
                let zero =
                    ["0", "\"\""].contains(&text) && !matches!(field.shape.underlying(), Shape::Pointer(_));
                assert_eq!(declared(field, text).is_some(), !zero, "{} {} {text}", of.name, field.name);
            }
        }
    }
}
