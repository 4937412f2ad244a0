//! How a model goes on with a turn that was broken off.

/// What an answer that is gone on with is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumption {
    /// The server reads the very tokens it would have had before it if nobody
    /// had broken it off: what follows is what would have followed.
    Exact,
    /// It goes on with the text, and tokens at the seam may differ.
    Prefill,
    /// It cannot: the turn has to be asked for anew.
    Restart,
}

/// How a server is told to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoOn {
    /// It is not.
    Never,
    /// By `continue_final_message` beside the turn (llama.cpp, vLLM).
    Flag,
}

// === impl Resumption ===

impl Resumption {
    /// The word a program reads.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Prefill => "prefill",
            Self::Restart => "restart",
        }
    }
}
