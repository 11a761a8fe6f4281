//! Plays cases of areas and compares the answers.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::Context;
use futures_util::future::join_all;
use pintle_published::recorded::{self, Part};

use crate::client::Client;
use crate::compare::first_difference;
use crate::json::Json;
use crate::replay::{Case, stamp};

/// The cases of one document, and the recorded answers by the name of the case.
#[derive(Clone, Debug)]
pub struct Area {
    pub name: String,
    pub cases: Vec<Case>,
    golden: Json,
}

impl Area {
    /// Reads an area of a folder of recordings. One without answers has yet to be recorded.
    pub fn read(folder: &Path, area: &str) -> anyhow::Result<Area> {
        let document = |part| -> anyhow::Result<Json> {
            let what = || format!("{} of {area}", Part::folder(part));
            let text = recorded::read(folder, part, area).with_context(what)?;
            serde_json::from_str(&text).with_context(what)
        };
        let cases = document(Part::Cases)?;
        let is_recorded = recorded::file(folder, Part::Golden, area).exists();
        let golden = if is_recorded { document(Part::Golden)? } else { Json::Object(Vec::new()) };
        let name = cases.at("area").text().unwrap_or(area).to_owned();
        let cases: Option<Vec<Case>> = cases.at("cases").items().iter().map(Case::new).collect();
        Ok(Area {
            name,
            cases: cases.with_context(|| format!("a case of {area} has no id or no steps"))?,
            golden,
        })
    }

    /// Keeps the cases whose name contains a text.
    pub fn keep(&mut self, part: &str) {
        self.cases.retain(|case| case.id.contains(part));
    }

    /// Keeps the cases that have recorded answers, and returns the names of the others.
    pub fn keep_recorded(&mut self) -> Vec<String> {
        let has_answers = |case: &Case| self.golden.get(&case.id).is_some();
        let (kept, others) = std::mem::take(&mut self.cases).into_iter().partition(has_answers);
        self.cases = kept;
        let others: Vec<Case> = others;
        others.into_iter().map(|case| case.id).collect()
    }

    /// The document of recorded answers with those of a run in place.
    pub fn recorded(&self, outcomes: &[Outcome]) -> anyhow::Result<String> {
        let mut all: BTreeMap<&str, &Json> =
            self.golden.fields().iter().map(|(id, answers)| (id.as_str(), answers)).collect();
        all.extend(outcomes.iter().map(|outcome| (outcome.id.as_str(), &outcome.answers)));
        Ok(serde_json::to_string_pretty(&all)?)
    }
}

/// How a case ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub area: String,
    pub id: String,
    /// The first difference to the recorded answers; `None` if there is none.
    pub difference: Option<String>,
    pub answers: Json,
}

impl Outcome {
    /// `area/case`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.area, self.id)
    }
}

/// Plays all cases, begun in their order, and returns how they ended, in the same order. As many are played at once as there are
/// clients; each should lead to a server of its own.
pub async fn play(areas: &[Area], clients: &mut [Client]) -> Vec<Outcome> {
    let stamp = stamp();
    let all = areas.iter().flat_map(|area| area.cases.iter().map(move |case| (area, case)));
    let left = Mutex::new(all.enumerate());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let worker = async |client: &mut Client| {
        let mut outcomes = Vec::new();
        while let Some((number, (area, case))) = next() {
            let answers = case.play(client, &stamp).await;
            let wanted = area.golden.get(&case.id).unwrap_or(&Json::Null);
            let difference = first_difference(wanted, &answers);
            let (area, id) = (area.name.clone(), case.id.clone());
            outcomes.push((number, Outcome { area, id, difference, answers }));
        }
        outcomes
    };
    let all = join_all(clients.iter_mut().map(|client| Box::pin(worker(client)))).await;
    let mut outcomes: Vec<_> = all.into_iter().flatten().collect();
    outcomes.sort_by_key(|(number, _)| *number);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}
