//! Whether a server goes on with a turn, asked without having it write a word.
//!
//! The server is shown a short conversation twice: as it stands before the
//! model's turn, and with the turn begun. If it reads the second as the first
//! plus the words, and splits both into the same tokens up to there, then what
//! it would write next is what it would have written.

use serde_json::{Value, json};

use super::Ask;
use crate::error::ModelError;
use crate::resume::Resumption;

const ASKED: &str = "Count from one to five.";
const BEGUN: &str = "One, two, thr";

// === impl Ask ===

impl Ask<'_> {
    pub(super) async fn llama_cpp_resumes(&self) -> Result<Resumption, ModelError> {
        let [before, begun] = questions();
        let before = self.post("/apply-template", &before).await?;
        let begun = self.post("/apply-template", &begun).await?;
        let prompt = |answer: &Value| answer.get("prompt")?.as_str().map(str::to_owned);
        let (Some(before), Some(begun)) = (prompt(&before), prompt(&begun)) else {
            return Ok(Resumption::Restart);
        };
        if begun != format!("{before}{BEGUN}") {
            return Ok(Resumption::Restart);
        }
        let split =
            |text: &str| json!({ "content": text, "add_special": true, "parse_special": true });
        let before = self.post("/tokenize", &split(&before)).await?;
        let begun = self.post("/tokenize", &split(&begun)).await?;
        Ok(match same_start(&before, &begun) {
            true => Resumption::Exact,
            false => Resumption::Prefill,
        })
    }

    pub(super) async fn vllm_resumes(&self, model: &str) -> Result<Resumption, ModelError> {
        let [mut before, mut begun] = questions();
        before["model"] = json!(model);
        begun["model"] = json!(model);
        let before = self.post("/tokenize", &before).await?;
        let begun = self.post("/tokenize", &begun).await?;
        Ok(match same_start(&before, &begun) {
            true => Resumption::Exact,
            // Where tokens cannot be had, nothing shows that it goes on at all.
            false => Resumption::Restart,
        })
    }
}

fn questions() -> [Value; 2] {
    let asked = json!({ "role": "user", "content": ASKED });
    let begun = json!({ "role": "assistant", "content": BEGUN });
    [
        json!({ "messages": [asked], "add_generation_prompt": true }),
        json!({
            "messages": [asked, begun],
            "add_generation_prompt": false,
            "continue_final_message": true,
        }),
    ]
}

/// Whether the tokens of one are the first of the other, which has more.
fn same_start(before: &Value, begun: &Value) -> bool {
    let tokens = |answer: &Value| answer.get("tokens")?.as_array().cloned();
    match (tokens(before), tokens(begun)) {
        (Some(before), Some(begun)) => {
            !before.is_empty() && begun.len() > before.len() && begun.starts_with(&before)
        }
        _ => false,
    }
}
