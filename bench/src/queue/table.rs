//! The table: one line for each figure, one column for each store and peer.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// Figures as they come in.
#[derive(Debug, Default)]
pub(crate) struct Table {
    lines: Vec<Line>,
    columns: Vec<String>,
    /// The column that the peers are compared with, and the peers.
    compared: Vec<String>,
}

#[derive(Debug)]
struct Line {
    label: String,
    unit: String,
    /// (column, one figure for each run).
    cells: Vec<(String, Vec<f64>)>,
}

/// Ours, in the ratio.
const OURS: &str = "postgres";

impl Table {
    /// Adds a run's figure.
    pub(crate) fn add(&mut self, label: &str, unit: &str, column: &str, figure: f64) {
        eprintln!("    {column}: {label}: {} {unit}", shown(figure));
        if !self.columns.iter().any(|known| known == column) {
            self.columns.push(column.to_owned());
        }
        let line = match self.lines.iter().position(|line| line.label == label) {
            Some(known) => &mut self.lines[known],
            None => {
                self.lines.push(Line { label: label.to_owned(), unit: unit.to_owned(), cells: Vec::new() });
                let last = self.lines.len() - 1;
                &mut self.lines[last]
            }
        };
        match line.cells.iter_mut().find(|(known, _)| known == column) {
            Some((_, figures)) => figures.push(figure),
            None => line.cells.push((column.to_owned(), vec![figure])),
        }
    }

    /// Adds a run's figure of a peer, to be compared with ours on PostgreSQL.
    pub(crate) fn add_peer(&mut self, label: &str, unit: &str, peer: &str, figure: f64) {
        if !self.compared.iter().any(|known| known == peer) {
            self.compared.push(peer.to_owned());
        }
        self.add(label, unit, peer, figure);
    }

    /// The last figure of a line and column.
    pub(crate) fn last(&self, label: &str, column: &str) -> Option<f64> {
        let line = self.lines.iter().find(|line| line.label == label)?;
        line.figures(column)?.last().copied()
    }

    /// The figures for people. A ratio is of the means; above 1 we have more of the unit, which with ↓ is worse.
    pub(crate) fn markdown(&self) -> String {
        let mut head: Vec<String> = ["measure", "unit"].map(str::to_owned).to_vec();
        head.extend(self.columns.iter().cloned());
        head.extend(self.compared.iter().map(|peer| format!("{OURS} ÷ {peer}")));
        let mut text = String::new();
        row(&mut text, &head);
        row(&mut text, &vec!["---".to_owned(); head.len()]);
        for line in &self.lines {
            let mut cells = vec![line.label.clone(), line.unit.clone()];
            cells.extend(self.columns.iter().map(|column| {
                let shown = line.figures(column).map(|figures| figures.iter().map(|figure| shown(*figure)).collect());
                shown.map_or_else(|| "–".to_owned(), |shown: Vec<String>| shown.join(" / "))
            }));
            let ratios = self.compared.iter().map(|peer| line.ratio(peer));
            cells.extend(ratios.map(|ratio| ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}"))));
            row(&mut text, &cells);
        }
        text
    }

    /// The figures for programs.
    pub(crate) fn json(&self, header: &str) -> Value {
        let lines = self.lines.iter().map(|line| {
            let figures: serde_json::Map<String, Value> =
                line.cells.iter().map(|(column, figures)| (column.clone(), json!(figures))).collect();
            let ratios: serde_json::Map<String, Value> =
                self.compared.iter().filter_map(|peer| Some((peer.clone(), json!(line.ratio(peer)?)))).collect();
            json!({ "measure": line.label, "unit": line.unit, "figures": figures, "ratios": ratios })
        });
        json!({ "about": header.lines().collect::<Vec<_>>(), "lines": lines.collect::<Vec<_>>() })
    }
}

impl Line {
    fn figures(&self, column: &str) -> Option<&[f64]> {
        self.cells.iter().find(|(known, _)| known == column).map(|(_, figures)| figures.as_slice())
    }

    fn ratio(&self, peer: &str) -> Option<f64> {
        let mean = |figures: &[f64]| figures.iter().sum::<f64>() / figures.len() as f64;
        Some(mean(self.figures(OURS)?) / mean(self.figures(peer)?)).filter(|ratio| ratio.is_finite())
    }
}

fn row(text: &mut String, cells: &[String]) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

/// Three digits, which is more than two runs agree on.
fn shown(figure: f64) -> String {
    match figure.abs() {
        size if size >= 100_000.0 => format!("{:.0}k", figure / 1e3),
        size if size >= 10_000.0 => format!("{:.1}k", figure / 1e3),
        size if size >= 1_000.0 => format!("{:.2}k", figure / 1e3),
        size if size >= 100.0 => format!("{figure:.0}"),
        size if size >= 10.0 => format!("{figure:.1}"),
        _ => format!("{figure:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_ours_over_the_peers() {
        let mut table = Table::default();
        for (ours, theirs) in [(90_000.0, 30_000.0), (110_000.0, 70_000.0)] {
            table.add("drain", "jobs/s", "postgres", ours);
            table.add_peer("drain", "jobs/s", "other", theirs);
        }
        table.add("alone", "ms", "memory", 1.5);
        assert_eq!(
            table.markdown(),
            "| measure | unit | postgres | other | memory | postgres ÷ other |\n\
             | --- | --- | --- | --- | --- | --- |\n\
             | drain | jobs/s | 90.0k / 110k | 30.0k / 70.0k | – | 2.00 |\n\
             | alone | ms | – | – | 1.50 | – |\n"
        );
    }
}
