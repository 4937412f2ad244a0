//! How long it takes to dispatch a queue.
//!
//! Arguments: tasks, times. A line of JSON for each number of workers.

use std::io::{self, Write as _};

use legation_engine::stage::dispatch;

fn main() {
    let mut numbers = std::env::args()
        .skip(1)
        .filter_map(|word| word.parse().ok());
    let tasks = numbers.next().unwrap_or(1_000);
    let times = numbers.next().unwrap_or(50);
    for workers in [1, 4] {
        let measured = (0..times).map(|_| {
            let took = dispatch(tasks, workers).expect("every task begins once");
            took.as_secs_f64() * 1000.0
        });
        let mut all: Vec<f64> = measured.collect();
        all.sort_by(f64::total_cmp);
        let at = |part: usize| all[(all.len() - 1) * part / 100];
        let line = format!(
            "{{\"workers\":{workers},\"p50_ms\":{:.4},\"max_ms\":{:.4}}}",
            at(50),
            at(100)
        );
        writeln!(io::stdout(), "{line}").expect("somebody reads what is measured");
    }
}
