//! Whether some rules allow everything that others allow.
//!
//! The wanted rules are broken down into rules of one verb, group, resource and name, each of which one held rule covers or
//! none does.

use std::collections::HashMap;

use smol_str::SmolStr;

use super::rule::{ALL, List, Rule, path_matches};

/// Returns the parts of `wanted` that no rule of `held` covers.
pub fn uncovered<'r>(held: &[&Rule], wanted: impl IntoIterator<Item = &'r Rule>) -> Vec<Rule> {
    let (mut uncovered, mut looked) = (Vec::new(), 0);
    for rule in wanted {
        each_part(rule, &mut |part| {
            looked += 1;
            // Beyond the limit, parts count as not covered.
            if looked >= MOST || !held.iter().any(|held| covers(held, &part)) {
                uncovered.push(part);
            }
            looked < MOST
        });
    }
    uncovered
}

/// The most parts that are compared: long lists have too many combinations.
const MOST: usize = 100_000;

/// Calls `each` with the parts of a rule, in the order of its lists, until it returns `false`.
fn each_part(rule: &Rule, each: &mut impl FnMut(Rule) -> bool) {
    let one = |text: &SmolStr| -> List { [text.clone()].into() };
    for group in &rule.groups {
        for resource in &rule.resources {
            for verb in &rule.verbs {
                let part = || Rule {
                    verbs: one(verb),
                    groups: one(group),
                    resources: one(resource),
                    ..Rule::default()
                };
                let wants_more = match &*rule.names {
                    [] => each(part()),
                    names => names.iter().all(|name| each(Rule { names: one(name), ..part() })),
                };
                if !wants_more {
                    return;
                }
            }
        }
    }
    for path in &rule.paths {
        for verb in &rule.verbs {
            if !each(Rule { verbs: one(verb), paths: one(path), ..Rule::default() }) {
                return;
            }
        }
    }
}

fn has(list: &[SmolStr], item: &str) -> bool {
    list.iter().any(|own| own == item)
}

/// Whether a rule covers a part: a rule of one verb, and one group and resource and at most one name, or one path.
fn covers(rule: &Rule, part: &Rule) -> bool {
    let each = |own: &List, wanted: &List| has(own, ALL) || wanted.iter().all(|wanted| has(own, wanted));
    each(&rule.verbs, &part.verbs)
        && each(&rule.groups, &part.groups)
        && part.resources.iter().all(|resource| covers_resource(&rule.resources, resource))
        && part.paths.iter().all(|path| rule.paths.iter().any(|own| path_matches(own, path)))
        && match &*part.names {
            // Any name is more than some.
            [] => rule.names.is_empty(),
            names => rule.names.is_empty() || names.iter().all(|name| has(&rule.names, name)),
        }
}

fn covers_resource(own: &[SmolStr], resource: &str) -> bool {
    if own.iter().any(|own| own == ALL || own == resource) {
        return true;
    }
    let Some((_, subresource)) = resource.split_once('/') else { return false };
    own.iter().any(|own| own.strip_prefix("*/") == Some(subresource))
}

/// The same rules with fewer: those that differ only in verbs, and are about one resource and at most one name, become one.
pub fn compacted(rules: Vec<Rule>) -> Vec<Rule> {
    let mut compacted: Vec<Rule> = Vec::new();
    let mut simple: HashMap<(SmolStr, SmolStr, Option<SmolStr>), usize> = HashMap::new();
    for rule in rules {
        let key = match (&*rule.groups, &*rule.resources, &*rule.names) {
            ([group], [resource], names @ ([] | [_])) if rule.paths.is_empty() => {
                (group.clone(), resource.clone(), names.first().cloned())
            }
            _ => {
                compacted.push(rule);
                continue;
            }
        };
        match simple.get(&key) {
            None => {
                simple.insert(key, compacted.len());
                compacted.push(rule);
            }
            Some(place) => {
                let verbs = &mut compacted[*place].verbs;
                *verbs = verbs.iter().chain(&rule.verbs).cloned().collect();
            }
        }
    }
    compacted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(words: &str) -> List {
        words.split_whitespace().map(|word| if word == "core" { "".into() } else { word.into() }).collect()
    }

    fn rule(verbs: &str, groups: &str, resources: &str, names: &str) -> Rule {
        Rule {
            verbs: list(verbs),
            groups: list(groups),
            resources: list(resources),
            names: list(names),
            ..Rule::default()
        }
    }

    fn paths(verbs: &str, paths: &str) -> Rule {
        Rule { verbs: list(verbs), paths: list(paths), ..Rule::default() }
    }

    fn check(held: &[Rule], wanted: &[Rule], left: &[&str]) {
        let held: Vec<&Rule> = held.iter().collect();
        let found: Vec<String> = uncovered(&held, wanted).iter().map(Rule::compact).collect();
        assert_eq!(found, left);
    }

    #[test]
    fn several_rules_together_cover_one() {
        let held = [rule("get", "core", "pods", ""), rule("list", "core", "pods services", "")];
        check(&held, &[rule("get list", "core", "pods", "")], &[]);
        let left = r#"{APIGroups:[""], Resources:["services"], Verbs:["get"]}"#;
        check(&held, &[rule("get list", "core", "pods services", "")], &[left]);
    }

    #[test]
    fn stars_cover_everything_and_are_covered_by_stars_only() {
        let all = [rule("*", "*", "*", "")];
        check(&all, &[rule("get", "apps", "deployments/scale", "a b"), rule("*", "*", "*", "")], &[]);
        let left = r#"{APIGroups:[""], Resources:["pods"], Verbs:["*"]}"#;
        check(&[rule("get list", "core", "pods", "")], &[rule("*", "core", "pods", "")], &[left]);
        let left = r#"{NonResourceURLs:["*"], Verbs:["*"]}"#;
        check(&all, &[paths("*", "*")], &[left]);
    }

    #[test]
    fn names_are_covered_by_any_name_or_the_same() {
        check(&[rule("get", "core", "pods", "")], &[rule("get", "core", "pods", "a")], &[]);
        check(&[rule("get", "core", "pods", "a b")], &[rule("get", "core", "pods", "b")], &[]);
        let left = r#"{APIGroups:[""], Resources:["pods"], ResourceNames:["c"], Verbs:["get"]}"#;
        check(&[rule("get", "core", "pods", "a b")], &[rule("get", "core", "pods", "a c")], &[left]);
        let left = r#"{APIGroups:[""], Resources:["pods"], Verbs:["get"]}"#;
        check(&[rule("get", "core", "pods", "a")], &[rule("get", "core", "pods", "")], &[left]);
    }

    #[test]
    fn subresources_are_covered_by_themselves_or_those_of_all_resources() {
        check(
            &[rule("get", "*", "*/scale", "")],
            &[rule("get", "apps", "deployments/scale */scale", "")],
            &[],
        );
        let left = r#"{APIGroups:["apps"], Resources:["deployments"], Verbs:["get"]}"#;
        check(&[rule("get", "*", "*/scale", "")], &[rule("get", "apps", "deployments", "")], &[left]);
        let left = r#"{APIGroups:["apps"], Resources:["deployments/scale"], Verbs:["get"]}"#;
        check(
            &[rule("get", "*", "deployments", "")],
            &[rule("get", "apps", "deployments/scale", "")],
            &[left],
        );
    }

    #[test]
    fn paths_are_covered_by_their_prefixes() {
        check(&[paths("get", "/api/* /version")], &[paths("get", "/api/v1 /version /api/*")], &[]);
        check(
            &[paths("get", "/api/*")],
            &[paths("get", "/apis")],
            &[r#"{NonResourceURLs:["/apis"], Verbs:["get"]}"#],
        );
    }

    #[test]
    fn rules_about_one_resource_become_one() {
        let rules = vec![
            rule("get", "core", "pods", ""),
            rule("list", "core", "pods", ""),
            rule("get", "core", "pods", "a"),
            rule("get", "core", "pods services", ""),
            rule("watch", "core", "pods", ""),
            rule("list", "core", "pods", "a"),
            paths("get", "/a"),
            paths("get", "/a"),
        ];
        let shown: Vec<String> = compacted(rules).iter().map(Rule::compact).collect();
        assert_eq!(
            shown,
            [
                r#"{APIGroups:[""], Resources:["pods"], Verbs:["get" "list" "watch"]}"#,
                r#"{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["get" "list"]}"#,
                r#"{APIGroups:[""], Resources:["pods" "services"], Verbs:["get"]}"#,
                r#"{NonResourceURLs:["/a"], Verbs:["get"]}"#,
                r#"{NonResourceURLs:["/a"], Verbs:["get"]}"#,
            ]
        );
    }

    #[test]
    fn a_rule_with_too_many_combinations_is_not_covered() {
        let long: List = (0..1000).map(|place| SmolStr::from(format!("r{place}"))).collect();
        let huge = Rule { verbs: long.clone(), groups: long.clone(), resources: long, ..Rule::default() };
        assert_eq!(uncovered(&[], [&huge]).len(), MOST);
        let all = rule("*", "*", "*", "");
        assert_eq!(uncovered(&[&all], [&huge, &huge]).len(), 2);
    }
}
