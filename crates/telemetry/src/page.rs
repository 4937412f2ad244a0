//! The text format of Prometheus, 0.0.4: one family after the other, each with its samples.

use std::fmt::{self, Write as _};

/// What kind of numbers a family has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
    /// How often something was at most so much.
    Histogram,
}

/// A page under construction.
#[derive(Debug, Default)]
pub struct Page {
    text: String,
    name: &'static str,
}

// === impl Kind ===

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

// === impl Page ===

impl Page {
    /// Begins a family; its samples follow. Each family stands on a page once.
    pub fn family(&mut self, name: &'static str, kind: Kind, help: &str) -> &mut Self {
        self.name = name;
        let kind = kind.as_str();
        self.write(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
        self
    }

    /// One number of the family.
    pub fn sample(&mut self, labels: &[(&str, &str)], value: u64) -> &mut Self {
        self.line("", labels, format_args!("{value}"))
    }

    /// One number of the family that is no whole one.
    pub fn fraction(&mut self, labels: &[(&str, &str)], value: f64) -> &mut Self {
        self.line("", labels, format_args!("{value}"))
    }

    /// A family of one number without labels.
    pub fn single(&mut self, name: &'static str, kind: Kind, help: &str, value: u64) -> &mut Self {
        self.family(name, kind, help).sample(&[], value)
    }

    /// The page.
    #[must_use]
    pub fn into_text(self) -> String {
        self.text
    }

    /// A line whose name ends in `suffix`, as those of histograms do.
    pub(crate) fn line(
        &mut self,
        suffix: &str,
        labels: &[(&str, &str)],
        value: fmt::Arguments<'_>,
    ) -> &mut Self {
        let name = self.name;
        self.write(format_args!("{name}{suffix}"));
        for (index, (label, text)) in labels.iter().enumerate() {
            let open = if index == 0 { '{' } else { ',' };
            self.write(format_args!("{open}{label}=\""));
            for c in text.chars() {
                match c {
                    '\\' => self.text.push_str("\\\\"),
                    '"' => self.text.push_str("\\\""),
                    '\n' => self.text.push_str("\\n"),
                    c => self.text.push(c),
                }
            }
            self.text.push('"');
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        self.write(format_args!(" {value}\n"));
        self
    }

    fn write(&mut self, text: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _: fmt::Result = self.text.write_fmt(text);
    }
}
