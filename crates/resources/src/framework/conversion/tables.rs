//! The groups' rules, and what follows from them and the graph: each kind's hub, which types have the same shape, and
//! where in a type something is to be fixed.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use pintle_meta::Value;
use pintle_meta::gvk::compare_versions;
use pintle_schema::{Field, Opaque, Resources, Shape, Type, find, types};

use super::{Error, Fields};
use crate::{admissionregistration, events, flowcontrol, networking, node, policy, rbac, resource};
use crate::{
    apiextensions, apiregistration, apps, authentication, authorization, autoscaling, core, discovery,
};

/// Two structs of which one stands for the other, and what there is about them besides fields of the same name.
pub(crate) struct Pair {
    pub(crate) version: &'static str,
    pub(crate) hub: &'static str,
    /// Fields that have another name in the hub, which comes second.
    pub(crate) renamed: &'static [(&'static str, &'static str)],
    pub(crate) inward: Hook,
    pub(crate) outward: Hook,
}

/// Sees what was given, and completes what the fields of the same name have made of it.
pub(crate) type Hook = fn(&Value, &mut Fields) -> Result<(), Error>;

/// A type that the internal type cannot hold, or holds otherwise.
pub(crate) struct Fix {
    pub(crate) of: &'static str,
    /// Fields that may be absent, but not in the internal type, whence they come back as zero. Defaults fill them first.
    pub(crate) filled: &'static [&'static str],
    pub(crate) change: Change,
}

/// The struct as it comes back; nothing if it comes back as it is.
pub(crate) type Change = fn(&Value) -> Result<Option<Value>, Error>;

impl Pair {
    /// `version` and `hub` are names of types; fields of the same name go over.
    pub(crate) const fn new(version: &'static str, hub: &'static str) -> Pair {
        Pair { version, hub, renamed: &[], inward: |_, _| Ok(()), outward: |_, _| Ok(()) }
    }

    pub(crate) const fn renamed(self, renamed: &'static [(&'static str, &'static str)]) -> Pair {
        Pair { renamed, ..self }
    }

    pub(crate) const fn inward(self, inward: Hook) -> Pair {
        Pair { inward, ..self }
    }

    pub(crate) const fn outward(self, outward: Hook) -> Pair {
        Pair { outward, ..self }
    }

    /// Where the source has what the target calls `name`.
    pub(super) fn name_in_source(&self, direction: Direction, name: &'static str) -> &'static str {
        let mut renamed = self.renamed.iter();
        let found = match direction {
            Direction::Inward => renamed.find(|(_, hub)| *hub == name).map(|(version, _)| version),
            Direction::Outward => renamed.find(|(version, _)| *version == name).map(|(_, hub)| hub),
        };
        found.copied().unwrap_or(name)
    }
}

impl Fix {
    pub(crate) const fn new(of: &'static str) -> Fix {
        Fix { of, filled: &[], change: |_| Ok(None) }
    }

    pub(crate) const fn filled(self, filled: &'static [&'static str]) -> Fix {
        Fix { filled, ..self }
    }

    pub(crate) const fn change(self, change: Change) -> Fix {
        Fix { change, ..self }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// To the hub.
    Inward,
    Outward,
}

/// Every group's pairs.
pub(super) const PAIRS: &[&[Pair]] = &[
    apiextensions::conversion::PAIRS,
    apps::conversion::PAIRS,
    authorization::conversion::PAIRS,
    autoscaling::conversion::PAIRS,
    discovery::conversion::PAIRS,
    events::conversion::PAIRS,
    flowcontrol::conversion::PAIRS,
    networking::conversion::PAIRS,
    node::conversion::PAIRS,
    policy::conversion::PAIRS,
    rbac::conversion::PAIRS,
    resource::conversion::PAIRS,
];

/// Every group's fixes.
pub(super) const FIXES: &[&[Fix]] = &[
    admissionregistration::conversion::FIXES,
    apiextensions::conversion::FIXES,
    apiregistration::conversion::FIXES,
    apps::conversion::FIXES,
    authentication::conversion::FIXES,
    autoscaling::conversion::FIXES,
    core::conversion::FIXES,
    flowcontrol::conversion::FIXES,
    policy::conversion::FIXES,
];

pub(super) struct Tables {
    /// By the place of the type, and whether the type has the hub's shape.
    hubs: Vec<(&'static Type, bool)>,
    pairs: HashMap<(usize, usize), (&'static Pair, Direction)>,
    /// Pairs of types whose trees need no change at all, the smaller place first.
    same: HashSet<(usize, usize)>,
    fixes: Vec<Option<&'static Fix>>,
    fields_to_fix: Vec<Box<[&'static Field]>>,
}

/// Made of nothing but the program's own tables, when first needed.
pub(super) fn tables() -> &'static Tables {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    TABLES.get_or_init(Tables::new)
}

impl Tables {
    fn new() -> Tables {
        let hubs = hubs();
        let mut pairs = HashMap::new();
        for pair in PAIRS.iter().copied().flatten() {
            if let (Some(version), Some(hub)) = (find(pair.version), find(pair.hub)) {
                pairs.insert((version.index, hub.index), (pair, Direction::Inward));
                pairs.insert((hub.index, version.index), (pair, Direction::Outward));
            }
        }
        let mut fixes = vec![None; types().len()];
        for fix in FIXES.iter().copied().flatten() {
            if let Some(of) = find(fix.of) {
                fixes[of.index] = Some(fix);
            }
        }
        let roots = types().iter().map(|of| (*of, hubs[of.index])).filter(|(of, hub)| of != hub);
        let roots = roots.chain(pairs.keys().map(|(from, to)| (types()[*from], types()[*to])));
        let same = same(roots, &pairs);
        let of_hub = |of: &&'static Type| {
            (hubs[of.index], *of == hubs[of.index] || same.contains(&key(of, hubs[of.index])))
        };
        let hubs = types().iter().map(of_hub).collect();
        let fields_to_fix = fields_to_fix(&fixes);
        Tables { hubs, pairs, same, fixes, fields_to_fix }
    }

    pub(super) fn hub(&self, of: &'static Type) -> &'static Type {
        self.hubs[of.index].0
    }

    pub(super) fn pair(&self, from: &Type, to: &Type) -> Option<(&'static Pair, Direction)> {
        self.pairs.get(&(from.index, to.index)).copied()
    }

    /// Whether a type and its hub need no change at all.
    pub(super) fn is_same_as_hub(&self, of: &Type) -> bool {
        self.hubs[of.index].1
    }

    pub(super) fn is_same(&self, a: &Type, b: &Type) -> bool {
        a == b || self.same.contains(&key(a, b))
    }

    pub(super) fn fix(&self, of: &Type) -> Option<&'static Fix> {
        self.fixes[of.index]
    }

    /// The fields below which there is something to fix.
    pub(super) fn fields_to_fix(&self, of: &Type) -> &[&'static Field] {
        &self.fields_to_fix[of.index]
    }
}

fn key(a: &Type, b: &Type) -> (usize, usize) {
    (a.index.min(b.index), a.index.max(b.index))
}

fn folder(of: &'static Type) -> &'static str {
    of.name.split('/').next().unwrap_or_default()
}

/// The stored kind of each kind, or else its newest version, by folder and name.
type Preferred = HashMap<(&'static str, &'static str), &'static Type>;

fn hubs() -> Vec<&'static Type> {
    let mut preferred = Preferred::new();
    for of in types().iter().copied().filter(|of| is_root(of)) {
        let known = preferred.entry((folder(of), of.kind_name())).or_insert(of);
        if compare_versions(of.version(), known.version()).is_gt() {
            *known = of;
        }
    }
    // The facts are part of the program, and a test reads them.
    for version in Resources::builtin().iter().flat_map(Resources::versions) {
        for resource in &version.resources {
            if let Some(storage) = resource.storage {
                preferred.insert((folder(resource.kind), resource.kind.kind_name()), storage.kind);
            }
        }
    }
    types().iter().map(|of| hub(of, &preferred)).collect()
}

/// Whether it may stand on its own.
fn is_root(of: &'static Type) -> bool {
    let first = of.structure().and_then(|of| of.flat.first());
    first.is_some_and(|field| field.name == "kind") && folder(of) != "meta"
}

/// Where kinds of groups that are no more have gone.
fn folders(of: &'static Type) -> &'static [&'static str] {
    match (folder(of), of.kind_name()) {
        ("apps" | "extensions", "Scale") => &["autoscaling"],
        ("extensions", _) => &["apps", "networking"],
        _ => &[],
    }
}

fn hub(of: &'static Type, preferred: &Preferred) -> &'static Type {
    if !is_root(of) {
        return of;
    }
    if let Some(item) = of.name.strip_suffix("List").and_then(find) {
        return find(&format!("{}List", hub(item, preferred).name)).unwrap_or(of);
    }
    let own = folder(of);
    let mut folders = folders(of).iter().chain([&own]);
    folders.find_map(|folder| preferred.get(&(*folder, of.kind_name())).copied()).unwrap_or(of)
}

/// Goes down from the roots through all pairs of structs that stand for each other, and back up from those that differ.
fn same(
    roots: impl Iterator<Item = (&'static Type, &'static Type)>,
    pairs: &HashMap<(usize, usize), (&'static Pair, Direction)>,
) -> HashSet<(usize, usize)> {
    let mut above: HashMap<(usize, usize), Vec<(usize, usize)>> = HashMap::new();
    let mut different: Vec<(usize, usize)> = Vec::new();
    let mut seen: HashSet<(usize, usize)> = HashSet::new();
    let mut open: Vec<(&'static Type, &'static Type)> = roots.collect();
    while let Some((a, b)) = open.pop() {
        let this = key(a, b);
        if a == b || !seen.insert(this) {
            continue;
        }
        let (Some(left), Some(right)) = (a.structure(), b.structure()) else { continue };
        let mut equal = !pairs.contains_key(&this) && left.layout == right.layout;
        for left in left.flat {
            let Some(right) = right.field(left.name) else { continue };
            equal &= (left.omit_empty, left.omit_zero) == (right.omit_empty, right.omit_zero);
            match compare(left.shape, right.shape) {
                Compared::Equal => {}
                Compared::Different => equal = false,
                Compared::Structs(a, b) => {
                    above.entry(key(a, b)).or_default().push(this);
                    open.push((a, b));
                }
            }
        }
        if !equal {
            different.push(this);
        }
    }
    while let Some(found) = different.pop() {
        if seen.remove(&found) {
            different.extend(above.get(&found).into_iter().flatten());
        }
    }
    seen
}

enum Compared {
    Equal,
    Different,
    /// As equal as these are.
    Structs(&'static Type, &'static Type),
}

fn compare(left: Shape, right: Shape) -> Compared {
    match (left.underlying(), right.underlying()) {
        (Shape::Pointer(left), Shape::Pointer(right))
        | (Shape::List(left), Shape::List(right))
        | (Shape::Map(_, left), Shape::Map(_, right)) => compare(*left, *right),
        (Shape::Named(a), Shape::Named(b)) if a == b => Compared::Equal,
        (Shape::Named(a), Shape::Named(b)) => match (left.opaque(), right.opaque()) {
            (Some(left), Some(right)) if left == right => Compared::Equal,
            (None, None) => Compared::Structs(a, b),
            _ => Compared::Different,
        },
        (left, right) if left == right => Compared::Equal,
        _ => Compared::Different,
    }
}

/// For each type its fields that lead to a fix.
fn fields_to_fix(fixes: &[Option<&'static Fix>]) -> Vec<Box<[&'static Field]>> {
    let mut leads: Vec<bool> = fixes.iter().map(Option::is_some).collect();
    loop {
        let mut grown = false;
        for of in types() {
            let below = || of.structure().into_iter().flat_map(|of| of.flat);
            if !leads[of.index] && below().any(|field| leads_to(field.shape, &leads)) {
                leads[of.index] = true;
                grown = true;
            }
        }
        if !grown {
            break;
        }
    }
    let fields = |of: &'static Type| {
        let all = of.structure().into_iter().flat_map(|of| of.flat.iter().copied());
        all.filter(|field| leads_to(field.shape, &leads)).collect()
    };
    types().iter().map(|of| fields(of)).collect()
}

fn leads_to(shape: Shape, leads: &[bool]) -> bool {
    match shape.underlying() {
        Shape::Pointer(of) | Shape::List(of) | Shape::Map(_, of) => leads_to(*of, leads),
        Shape::Named(of) => match Shape::Named(of).opaque() {
            Some(
                Opaque::JSONSchemaPropsOrArray
                | Opaque::JSONSchemaPropsOrBool
                | Opaque::JSONSchemaPropsOrStringArray,
            ) => leads[schema_of(of).index],
            Some(_) => false,
            None => leads[of.index],
        },
        Shape::Scalar(_) | Shape::Bytes => false,
    }
}

/// The schemas that a `JSONSchemaPropsOr...` may hold.
pub(super) fn schema_of(opaque: &'static Type) -> &'static Type {
    let package = opaque.name.rsplit_once('.').map_or("", |(package, _)| package);
    find(&format!("{package}.JSONSchemaProps")).unwrap_or(opaque)
}
