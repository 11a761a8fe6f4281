//! Tables as Go's `text/tabwriter` aligns them: cells end with a comma, columns are at least eight wide.

use std::fmt::Write;

const LEAST_WIDTH: usize = 8;

/// Rows of the same number of cells.
pub(crate) struct Table(Vec<Vec<String>>);

impl Table {
    pub(crate) fn new(headers: &[&str]) -> Table {
        Table(vec![headers.iter().map(|header| (*header).to_owned()).collect()])
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.0.push(cells);
    }

    pub(crate) fn render(&self) -> String {
        let columns = self.0.first().map_or(0, Vec::len);
        // With the comma and a space.
        let width = |cell: &String| cell.chars().count() + 2;
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                let cells = self.0.iter().filter_map(|row| row.get(column));
                cells.map(width).max().unwrap_or_default().max(LEAST_WIDTH)
            })
            .collect();
        let mut text = String::new();
        for row in &self.0 {
            for (index, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let is_last = index + 1 == row.len();
                // Writing to a string cannot fail.
                let _ = match is_last {
                    true => write!(text, "{cell}"),
                    false => write!(text, "{:<width$}", format!("{cell},")),
                };
            }
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_with_spaces() {
        let mut table = Table::new(&["PriorityLevelName", "Index", "Last"]);
        table.row(vec!["a".into(), "1".into(), String::new()]);
        table.row(vec!["b".into(), "1234567".into(), "x".into()]);
        let expect = "PriorityLevelName, Index,   Last\n\
                      a,                 1,       \n\
                      b,                 1234567, x\n";
        assert_eq!(table.render(), expect);
    }
}
