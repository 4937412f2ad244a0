//! What keeps a run from going on for ever.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use legation_api::tasks::TokenUsage;
use legation_models::Usage;
use sha2::{Digest, Sha256};

/// How many results are compared.
const RECENT: usize = 20;
/// After so many equal ones the model is told.
const TOLD_AT: usize = 3;
/// After more than this it is stopped.
const EQUAL_MAX: usize = 5;

/// Bounds of one run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunLimits {
    /// Steps.
    pub(crate) turns_max: u32,
    /// Tokens read and written together; none when not given.
    pub(crate) tokens_max: Option<u64>,
    /// Time of work, without the time it stood still for somebody.
    pub(crate) wall_clock: Option<Duration>,
    /// Bytes of one answer.
    pub(crate) answer_bytes_max: usize,
    /// Tokens of one answer, as the model is told.
    pub(crate) answer_tokens_max: Option<u32>,
    /// How often a check may fail.
    pub(crate) check_tries: u32,
    /// How often a model's failure is tried again before anything new came.
    pub(crate) retries: u32,
    /// The longest wait that a server may ask for.
    pub(crate) retry_after_max: Duration,
}

/// Why a run was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spent {
    Turns(u32),
    Tokens(u64),
    Time(Duration),
    Repeats(usize),
}

/// What a run has used up.
#[derive(Debug)]
pub(crate) struct Guard {
    turns: u32,
    input: u64,
    output: u64,
    counted: bool,
    /// Work before it last stood still.
    worked: Duration,
    /// Since when it works.
    since: Option<Instant>,
    recent: VecDeque<[u8; 32]>,
}

/// What a result means for the guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    No,
    /// The model should be told, this once.
    Tell,
    Stop(usize),
}

// === impl RunLimits ===

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            turns_max: 50,
            tokens_max: None,
            wall_clock: None,
            answer_bytes_max: 256 * 1024,
            answer_tokens_max: None,
            check_tries: 3,
            retries: 5,
            retry_after_max: Duration::from_secs(120),
        }
    }
}

// === impl Guard ===

impl Guard {
    pub(crate) fn new() -> Self {
        Self {
            turns: 0,
            input: 0,
            output: 0,
            counted: false,
            worked: Duration::ZERO,
            since: None,
            recent: VecDeque::with_capacity(RECENT),
        }
    }

    /// It works from now on.
    pub(crate) fn works(&mut self, now: Instant) {
        self.since.get_or_insert(now);
    }

    /// It stands still from now on.
    pub(crate) fn rests(&mut self, now: Instant) {
        if let Some(since) = self.since.take() {
            self.worked += now.saturating_duration_since(since);
        }
    }

    pub(crate) fn worked(&self, now: Instant) -> Duration {
        let running = self.since.map(|since| now.saturating_duration_since(since));
        self.worked + running.unwrap_or_default()
    }

    /// When its time is over, while it works.
    pub(crate) fn deadline(&self, limits: &RunLimits) -> Option<Instant> {
        let left = limits.wall_clock?.saturating_sub(self.worked);
        self.since?.checked_add(left)
    }

    /// A step begins.
    pub(crate) fn turn(&mut self) {
        self.turns = self.turns.saturating_add(1);
    }

    /// How long it was worked on before.
    pub(crate) fn has_worked(&mut self, worked: Duration) {
        self.worked += worked;
    }

    /// What was used before.
    pub(crate) fn has_used(&mut self, usage: TokenUsage) {
        self.counted |= usage.input.is_some() || usage.output.is_some();
        self.input = self.input.saturating_add(usage.input.unwrap_or(0));
        self.output = self.output.saturating_add(usage.output.unwrap_or(0));
    }

    /// What a request cost; an estimate in bytes where its server does not count.
    pub(crate) fn used(&mut self, usage: &Usage, asked: u64, said: u64) {
        self.counted |= usage.input.is_some() || usage.output.is_some();
        self.input = self.input.saturating_add(usage.input.unwrap_or(asked));
        self.output = self.output.saturating_add(usage.output.unwrap_or(said));
    }

    /// As views have it: only what a server counted.
    pub(crate) fn usage(&self) -> Option<TokenUsage> {
        self.counted.then_some(TokenUsage {
            input: Some(self.input),
            output: Some(self.output),
        })
    }

    /// Whether another step may begin.
    pub(crate) fn spent(&self, limits: &RunLimits, now: Instant) -> Option<Spent> {
        if self.turns >= limits.turns_max {
            return Some(Spent::Turns(self.turns));
        }
        let tokens = self.input.saturating_add(self.output);
        if limits.tokens_max.is_some_and(|most| tokens >= most) {
            return Some(Spent::Tokens(tokens));
        }
        self.late(limits, now)
    }

    pub(crate) fn late(&self, limits: &RunLimits, now: Instant) -> Option<Spent> {
        let most = limits.wall_clock?;
        (self.worked(now) >= most).then_some(Spent::Time(most))
    }

    /// Notes what a call came to. The result is part of what is compared, so that waiting for
    /// something by asking for it again and again is no repetition as long as the answer changes.
    pub(crate) fn result(&mut self, tool: &str, input: &str, output: &str) -> Repeat {
        let mut hash = Sha256::new();
        for part in [tool, input, output] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        let hash: [u8; 32] = hash.finalize().into();
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(hash);
        let equal = self.recent.iter().filter(|one| **one == hash).count();
        match equal {
            equal if equal > EQUAL_MAX => Repeat::Stop(equal),
            TOLD_AT => Repeat::Tell,
            _ => Repeat::No,
        }
    }
}

// === impl Spent ===

impl Spent {
    /// Which bound, as a word.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Turns(_) => "turns",
            Self::Tokens(_) => "tokens",
            Self::Time(_) => "wall_clock",
            Self::Repeats(_) => "repetition",
        }
    }

    pub(crate) fn message(self) -> String {
        match self {
            Self::Turns(turns) => format!("the task was not done after {turns} steps"),
            Self::Tokens(tokens) => format!("the task was not done after {tokens} tokens"),
            Self::Time(most) => {
                format!("the task was not done after {} s of work", most.as_secs())
            }
            Self::Repeats(equal) => {
                format!("the model made the same call with the same result {equal} times")
            }
        }
    }

    pub(crate) fn hint(self) -> &'static str {
        match self {
            Self::Turns(_) => "make the task smaller, or raise `turns_max` under [delegate]",
            Self::Tokens(_) => "make the task smaller, or raise `tokens_max` under [delegate]",
            Self::Time(_) => "make the task smaller, or raise `wall_clock` under [delegate]",
            Self::Repeats(_) => "say more exactly what is to be done, or choose a larger model",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_calls_with_equal_results_are_stopped_and_polling_is_not() {
        let mut guard = Guard::new();
        let seen: Vec<Repeat> = (0..6).map(|_| guard.result("bash", "ls", "a")).collect();
        let no = Repeat::No;
        assert_eq!(seen, [no, no, Repeat::Tell, no, no, Repeat::Stop(6)]);
        let mut guard = Guard::new();
        for round in 0..100 {
            let output = round.to_string();
            assert_eq!(guard.result("bash", "ls", &output), Repeat::No);
        }
        // Between other calls too.
        let mut guard = Guard::new();
        let stopped = (0..20).any(|round| {
            let odd = guard.result("bash", &(round % 2).to_string(), "x");
            matches!(odd, Repeat::Stop(_))
        });
        assert!(stopped, "two calls in turn are a loop too");
    }

    #[test]
    fn time_counts_only_while_it_works() {
        let clock = legation_core::clock::ManualClock::at(legation_core::Wall(0));
        let at = |seconds| {
            use legation_core::Clock;
            clock.now() + Duration::from_secs(seconds)
        };
        let limits = RunLimits {
            wall_clock: Some(Duration::from_secs(10)),
            ..RunLimits::default()
        };
        let mut guard = Guard::new();
        guard.works(at(0));
        assert_eq!(guard.deadline(&limits), Some(at(10)));
        guard.rests(at(4));
        assert_eq!(guard.spent(&limits, at(100)), None);
        guard.works(at(100));
        assert_eq!(guard.deadline(&limits), Some(at(106)));
        assert_eq!(guard.late(&limits, at(105)), None);
        assert_eq!(
            guard.late(&limits, at(106)),
            Some(Spent::Time(Duration::from_secs(10)))
        );
    }

    #[test]
    fn turns_and_tokens_have_an_end() {
        let limits = RunLimits {
            turns_max: 2,
            tokens_max: Some(100),
            ..RunLimits::default()
        };
        let now = legation_core::SystemClock::shared().now();
        let mut guard = Guard::new();
        guard.turn();
        assert_eq!(guard.spent(&limits, now), None);
        guard.used(&Usage::default(), 60, 10);
        assert_eq!((guard.spent(&limits, now), guard.usage()), (None, None));
        let usage = Usage {
            input: Some(20),
            output: Some(10),
            ..Usage::default()
        };
        guard.used(&usage, 0, 0);
        assert_eq!(guard.spent(&limits, now), Some(Spent::Tokens(100)));
        guard.turn();
        assert_eq!(guard.spent(&limits, now), Some(Spent::Turns(2)));
    }
}
