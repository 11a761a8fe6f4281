//! The figures of one or two servers side by side, with the reference's and the budgets beside them.

use std::fmt::Write;

/// The figures of one server's operation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    /// One figure of each round.
    Rounds(Vec<f64>),
    /// The server does not have the operation.
    NotThere,
    /// It cannot be seen from here.
    Unknown,
}

/// Which end of the rounds is the better one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Better {
    Less,
    More,
}

/// One operation.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) label: String,
    pub(crate) unit: &'static str,
    /// The figure of kube-apiserver 1.36.4 with etcd 3.6.8 on two cores.
    pub(crate) reference: &'static str,
    pub(crate) budget: Option<f64>,
    /// Whether the budget is only what was once seen, which nothing has to keep.
    seen: bool,
    pub(crate) better: Better,
    /// One for each server.
    pub(crate) cells: Vec<Cell>,
}

impl Row {
    pub(crate) fn new(label: impl Into<String>, unit: &'static str) -> Row {
        Row {
            label: label.into(),
            unit,
            reference: "",
            budget: None,
            seen: false,
            better: Better::Less,
            cells: Vec::new(),
        }
    }

    pub(crate) fn reference(mut self, reference: &'static str) -> Row {
        self.reference = reference;
        self
    }

    pub(crate) fn budget(mut self, budget: f64) -> Row {
        self.budget = Some(budget);
        self
    }

    /// The figure on the machine where the budgets were set.
    pub(crate) fn seen(mut self, figure: f64) -> Row {
        self.budget = Some(figure);
        self.seen = true;
        self
    }

    pub(crate) fn more_is_better(mut self) -> Row {
        self.better = Better::More;
        self
    }

    pub(crate) fn of(mut self, cells: Vec<Cell>) -> Row {
        self.cells = cells;
        self
    }
}

impl Cell {
    pub(crate) fn one(figure: f64) -> Cell {
        Cell::Rounds(vec![figure])
    }

    pub(crate) fn median(&self) -> Option<f64> {
        self.best_and_median(Better::Less).map(|(_, median)| median)
    }

    /// The best of the rounds and the one in the middle.
    fn best_and_median(&self, better: Better) -> Option<(f64, f64)> {
        let Cell::Rounds(rounds) = self else { return None };
        let mut rounds = rounds.clone();
        rounds.sort_by(f64::total_cmp);
        if better == Better::More {
            rounds.reverse();
        }
        Some((*rounds.first()?, rounds[rounds.len() / 2]))
    }
}

/// The whole of it: headings and rows, in columns.
pub(crate) fn render(names: &[String], rows: &[Row]) -> String {
    let mut lines: Vec<Vec<String>> = Vec::new();
    let text = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let mut heading = text(&["", "", "reference", "budget"]);
    let mut below = text(&["operation", "unit", "", ""]);
    for name in names {
        heading.extend(text(&[name, ""]));
        below.extend(text(&["best", "median"]));
    }
    lines.push(heading);
    lines.push(below);
    let mut over = false;
    for row in rows {
        let mut line = text(&[&row.label, row.unit, row.reference]);
        line.push(row.budget.map(number).unwrap_or_default());
        for cell in &row.cells {
            match (cell, cell.best_and_median(row.better)) {
                (_, Some((best, median))) => {
                    let is_over = !row.seen
                        && row.budget.is_some_and(|budget| match row.better {
                            Better::Less => best > budget,
                            Better::More => best < budget,
                        });
                    over |= is_over;
                    line.push(format!("{}{}", number(best), if is_over { "*" } else { "" }));
                    line.push(number(median));
                }
                (Cell::NotThere, _) => line.extend(text(&["not there yet", ""])),
                _ => line.extend(text(&["-", ""])),
            }
        }
        lines.push(line);
    }
    let mut out = columns(&lines);
    if over {
        out.push_str("* over the budget\n");
    }
    out
}

/// The first two columns to the left, the others to the right.
fn columns(lines: &[Vec<String>]) -> String {
    let count = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|text| text.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut out = String::new();
    for line in lines {
        let mut text = String::new();
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let _ =
                if column < 2 { write!(text, "{cell:<width$}  ") } else { write!(text, "{cell:>width$}  ") };
        }
        let _ = writeln!(out, "{}", text.trim_end());
    }
    out
}

/// With three digits that count, and commas in what is large.
fn number(number: f64) -> String {
    let digits = match number.abs() {
        ..0.1 => 3,
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    grouped(&format!("{number:.digits$}"))
}

/// How many there are.
pub(crate) fn count(number: usize) -> String {
    grouped(&number.to_string())
}

fn grouped(text: &str) -> String {
    let (whole, fraction) =
        text.split_once('.').map_or((text, String::new()), |(whole, rest)| (whole, format!(".{rest}")));
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place) % 3 == 0 && digit.is_ascii_digit() {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + &fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_count() {
        let texts: Vec<String> = [0.0612, 0.17, 2.9, 55.04, 797.3, 1146.0, 1_234_567.0].map(number).into();
        assert_eq!(texts, ["0.061", "0.17", "2.90", "55.0", "797", "1,146", "1,234,567"]);
    }

    #[test]
    fn the_table_has_both_servers_side_by_side() {
        let rows = [
            Row::new("get Pod, CPU", "ms")
                .reference("0.97")
                .budget(0.06)
                .of(vec![Cell::Rounds(vec![0.08, 0.07, 0.5]), Cell::Unknown]),
            Row::new("get Pod, rate", "1/s")
                .budget(2500.0)
                .more_is_better()
                .of(vec![Cell::Rounds(vec![900.0, 2000.0, 1000.0]), Cell::NotThere]),
        ];
        let table = render(&["pintle".to_owned(), "other".to_owned()], &rows);
        let expected = [
            "                     reference  budget  pintle                  other",
            "operation      unit                       best  median           best  median",
            "get Pod, CPU   ms         0.97   0.060  0.070*   0.080              -",
            "get Pod, rate  1/s               2,500  2,000*   1,000  not there yet",
            "* over the budget",
        ];
        assert_eq!(table.lines().collect::<Vec<_>>(), expected);
    }
}
