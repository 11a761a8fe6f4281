//! The configuration in effect: all levels with their seats, and the flow schemas that lead to them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::borrowing;
use crate::level::{Level, Seats};
use crate::matching::Matcher;
use crate::metrics::Metrics;
use crate::spec::{CATCH_ALL, EXEMPT};
use crate::{LevelSpec, Response, SchemaSpec};

/// The most seats of one request, as a part of its level's.
const MOST_PART: f64 = 0.15;

pub(crate) struct Configuration {
    pub(crate) matcher: Matcher,
    /// By name. A level whose object is gone stays while it has requests, with the spec that it had.
    levels: BTreeMap<String, (LevelSpec, Arc<Level>)>,
    /// The sum of the levels' nominal seats.
    pub(crate) nominal: usize,
    /// How many requests may wait in all queues.
    pub(crate) waiting: usize,
}

/// The specs that a configuration is made of.
pub(crate) struct Ingredients<'a> {
    pub(crate) levels: &'a [LevelSpec],
    pub(crate) schemas: &'a [SchemaSpec],
    /// The seats of the server.
    pub(crate) seats: usize,
    pub(crate) metrics: &'a Metrics,
    pub(crate) now: u64,
}

impl Configuration {
    /// Returns the levels and flow schemas that are there without objects.
    pub(crate) fn mandatory(seats: usize, metrics: &Metrics, now: u64) -> Configuration {
        let nothing = Configuration {
            matcher: Matcher::new(Vec::new(), metrics),
            levels: BTreeMap::new(),
            nominal: 0,
            waiting: 0,
        };
        nothing.next(&Ingredients { levels: &[], schemas: &[], seats, metrics, now }).0
    }

    /// Returns the configuration that follows this one, and the names of levels that are gone.
    pub(crate) fn next(&self, of: &Ingredients<'_>) -> (Configuration, Vec<String>) {
        let (mut levels, mut gone) = (BTreeMap::new(), Vec::new());
        let add = |levels: &mut BTreeMap<_, _>, spec: &LevelSpec, is_quiescing: bool| {
            let known = self.levels.get(&spec.name).map(|(_, level)| level.clone());
            let level = known.unwrap_or_else(|| Arc::new(Level::new(spec, of.metrics, of.now)));
            level.set_quiescing(is_quiescing);
            levels.insert(spec.name.clone(), (spec.clone(), level));
        };
        of.levels.iter().for_each(|spec| add(&mut levels, spec, false));
        let wanted: BTreeSet<String> = levels.keys().cloned().collect();
        for (name, (spec, level)) in &self.levels {
            let is_mandatory = matches!(name.as_str(), EXEMPT | CATCH_ALL);
            if wanted.contains(name) {
                continue;
            }
            match is_mandatory || !level.is_idle() {
                true => add(&mut levels, spec, !is_mandatory),
                false => gone.push(name.clone()),
            }
        }
        for spec in [LevelSpec::mandatory_exempt(), LevelSpec::mandatory_catch_all()] {
            if !levels.contains_key(&spec.name) {
                add(&mut levels, &spec, false);
            }
        }
        let (nominal, waiting) = share_seats(&levels, of);
        let matcher = matcher(&levels, &wanted, of);
        let next = Configuration { matcher, levels, nominal, waiting };
        borrowing::adjust(next.levels(), nominal, of.seats, of.metrics, of.now);
        (next, gone)
    }

    /// Returns all levels by name.
    pub(crate) fn levels(&self) -> impl Iterator<Item = &Arc<Level>> {
        self.levels.values().map(|(_, level)| level)
    }
}

/// Divides the server's seats by the levels' shares. Returns the sum of nominal seats, which may be a little more since each level's are
/// rounded up, and how many requests may wait.
fn share_seats(levels: &BTreeMap<String, (LevelSpec, Arc<Level>)>, of: &Ingredients<'_>) -> (usize, usize) {
    let shares: f64 = levels.values().map(|(spec, _)| f64::from(spec.shares)).sum();
    let (mut total, mut waiting) = (0, 0_usize);
    for (spec, level) in levels.values() {
        let nominal =
            if shares > 0.0 { (of.seats as f64 * f64::from(spec.shares) / shares).ceil() } else { 0.0 };
        let part = |percent: u32| (nominal * f64::from(percent) / 100.0).round() as usize;
        let lendable = part(spec.lendable_percent);
        let borrowing = spec.borrowing_limit_percent.map_or(of.seats, part);
        let nominal = nominal as usize;
        total += nominal;
        if let Response::Queue { queues, hand_size, queue_length_limit } = spec.response {
            waiting = waiting.saturating_add(queues.saturating_mul(queue_length_limit));
            let most = (nominal as f64 * MOST_PART).ceil().min((nominal / hand_size.max(1)) as f64);
            level.set_most_seats(most.max(1.0) as u64);
        }
        level.with(|state| {
            let is_new = state.seats == Seats::default();
            state.response = spec.response;
            state.seats.nominal = nominal;
            state.seats.least = nominal.saturating_sub(lendable);
            state.seats.most = nominal + borrowing;
            if is_new {
                state.seats.current = nominal.saturating_sub(lendable / 2);
            }
        });
    }
    (total, waiting)
}

/// Compiles the flow schemas whose level is there, in the order in which they are tried.
fn matcher(
    levels: &BTreeMap<String, (LevelSpec, Arc<Level>)>,
    wanted: &BTreeSet<String>,
    of: &Ingredients<'_>,
) -> Matcher {
    let mut schemas: Vec<&SchemaSpec> =
        of.schemas.iter().filter(|schema| wanted.contains(&schema.level)).collect();
    schemas.sort_by(|a, b| (a.precedence, &a.name).cmp(&(b.precedence, &b.name)));
    let (exempt, catch_all) = (SchemaSpec::mandatory_exempt(), SchemaSpec::mandatory_catch_all());
    let has = |name: &str| schemas.iter().any(|schema| schema.name == name);
    let (has_exempt, has_catch_all) = (has(EXEMPT), has(CATCH_ALL));
    if !has_exempt {
        schemas.insert(0, &exempt);
    }
    if !has_catch_all {
        schemas.push(&catch_all);
    }
    let compiled = schemas.into_iter().filter_map(|schema| {
        let (spec, level) = levels.get(&schema.level)?;
        Some((schema, spec, level.clone()))
    });
    Matcher::new(compiled.collect(), of.metrics)
}
