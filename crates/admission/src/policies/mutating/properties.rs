//! Random mutations of random objects: each ends within its budget, twice with the same result, whatever the order in which variables
//! are declared, and its result is an object of the type.

use pintle_cel::Budget;
use pintle_meta::Object;
use pintle_schema::find;

use super::*;
use crate::expressions::Compiler;
use crate::policies::VALIDATION_BUDGET;
use crate::policies::random::{Author, Numbers, declared, shuffled};
use crate::policies::source::Compiled;
use crate::testing::{decoded, text};

/// Policies for each type of object, and objects for each policy.
const POLICIES: usize = 500;
const OBJECTS: usize = 3;

/// Returns a policy of one mutation.
fn policy(
    patch_type: &str,
    expression: &str,
    variables: &[(String, String)],
    compiler: &Compiler,
) -> MutatingPolicy {
    let field = if patch_type == "JSONPatch" { "jsonPatch" } else { "applyConfiguration" };
    let expression = Value::from(Object::from_iter([("expression", expression)]));
    let mutation = Value::from(Object::from_iter([("patchType", patch_type.into()), (field, expression)]));
    let kind = Value::from(Object::from_iter([("apiVersion", "v1"), ("kind", "ConfigMap")]));
    let spec = Object::from_iter([
        ("paramKind", kind),
        ("variables", declared(variables)),
        ("mutations", Value::list(vec![mutation])),
    ]);
    MutatingPolicy::compile(&Value::from(Object::from_iter([("spec", Value::from(spec))])), compiler)
}

/// An object that mutations change, and what their expressions see beside it.
struct Subject {
    of: &'static str,
    object: Value,
    old: Option<Value>,
    params: Value,
    request: Value,
}

/// The result of a mutation: the object as JSON if it has changed, or why not.
type Outcome = Result<Option<Value>, String>;

impl Subject {
    fn new(author: &mut Author) -> Subject {
        let of = author.of;
        let old = (author.numbers.below(2) == 0).then(|| decoded(of, &author.object()));
        let object = decoded(of, &author.object());
        let params = Value::from(Object::from_iter([("most", 3)]));
        let request = Value::from(Object::from_iter([("operation", "CREATE")]));
        Subject { of, object, old, params, request }
    }

    fn inputs(&self) -> Inputs<'_> {
        Inputs {
            object: Some(&self.object),
            old_object: self.old.as_ref(),
            params: Some(&self.params),
            request: &self.request,
            namespace: None,
            authorizer: None,
        }
    }

    /// Applies the mutation of a policy.
    fn mutate(&self, policy: &MutatingPolicy, budget: u64) -> Outcome {
        let of = find(self.of).unwrap();
        let parse = |text: &[u8]| {
            let read = json::decode(of, text).map_err(|error| error.to_string())?;
            if read.strict.is_empty() { Ok(read.value) } else { Err(read.strict.join(", ")) }
        };
        let mutated = MutatedObject { object: &self.object, of: TypeRef::from(of), parse: &parse };
        policy.mutations[0].apply(policy, &self.inputs(), &mutated, budget).map_err(|failure| match failure {
            Failure::Policy(why) => why,
            Failure::Request(status) => {
                assert_eq!((status.code, status.message.is_empty()), (500, false));
                status.message
            }
        })
    }

    /// Returns the cost of the mutation's expression with the variables that it reads.
    fn cost(&self, policy: &MutatingPolicy) -> u64 {
        let (inputs, mut left) = (self.inputs(), VALIDATION_BUDGET);
        let scope = Scope::new(&policy.variables, &inputs);
        match scope.evaluate(&policy.mutations[0].expression, &mut left) {
            Ok(_) => VALIDATION_BUDGET - left,
            Err(OutOfBudget) => VALIDATION_BUDGET + 1,
        }
    }
}

/// Outcomes of all mutations of one type.
#[derive(Debug, Default)]
struct Seen {
    changed: usize,
    unchanged: usize,
    refused: usize,
    uncompiled: usize,
    applied_twice: usize,
}

/// A policy in two orders of its variables.
struct Pair {
    first: MutatingPolicy,
    second: MutatingPolicy,
    reads_object: bool,
    /// The expressions, for messages.
    shown: String,
}

impl Pair {
    /// Returns a policy with random variables and one mutation.
    fn new(author: &mut Author, patch_type: &str, compiler: &Compiler) -> Pair {
        author.variables = author.numbers.below(4);
        let variables = author.some_variables();
        let expression = if patch_type == "JSONPatch" { author.patch() } else { author.configuration() };
        let other = shuffled(&variables, &mut author.numbers);
        let shown = format!("{expression} {variables:?}");
        Pair {
            first: policy(patch_type, &expression, &variables, compiler),
            second: policy(patch_type, &expression, &other, compiler),
            reads_object: shown.contains("object"),
            shown,
        }
    }

    /// Mutates an object in all ways that must not make a difference.
    fn check(&self, subject: &mut Subject, seen: &mut Seen) {
        let Pair { first, second, reads_object, shown } = self;
        let shown = format!("{shown} of {}", text(&subject.object));
        let outcome = subject.mutate(first, VALIDATION_BUDGET);
        assert_eq!(outcome, subject.mutate(first, VALIDATION_BUDGET), "again: {shown}");
        assert_eq!(outcome, subject.mutate(second, VALIDATION_BUDGET), "shuffled: {shown}");
        self.check_cost(subject, &outcome, &shown);
        seen.uncompiled += usize::from(first.mutations[0].expression.program.is_err());
        let new = match outcome {
            Ok(Some(new)) => new,
            Ok(None) => {
                seen.unchanged += 1;
                return;
            }
            Err(why) => {
                assert!(!why.is_empty(), "{shown}");
                seen.refused += 1;
                return;
            }
        };
        assert_eq!(new, decoded(subject.of, &text(&new)), "in normal form: {shown}");
        let count = if new == subject.object { &mut seen.unchanged } else { &mut seen.changed };
        *count += 1;
        if first.mutations[0].patch_type == PatchType::ApplyConfiguration && !reads_object {
            subject.object = new.clone();
            assert_eq!(subject.mutate(first, VALIDATION_BUDGET), Ok(Some(new)), "applied twice: {shown}");
            seen.applied_twice += 1;
        }
    }

    /// Checks that a budget of exactly the cost is enough, and that one less is not.
    fn check_cost(&self, subject: &Subject, outcome: &Outcome, shown: &str) {
        let cost = subject.cost(&self.first);
        assert!(cost <= (1 + self.first.variables.len() as u64) * Budget::PER_CALL.cost, "{cost}: {shown}");
        assert_eq!(*outcome, subject.mutate(&self.first, cost), "within {cost}: {shown}");
        if let Some(less) = cost.checked_sub(1) {
            let beyond = Err(OutOfBudget::MESSAGE.to_owned());
            assert_eq!(subject.mutate(&self.first, less), beyond, "within {less}: {shown}");
        }
    }
}

/// Applies random mutations to random objects of several types.
fn run(patch_type: &str) -> Seen {
    let (compiler, mut seen) = (Compiler::default(), Seen::default());
    for (seed, of) in [(7, "core/v1.Pod"), (11, "apps/v1.Deployment"), (13, "core/v1.Service")] {
        let mut author = Author { of, numbers: Numbers(seed), variables: 0 };
        for _ in 0..POLICIES {
            let pair = Pair::new(&mut author, patch_type, &compiler);
            for _ in 0..OBJECTS {
                pair.check(&mut Subject::new(&mut author), &mut seen);
            }
        }
    }
    seen
}

#[test]
fn apply_configurations_have_one_result() {
    let seen = run("ApplyConfiguration");
    let Seen { changed, unchanged, refused, uncompiled, applied_twice } = seen;
    assert!(changed > 1000 && unchanged > 500 && refused > 500, "{seen:?}");
    assert!(uncompiled > 20 && applied_twice > 500, "{seen:?}");
}

#[test]
fn patches_have_one_result() {
    let seen = run("JSONPatch");
    let Seen { changed, unchanged, refused, uncompiled, .. } = seen;
    assert!(changed > 500 && unchanged > 200 && refused > 1000 && uncompiled > 20, "{seen:?}");
}
