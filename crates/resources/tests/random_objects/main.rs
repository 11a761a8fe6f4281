//! Random valid objects of every stored kind, made from the type graph and the rules: what a create accepts is stored and read
//! back as it is, in the store's encodings and in every served version, listed as it is, and an update with itself is accepted
//! and changes nothing.
//!
//! ```text
//! author    writes an object of the graph, with words that rules like
//! growth    adds fields that no accepted object has had to one that was accepted
//! links     points references to names in the same object
//! repair    changes what validation refuses, until nothing is refused
//! subject   what holds for an accepted object
//! lists     what holds for many of them
//! ```
//!
//! So a rule that is not known here costs rounds of repair, and no code. The seeds are fixed.

mod author;
mod coverage;
mod growth;
mod links;
mod lists;
mod repair;
mod shapes;
mod subject;
mod words;

use std::cell::RefCell;
use std::collections::HashMap;

use pintle_features::Features;
use pintle_meta::Value;
use pintle_meta::field_path::Error;
use pintle_schema::{Resources, Shape};
use serde_json::Value as Json;

use self::author::Author;
use self::coverage::Coverage;
use self::lists::Lists;
use self::repair::Repair;
use self::subject::{Subject, subjects};

/// Objects that are tried of each kind, beside some for each of its fields.
const OBJECTS: usize = 60;

/// Fields of a kind for which one more object is tried.
const FIELDS_PER_OBJECT: usize = 3;

/// One in so many objects is new; the others grow from accepted ones.
const NEW: usize = 8;

/// Rounds of repair of an object.
const ROUNDS: usize = 40;

/// The least number of objects of a kind that must be accepted.
const LEAST_ACCEPTED: usize = 40;

/// The least share of all fields that must have a value in an accepted object.
const LEAST_PERCENT: usize = 78;

#[tokio::test]
async fn accepted_objects_stay_as_they_are() {
    check_all(Features::default()).await;
}

#[tokio::test]
async fn accepted_objects_stay_as_they_are_with_all_features() {
    check_all(Features::all()).await;
}

#[expect(clippy::print_stdout, reason = "the coverage of each kind")]
async fn check_all(features: Features) {
    let resources = Resources::builtin().expect("the table");
    let lists = Lists::start().await;
    let mut failures = Vec::new();
    let (mut occurred, mut all) = (0, 0);
    for (place, subject) in subjects(&resources, features).iter().enumerate() {
        let outcome = outcome(subject, place);
        let (name, accepted) = (format!("{}/{}", subject.group, subject.name), &outcome.accepted);
        let (some, of) = outcome.coverage.share(subject.sent());
        occurred += some;
        all += of;
        println!("{name:60} {:3} accepted, {some:3} of {of:3} fields", accepted.len());
        println!("    without {}", outcome.coverage.missing(subject.sent()));
        if accepted.len() < LEAST_ACCEPTED {
            failures.push(format!("{name}: only {} accepted: {:?}", accepted.len(), outcome.refusals.last()));
        }
        failures.extend(accepted.iter().filter_map(|object| subject.check(object).err()).take(1));
        let listed: Vec<&Value> = outcome.listed.iter().map(|place| &accepted[*place]).collect();
        failures.extend(lists.check(subject, &listed).await.err().map(|why| format!("{name}: {why}")));
    }
    println!("{occurred} of {all} fields");
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(occurred * 100 >= all * LEAST_PERCENT, "only {occurred} of {all} fields occurred");
}

/// Outcome of all objects of a kind.
struct Outcome {
    accepted: Vec<Value>,
    /// Places of the accepted objects that are listed: each has a field that none before it has.
    listed: Vec<usize>,
    coverage: Coverage,
    /// The errors that objects were given up with.
    refusals: Vec<Vec<Error>>,
}

fn outcome(subject: &Subject, place: usize) -> Outcome {
    let tried = RefCell::new(HashMap::new());
    let mut outcome = Outcome {
        accepted: Vec::new(),
        listed: Vec::new(),
        coverage: Coverage::default(),
        refusals: Vec::new(),
    };
    let mut sent: Vec<Json> = Vec::new();
    let objects = OBJECTS + outcome.coverage.share(subject.sent()).1 / FIELDS_PER_OBJECT;
    for number in 0..objects {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&(place as u64).to_le_bytes());
        seed[8..16].copy_from_slice(&(number as u64).to_le_bytes());
        let author = Author::new(seed, &outcome.coverage, &tried);
        let object = if sent.is_empty() || number % NEW == 0 {
            author.object(subject.sent(), subject.namespaced)
        } else {
            let mut object = sent[author.below(sent.len())].clone();
            (0..=author.below(3)).for_each(|_| author.grow(subject.sent(), &mut object));
            object
        };
        match accepted(subject, &author, object) {
            Ok((object, json)) => {
                if outcome.coverage.add(Shape::Named(subject.sent()), &subject.shown(&object)) {
                    outcome.listed.push(outcome.accepted.len());
                }
                outcome.accepted.push(object);
                sent.push(json);
            }
            Err(errors) => outcome.refusals.push(errors),
        }
    }
    outcome
}

/// Returns an accepted object, and as it was sent.
fn accepted(subject: &Subject, author: &Author<'_>, mut object: Json) -> Result<(Value, Json), Vec<Error>> {
    let created = repaired(subject, author, &mut object, |object| subject.created(object))?;
    let Some(strategy) = &subject.of_status else { return Ok((created, object)) };
    let mut given = serde_json::json!({ "status": author.status(subject.sent()) });
    let with_status =
        repaired(subject, author, &mut given, |given| subject.with_status(&**strategy, &created, given));
    Ok((with_status.unwrap_or(created), object))
}

/// Repairs an object until it is accepted.
fn repaired(
    subject: &Subject,
    author: &Author<'_>,
    object: &mut Json,
    accept: impl Fn(&Json) -> Result<Value, Vec<Error>>,
) -> Result<Value, Vec<Error>> {
    let mut repair = Repair::new(author, subject.sent());
    let mut last = Vec::new();
    for _ in 0..ROUNDS {
        links::link(object);
        match accept(object) {
            Ok(accepted) => return Ok(accepted),
            Err(errors) => {
                repair.repair(object, &errors);
                last = errors;
            }
        }
    }
    Err(last)
}
