//! Text of an expression, locations in it, and issues, displayed as cel-go does:
//!
//! ```text
//! ERROR: <input>:1:5: undeclared reference to 'nope' (in container '')
//!  | nope(self)
//!  | ....^
//! ```

use std::fmt;

/// Number of issues past which further ones are only counted.
const MOST_ISSUES: usize = 100;

/// Length past which a line is not displayed.
const LONGEST_SNIPPET: usize = 16384;

/// Location in the text, in code points. Issues of the whole text have none.
pub(crate) type Offset = Option<u32>;

/// One issue with its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Starts at 1; -1 without a location.
    pub line: i64,
    /// Starts at 0; -1 without a location.
    pub column: i64,
    pub message: String,
}

/// Reason why a text does not compile in an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    issues: Vec<Issue>,
    /// Number of all issues, displayed or not.
    count: usize,
    text: String,
    constant: Option<String>,
}

impl CompileError {
    pub fn issues(&self) -> &[Issue] {
        &self.issues
    }

    /// Returns whether the expression is valid but a constant in it cannot be computed, which the reference reports
    /// as a failed program instantiation. The message is then that of the evaluation.
    pub fn is_instantiation(&self) -> bool {
        self.constant.is_some()
    }

    pub(crate) fn constant(message: String) -> CompileError {
        CompileError { issues: Vec::new(), count: 0, text: String::new(), constant: Some(message) }
    }
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(message) = &self.constant {
            return f.write_str(message);
        }
        for (index, issue) in self.issues.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "ERROR: <input>:{}:{}: {}", issue.line, issue.column + 1, issue.message)?;
            let line = usize::try_from(issue.line - 1).ok().and_then(|line| self.text.split('\n').nth(line));
            let Some(line) = line.filter(|line| !self.text.is_empty() && line.len() <= LONGEST_SNIPPET)
            else {
                continue;
            };
            write!(f, "\n | {}\n | ", line.replace('\t', " "))?;
            let mut chars = line.chars();
            for c in chars.by_ref().take(usize::try_from(issue.column).unwrap_or(0)) {
                f.write_str(if c.is_ascii() { "." } else { "\u{ff0e}" })?;
            }
            f.write_str(if chars.next().is_none_or(|c| c.is_ascii()) { "^" } else { "\u{ff3e}" })?;
        }
        if self.count > self.issues.len() {
            write!(f, "\n{} more errors were truncated", self.count - self.issues.len())?;
        }
        Ok(())
    }
}

impl std::error::Error for CompileError {}

/// Issues found so far.
#[derive(Debug, Default)]
pub(crate) struct Issues {
    found: Vec<(Offset, String)>,
    count: usize,
}

impl Issues {
    pub(crate) fn report(&mut self, at: Offset, message: impl Into<String>) {
        self.count += 1;
        if self.count <= MOST_ISSUES {
            self.found.push((at, message.into()));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Sorts the issues by location and builds the error.
    pub(crate) fn into_error(mut self, text: &str) -> CompileError {
        self.found.sort_by_key(|(at, _)| at.map_or(-1, i64::from));
        let lines = line_starts(text);
        let location = |at: Offset| {
            let Some(at) = at else { return (-1, -1) };
            // The end of an empty text is before its first column, in cel-go.
            if text.is_empty() {
                return (1, -1);
            }
            let line = lines.partition_point(|start| *start <= at);
            (line as i64, i64::from(at - lines[line - 1]))
        };
        let issues = self.found.into_iter().map(|(at, message)| {
            let (line, column) = location(at);
            Issue { line, column, message }
        });
        CompileError { issues: issues.collect(), count: self.count, text: text.to_owned(), constant: None }
    }
}

fn line_starts(text: &str) -> Vec<u32> {
    let mut starts = vec![0];
    starts.extend(text.chars().enumerate().filter(|(_, c)| *c == '\n').map(|(at, _)| at as u32 + 1));
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issues_are_displayed_with_their_line_and_in_order() {
        let mut issues = Issues::default();
        issues.report(Some(7), "second");
        issues.report(Some(2), "first");
        issues.report(None, "of all");
        assert_eq!(
            issues.into_error("a\tb\ncäd").to_string(),
            "ERROR: <input>:-1:0: of all\n\
             ERROR: <input>:1:3: first\n | a b\n | ..^\n\
             ERROR: <input>:2:4: second\n | cäd\n | .．.^"
        );
    }

    #[test]
    fn an_empty_text_has_no_line_to_display() {
        let mut issues = Issues::default();
        issues.report(Some(0), "x");
        assert_eq!(issues.into_error("").to_string(), "ERROR: <input>:1:0: x");
    }

    #[test]
    fn issues_beyond_a_hundred_are_counted() {
        let mut issues = Issues::default();
        for _ in 0..102 {
            issues.report(Some(0), "x");
        }
        assert!(issues.into_error("a").to_string().ends_with("\n2 more errors were truncated"));
    }
}
