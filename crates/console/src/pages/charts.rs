//! Charts as SVG in the page: no script, no image, nothing to load. What a chart
//! shows stands beside it in words, for those who cannot see it.

use maud::{Markup, html};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 170.0;
const LEFT: f64 = 46.0;
const BOTTOM: f64 = 22.0;
const TOP: f64 = 10.0;

/// Numbers of one kind, one for each span of time.
#[derive(Debug, Clone)]
pub(crate) struct Series<'a> {
    pub(crate) name: &'a str,
    pub(crate) values: Vec<f64>,
}

/// What a chart is of.
#[derive(Debug, Clone)]
pub(crate) struct Chart<'a> {
    pub(crate) title: &'a str,
    /// What one number counts, such as `ms`.
    pub(crate) unit: &'a str,
    /// What stands below the first and the last number.
    pub(crate) ends: (String, String),
    /// One or two.
    pub(crate) series: Vec<Series<'a>>,
}

// === impl Chart ===

impl Chart<'_> {
    /// A bar for each span, the second series upon the first.
    pub(crate) fn bars(&self) -> Markup {
        let totals: Vec<f64> = (0..self.count())
            .map(|place| self.series.iter().map(|one| at(one, place)).sum())
            .collect();
        let top = round_up(totals.iter().copied().fold(0.0, f64::max));
        let step = (WIDTH - LEFT) / as_float(self.count().max(1));
        let height = |value: f64| (HEIGHT - BOTTOM - TOP) * value / top;
        let mut marks = Vec::new();
        for place in 0..self.count() {
            let mut y = HEIGHT - BOTTOM;
            for (index, one) in self.series.iter().enumerate() {
                let tall = height(at(one, place));
                if tall > 0.0 {
                    y -= tall;
                    let x = LEFT + step * as_float(place);
                    let class = if index == 0 { "first" } else { "second" };
                    marks.push((class, x + step * 0.1, y, step * 0.8, tall.max(1.0)));
                }
            }
        }
        let marks = html! {
            @for (class, x, y, width, height) in marks {
                rect class=(class) x=(short(x)) y=(short(y)) width=(short(width)) height=(short(height)) {}
            }
        };
        self.framed(top, &marks)
    }

    /// A line for each series.
    pub(crate) fn lines(&self) -> Markup {
        let all = self.series.iter().flat_map(|one| one.values.iter());
        let top = round_up(
            all.copied()
                .filter(|value| value.is_finite())
                .fold(0.0, f64::max),
        );
        let step = (WIDTH - LEFT) / as_float(self.count().max(1));
        let y = |value: f64| HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * value / top;
        let lines = self.series.iter().map(|one| {
            let mut path = String::new();
            let mut is_down = false;
            for (place, value) in one.values.iter().enumerate() {
                // A span in which nothing was measured is a gap.
                if !value.is_finite() {
                    is_down = false;
                    continue;
                }
                let word = if is_down { 'L' } else { 'M' };
                let x = LEFT + step * (as_float(place) + 0.5);
                path.push_str(&format!("{word}{} {}", short(x), short(y(*value))));
                // A measurement alone is seen as a dot.
                if !is_down {
                    path.push_str("h1.5");
                }
                is_down = true;
            }
            path
        });
        let lines: Vec<String> = lines.collect();
        let marks = html! {
            @for (index, path) in lines.iter().enumerate() {
                path class=(if index == 0 { "line" } else { "line high" }) d=(path) {}
            }
        };
        self.framed(top, &marks)
    }

    fn framed(&self, top: f64, marks: &Markup) -> Markup {
        let base = HEIGHT - BOTTOM;
        html! {
            figure.card {
                figcaption { h3 { (self.title) } }
                svg.chart viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(self.words()) {
                    line.axis x1=(LEFT) y1=(base) x2=(WIDTH) y2=(base) {}
                    line.axis x1=(LEFT) y1=(TOP) x2=(WIDTH) y2=(TOP) {}
                    text x=(LEFT - 6.0) y=(TOP + 4.0) text-anchor="end" { (number(top)) }
                    text x=(LEFT - 6.0) y=(base + 4.0) text-anchor="end" { "0" }
                    text x=(LEFT) y=(HEIGHT - 5.0) { (self.ends.0) }
                    text x=(WIDTH) y=(HEIGHT - 5.0) text-anchor="end" { (self.ends.1) }
                    (marks)
                }
                ul.key {
                    @for (index, one) in self.series.iter().enumerate() {
                        li {
                            span class=(if index == 0 { "swatch" } else { "swatch second" }) {}
                            (one.name) " (" (self.unit) ")"
                        }
                    }
                }
            }
        }
    }

    /// The chart for those who hear it.
    fn words(&self) -> String {
        let series = self.series.iter().map(|one| {
            let mut measured = one.values.iter().copied().filter(|value| value.is_finite());
            let most = measured.clone().fold(0.0, f64::max);
            let last = measured.next_back().unwrap_or(0.0);
            format!(
                "{}: most {} {unit}, last {} {unit}",
                one.name,
                number(most),
                number(last),
                unit = self.unit
            )
        });
        let series: Vec<String> = series.collect();
        format!(
            "{}, from {} to {}. {}",
            self.title,
            self.ends.0,
            self.ends.1,
            series.join("; ")
        )
    }

    fn count(&self) -> usize {
        let lengths = self.series.iter().map(|one| one.values.len());
        lengths.max().unwrap_or(0)
    }
}

fn at(series: &Series<'_>, place: usize) -> f64 {
    let value = series.values.get(place).copied().unwrap_or(0.0);
    if value.is_finite() { value } else { 0.0 }
}

/// Charts have some hundred places; what is larger is of no use to anybody.
fn as_float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// The next of 1, 2, 5, 10, 20, 50 … that is not less, so that axes end in numbers
/// that people read.
fn round_up(value: f64) -> f64 {
    let mut step = 1.0;
    if value > 0.0 {
        while step > value {
            step /= 10.0;
        }
    }
    loop {
        for times in [1.0, 2.0, 5.0] {
            if step * times >= value {
                return step * times;
            }
        }
        step *= 10.0;
    }
}

/// A coordinate; a tenth of a unit is less than anybody sees.
fn short(value: f64) -> String {
    format!("{value:.1}")
}

fn number(value: f64) -> String {
    if value >= 10_000.0 {
        format!("{:.0} k", value / 1_000.0)
    } else if value >= 10.0 || value == value.trunc() {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart<'a>(series: Vec<Series<'a>>) -> Chart<'a> {
        Chart {
            title: "Calls",
            unit: "calls",
            ends: ("1 Nov".to_owned(), "2 Nov".to_owned()),
            series,
        }
    }

    #[test]
    fn axes_end_in_numbers_that_people_read() {
        let cases = [
            (0.0, 1.0),
            (1.0, 1.0),
            (3.0, 5.0),
            (7.0, 10.0),
            (11.0, 20.0),
            (4_999.0, 5_000.0),
            (0.003, 0.005),
        ];
        for (value, top) in cases {
            let found = round_up(value);
            assert!((found - top).abs() < 1e-9, "{value}: {found}, not {top}");
        }
    }

    #[test]
    fn what_a_chart_shows_is_said_too() {
        let values = vec![1.0, 7.0, 3.0];
        let shown = chart(vec![Series {
            name: "allowed",
            values,
        }])
        .bars();
        let text = shown.into_string();
        assert!(
            text.contains("allowed: most 7 calls, last 3 calls"),
            "{text}"
        );
        assert_eq!(text.matches("<rect").count(), 3, "{text}");
    }

    #[test]
    fn a_span_without_measurements_is_a_gap() {
        let values = vec![1.0, f64::NAN, 3.0, 4.0];
        let shown = chart(vec![Series {
            name: "median",
            values,
        }])
        .lines();
        let text = shown.into_string();
        let path = text.split(" d=\"").nth(1).expect("a path");
        let path = path.split('"').next().expect("its end");
        assert_eq!(path.matches('M').count(), 2, "{path}");
        assert_eq!(path.matches('L').count(), 1, "{path}");
        assert!(!text.contains("NaN"), "{text}");
    }

    #[test]
    fn nothing_to_show_is_an_empty_chart() {
        let shown = chart(vec![Series {
            name: "none",
            values: Vec::new(),
        }]);
        assert!(!shown.bars().into_string().contains("<rect"));
        assert!(!shown.lines().into_string().contains("NaN"));
    }
}
