//! Unified diffs as the reference prints them: those of Python's `difflib`, which its library is a port of.
//!
//! The longest run of equal lines is matched first, the earliest of equally long ones; then the parts left and right
//! of it. In long texts, common lines do not start a run. Matches therefore differ from those of other diff tools.

use std::collections::HashMap;
use std::fmt::Write;

/// Number of unchanged lines around a change.
const CONTEXT: usize = 3;
/// Number of lines from which on a line that makes up more than a hundredth of the text is too common to start a run.
const LONG: usize = 200;
/// Limit of comparisons of a diff, past which the rest is printed as changed. Ordinary objects stay far below; it
/// bounds hostile ones.
const BUDGET: usize = 20_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    a: usize,
    b: usize,
    length: usize,
}

/// Range of both texts: equal, or a replacement.
#[derive(Clone, Copy, Debug)]
struct Part {
    equal: bool,
    a: (usize, usize),
    b: (usize, usize),
}

/// Returns the diff of two texts; empty if they are equal.
pub(super) fn unified(a: &str, b: &str) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) = (a.split('\n').collect(), b.split('\n').collect());
    let parts = parts(&Matcher::new(&a, &b).runs());
    let mut out = String::new();
    for group in groups(parts) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let (from, to) = (range(first.a.0, last.a.1), range(first.b.0, last.b.1));
        // Writing to a string does not fail.
        let _ = writeln!(out, "@@ -{from} +{to} @@");
        for part in group {
            let old = &a[part.a.0..part.a.1];
            if part.equal {
                lines(' ', old, &mut out);
            } else {
                lines('-', old, &mut out);
                lines('+', &b[part.b.0..part.b.1], &mut out);
            }
        }
    }
    out
}

fn lines(mark: char, lines: &[&str], out: &mut String) {
    for line in lines {
        let _ = writeln!(out, "{mark}{line}");
    }
}

/// Formats a range. Lines count from one; an empty range names the line before it.
fn range(start: usize, end: usize) -> String {
    match end - start {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        length => format!("{},{length}", start + 1),
    }
}

/// Matcher of lines, which are identified by number: equal lines of both texts have the same one.
struct Matcher {
    a: Vec<usize>,
    b: Vec<usize>,
    /// Positions of each line in `b`; empty for lines that are too common.
    positions: Vec<Vec<usize>>,
    /// Lengths of the runs that end before each position of `b`, for the previous line of `a` and the current one.
    before: Vec<usize>,
    now: Vec<usize>,
    budget: usize,
}

impl Matcher {
    fn new(a: &[&str], b: &[&str]) -> Matcher {
        let mut numbers = HashMap::new();
        let mut number = |line| {
            let next = numbers.len();
            *numbers.entry(line).or_insert(next)
        };
        let b: Vec<usize> = b.iter().map(|line| number(*line)).collect();
        let a: Vec<usize> = a.iter().map(|line| number(*line)).collect();
        let mut positions = vec![Vec::new(); numbers.len()];
        for (position, line) in b.iter().enumerate() {
            positions[*line].push(position);
        }
        if b.len() >= LONG {
            let common = b.len() / 100 + 1;
            positions.iter_mut().filter(|positions| positions.len() > common).for_each(Vec::clear);
        }
        let lengths = vec![0; b.len() + 1];
        Matcher { a, b, positions, before: lengths.clone(), now: lengths, budget: BUDGET }
    }

    /// Returns all runs of equal lines, in order.
    fn runs(mut self) -> Vec<Run> {
        enum Task {
            Search((usize, usize), (usize, usize)),
            Keep(Run),
        }
        let (a, b) = (self.a.len(), self.b.len());
        let mut runs: Vec<Run> = Vec::new();
        let mut tasks = vec![Task::Search((0, a), (0, b))];
        while let Some(task) = tasks.pop() {
            match task {
                Task::Search(a, b) if a.0 < a.1 && b.0 < b.1 => {
                    let run = self.longest(a, b);
                    if run.length > 0 {
                        tasks.push(Task::Search((run.a + run.length, a.1), (run.b + run.length, b.1)));
                        tasks.push(Task::Keep(run));
                        tasks.push(Task::Search((a.0, run.a), (b.0, run.b)));
                    }
                }
                Task::Search(..) => {}
                Task::Keep(run) => match runs.last_mut() {
                    Some(last) if last.a + last.length == run.a && last.b + last.length == run.b => {
                        last.length += run.length;
                    }
                    _ => runs.push(run),
                },
            }
        }
        // An empty run at the end terminates the last change.
        runs.push(Run { a, b, length: 0 });
        runs
    }

    /// Returns the longest run within both ranges, the earliest of equally long ones.
    fn longest(&mut self, a: (usize, usize), b: (usize, usize)) -> Run {
        let mut best = Run { a: a.0, b: b.0, length: 0 };
        let mut seen: &[usize] = &[];
        for line in a.0..a.1 {
            let positions = &self.positions[self.a[line]];
            let first = positions.partition_point(|position| *position < b.0);
            let end = positions.partition_point(|position| *position < b.1);
            let positions = &positions[first..end];
            self.budget = self.budget.saturating_sub(positions.len() + 1);
            if self.budget == 0 {
                break;
            }
            for position in positions {
                let length = self.before[*position] + 1;
                self.now[position + 1] = length;
                if length > best.length {
                    best = Run { a: line + 1 - length, b: position + 1 - length, length };
                }
            }
            seen.iter().for_each(|position| self.before[position + 1] = 0);
            std::mem::swap(&mut self.before, &mut self.now);
            seen = positions;
        }
        seen.iter().for_each(|position| self.before[position + 1] = 0);
        // Common lines do not start a run but extend an adjacent one.
        while best.a > a.0 && best.b > b.0 && self.a[best.a - 1] == self.b[best.b - 1] {
            best = Run { a: best.a - 1, b: best.b - 1, length: best.length + 1 };
        }
        while best.a + best.length < a.1
            && best.b + best.length < b.1
            && self.a[best.a + best.length] == self.b[best.b + best.length]
        {
            best.length += 1;
        }
        best
    }
}

/// Returns the runs and the changes between them.
fn parts(runs: &[Run]) -> Vec<Part> {
    let mut parts = Vec::new();
    let (mut a, mut b) = (0, 0);
    for run in runs {
        if a < run.a || b < run.b {
            parts.push(Part { equal: false, a: (a, run.a), b: (b, run.b) });
        }
        (a, b) = (run.a + run.length, run.b + run.length);
        if run.length > 0 {
            parts.push(Part { equal: true, a: (run.a, a), b: (run.b, b) });
        }
    }
    parts
}

/// Groups changes with their context; changes close to each other share a group.
fn groups(mut parts: Vec<Part>) -> Vec<Vec<Part>> {
    if let Some(first) = parts.first_mut().filter(|part| part.equal) {
        *first = first.trailing();
    }
    if let Some(last) = parts.last_mut().filter(|part| part.equal) {
        *last = last.leading();
    }
    let mut groups = Vec::new();
    let mut group = Vec::new();
    for part in parts {
        if part.equal && part.a.1 - part.a.0 > 2 * CONTEXT {
            group.push(part.leading());
            groups.push(std::mem::take(&mut group));
            group.push(part.trailing());
        } else {
            group.push(part);
        }
    }
    groups.push(group);
    groups.retain(|group| group.iter().any(|part| !part.equal));
    groups
}

impl Part {
    /// Returns the context after a change.
    fn leading(self) -> Part {
        let length = (self.a.1 - self.a.0).min(CONTEXT);
        Part { a: (self.a.0, self.a.0 + length), b: (self.b.0, self.b.0 + length), ..self }
    }

    /// Returns the context before a change.
    fn trailing(self) -> Part {
        let length = (self.a.1 - self.a.0).min(CONTEXT);
        Part { a: (self.a.1 - length, self.a.1), b: (self.b.1 - length, self.b.1), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_three_lines_of_context() {
        let a = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15";
        let b = a.replace("5", "five").replace("\n14", "");
        let want = "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n@@ -11,5 +11,4 @@\n 11\n 12\n 13\n-14\n-15\n+1five\n";
        assert_eq!(unified(a, &b), want);
        assert_eq!(unified(a, a), "");
    }

    #[test]
    fn ranges_of_one_and_of_no_line_are_formatted() {
        assert_eq!(unified("a", "b"), "@@ -1 +1 @@\n-a\n+b\n");
        assert_eq!(unified("a", "a\nb"), "@@ -1 +1,2 @@\n a\n+b\n");
    }

    #[test]
    fn the_longest_run_decides_not_the_smallest_change() {
        // diff(1) would keep the first `a`.
        assert_eq!(unified("a\nb", "a\nc\na\nb"), "@@ -1,2 +1,4 @@\n+a\n+c\n a\n b\n");
    }

    #[test]
    fn common_lines_of_a_long_text_do_not_start_a_run() {
        let a: Vec<String> =
            (0..300).map(|line| if line % 2 == 0 { "x".into() } else { line.to_string() }).collect();
        let mut b = a.clone();
        b[151] = "changed".into();
        let want = "@@ -149,7 +149,7 @@\n x\n 149\n x\n-151\n+changed\n x\n 153\n x\n";
        assert_eq!(unified(&a.join("\n"), &b.join("\n")), want);
        // Only common lines: nothing matches, though all but one are equal.
        let (a, b) = (vec!["x"; 250], vec!["x"; 249]);
        let text = unified(&format!("y\n{}", a.join("\n")), &format!("z\n{}", b.join("\n")));
        assert!(text.starts_with("@@ -1,251 +1,250 @@\n-y\n"), "{text}");
    }

    #[test]
    fn hostile_texts_are_bounded_by_the_budget() {
        // Every search finds one line only, so there are as many searches as lines.
        let a: Vec<String> = (0..20_000).map(|line| format!("{line}")).collect();
        let b: Vec<String> = (0..20_000).flat_map(|line| [format!("{line}"), format!("b{line}")]).collect();
        let text = unified(&a.join("\n"), &b.join("\n"));
        assert!(text.starts_with("@@"));
    }
}
