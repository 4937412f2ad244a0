//! Results, their targets, and how they are shown.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use serde::Serialize;

/// All results of a run.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Table {
    rows: Vec<Row>,
    /// What was left out, and why.
    skipped: Vec<String>,
}

/// One measured number.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    name: String,
    value: f64,
    unit: &'static str,
    target: Target,
}

/// What a number should be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Target {
    /// It is reported only.
    None,
    AtLeast(f64),
    AtMost(f64),
    Exactly(f64),
}

// === impl Table ===

impl Table {
    pub(crate) fn push(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Says what was left out.
    pub(crate) fn skip(&mut self, what: impl Into<String>) {
        self.skipped.push(what.into());
    }

    /// Whether no target is missed.
    pub(crate) fn all_met(&self) -> bool {
        self.rows.iter().all(|row| row.met() != Some(false))
    }

    /// For a terminal.
    pub(crate) fn text(&self) -> String {
        let width = self
            .rows
            .iter()
            .map(|row| row.name.chars().count())
            .max()
            .unwrap_or(0);
        let mut text = String::new();
        for row in &self.rows {
            let Row {
                name, value, unit, ..
            } = row;
            let (mark, target) = (row.mark(), row.target.text());
            let padding = " ".repeat(width - name.chars().count());
            let line = format!("{mark} {name}{padding}  {value:>9.2} {unit:<4} {target}");
            text.push_str(line.trim_end());
            text.push('\n');
        }
        for skipped in &self.skipped {
            writeln!(text, "- {skipped}").expect("a string takes every write");
        }
        text.trim_end().to_owned()
    }

    /// For the README.
    pub(crate) fn markdown(&self) -> String {
        let mut text = "| | measured | target | |\n|---|---|---|---|\n".to_owned();
        for row in &self.rows {
            let Row {
                name, value, unit, ..
            } = row;
            let (mark, target) = (row.mark(), row.target.text());
            writeln!(text, "| {name} | {value:.2} {unit} | {target} | {mark} |")
                .expect("a string takes every write");
        }
        for skipped in &self.skipped {
            writeln!(text, "\n- {skipped}").expect("a string takes every write");
        }
        text.trim_end().to_owned()
    }
}

// === impl Row ===

impl Row {
    pub(crate) fn new(name: String, value: f64, unit: &'static str, target: Target) -> Self {
        Self {
            name,
            value,
            unit,
            target,
        }
    }

    fn met(&self) -> Option<bool> {
        match self.target {
            Target::None => None,
            Target::AtLeast(least) => Some(self.value >= least),
            Target::AtMost(most) => Some(self.value <= most),
            Target::Exactly(exact) => Some((self.value - exact).abs() < 1e-9),
        }
    }

    fn mark(&self) -> &'static str {
        match self.met() {
            None => " ",
            Some(true) => "✓",
            Some(false) => "✗",
        }
    }
}

// === impl Target ===

impl Target {
    fn text(self) -> String {
        match self {
            Self::None => String::new(),
            Self::AtLeast(least) => format!("≥ {least}"),
            Self::AtMost(most) => format!("≤ {most}"),
            Self::Exactly(exact) => format!("= {exact}"),
        }
    }
}
