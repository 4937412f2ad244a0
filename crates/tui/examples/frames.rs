//! What a frame costs: a key is pressed, a part of an answer comes, everything is drawn.
//!
//! Arguments: entries of the conversation, frames. A line of JSON for each way to draw.

use std::io::{self, Write as _};

use legation_core::{Clock as _, SystemClock};
use legation_tui::Stage;

fn main() {
    let mut numbers = std::env::args()
        .skip(1)
        .filter_map(|word| word.parse().ok());
    let entries = numbers.next().unwrap_or(10_000);
    let frames = numbers.next().unwrap_or(2_000);
    for (what, is_full) in [("inline", false), ("whole screen", true)] {
        let mut stage = Stage::with(entries, 120, 50, is_full);
        let mut drawn = 0;
        let times = (0..frames).map(|_| measured(|| drawn += stage.frame()));
        let times: Vec<f64> = times.collect();
        assert!(drawn > 0, "nothing was drawn");
        tell(what, times);
    }
    let mut stage = Stage::with(entries, 120, 50, true);
    let mut drawn = 0;
    let widths = (60..160)
        .cycle()
        .take(usize::try_from(frames).unwrap_or(200) / 10 + 1);
    let times = widths.map(|columns| {
        measured(|| {
            stage.resize(columns);
            drawn += stage.frame();
        })
    });
    tell("another width", times.collect());
}

fn measured(work: impl FnOnce()) -> f64 {
    let began = SystemClock.now();
    work();
    SystemClock.now().duration_since(began).as_secs_f64() * 1000.0
}

fn tell(what: &str, mut times: Vec<f64>) {
    times.sort_by(f64::total_cmp);
    let at = |part: usize| times[(times.len() - 1) * part / 100];
    let line = format!(
        "{{\"what\":\"{what}\",\"p50_ms\":{:.4},\"p99_ms\":{:.4},\"max_ms\":{:.4}}}",
        at(50),
        at(99),
        at(100)
    );
    writeln!(io::stdout(), "{line}").expect("somebody reads what is measured");
}
