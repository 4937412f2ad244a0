//! What a frame costs: a key is pressed, a part of an answer comes, everything is drawn.
//!
//! Arguments: entries of the conversation, frames. A line of JSON for each way to draw.

use std::io::{self, Write as _};

use legation_tui::Stage;
use rustix::time::{ClockId, clock_gettime};

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

/// Milliseconds of this thread's own: a frame waits for nobody, and what else the machine does is not
/// a part of it.
fn measured(work: impl FnOnce()) -> f64 {
    let spent = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
    };
    let before = spent();
    work();
    spent() - before
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
