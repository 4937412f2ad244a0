//! A model that says what a test wants, as a file llama.cpp reads.
//!
//! Its one attention layer looks exactly [`BACK`] tokens back and repeats what
//! stood there; its template puts the wanted answer at that place. So a test
//! scripts the words, and everything else of the engine is real: tokens,
//! template, cache, batches, sampling, grammars, streams. Weights that are
//! downloaded were rejected: they are large, and what they say is not known.
//!
//! The file's format: <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>.

use std::f64::consts::SQRT_2;

/// How many tokens the model looks back.
pub(super) const BACK: usize = 1024;

/// What the model says: see the template itself.
const TEMPLATE: &str = include_str!("echo.jinja");

const HEADS: usize = 5;
const HEAD: usize = 128;
/// Width of the model.
const WIDTH: usize = HEADS * HEAD;
/// Where the token that is seen ends and the one that is repeated begins.
const COPY: usize = 288;
/// A feature that is always there.
const ALWAYS: usize = 2 * COPY;
const FEED: usize = 64;
const BASE: f64 = 10_000.0;
/// How much clearer the wanted place is than its neighbours.
const SHARP: f64 = 20.0;
/// How much likelier the wanted token is than any other.
const SURE: f64 = 30.0;

/// Types of metadata.
const U32: u32 = 4;
const I32: u32 = 5;
const F32: u32 = 6;
const BOOL: u32 = 7;
const TEXT: u32 = 8;
const ARRAY: u32 = 9;
const ALIGNMENT: usize = 32;

/// A token: its text, its score, and whether it is normal (1), unknown (2),
/// control (3) or a byte (6).
type Token = (String, f32, i32);

/// Metadata, as it is written.
#[derive(Default)]
struct Facts {
    bytes: Vec<u8>,
    count: u64,
}

/// Matrices, row by row.
#[derive(Default)]
struct Tensors {
    infos: Vec<u8>,
    data: Vec<u8>,
    count: u64,
}

/// The file.
pub(super) fn file() -> Vec<u8> {
    let tokens = tokens();
    let facts = facts(&tokens);
    let tensors = tensors(tokens.len());
    let mut file = b"GGUF".to_vec();
    file.extend(3_u32.to_le_bytes());
    file.extend(tensors.count.to_le_bytes());
    file.extend(facts.count.to_le_bytes());
    file.extend(facts.bytes);
    file.extend(tensors.infos);
    file.resize(file.len().next_multiple_of(ALIGNMENT), 0);
    file.extend(tensors.data);
    file
}

fn tokens() -> Vec<Token> {
    let control = |text: &str| (text.to_owned(), 0.0, 3);
    let mut all = vec![
        ("<unk>".to_owned(), 0.0, 2),
        control("<s>"),
        control("</s>"),
    ];
    all.extend((0..=255).map(|byte| (format!("<0x{byte:02X}>"), 0.0, 6)));
    all.push(("\u{2581}".to_owned(), -1.0, 1));
    all.extend(["<|im_start|>", "<|im_end|>", "<|pad|>"].map(control));
    all
}

fn facts(tokens: &[Token]) -> Facts {
    let mut facts = Facts::default();
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    facts.text("general.architecture", "llama");
    facts.text("general.name", "tiny-echo");
    let last = tokens.len() - 1;
    for (name, value) in [
        ("general.file_type", 0),
        ("llama.context_length", 32_768),
        ("llama.embedding_length", WIDTH),
        ("llama.block_count", 1),
        ("llama.feed_forward_length", FEED),
        ("llama.attention.head_count", HEADS),
        ("llama.attention.head_count_kv", HEADS),
        ("llama.rope.dimension_count", HEAD),
        ("llama.vocab_size", tokens.len()),
        ("tokenizer.ggml.unknown_token_id", 0),
        ("tokenizer.ggml.bos_token_id", 1),
        ("tokenizer.ggml.eos_token_id", last - 1),
        ("tokenizer.ggml.eot_token_id", last - 1),
        ("tokenizer.ggml.padding_token_id", last),
    ] {
        facts.plain(name, U32, &number(value).to_le_bytes());
    }
    let tiny = 1e-6_f32;
    facts.plain(
        "llama.attention.layer_norm_rms_epsilon",
        F32,
        &tiny.to_le_bytes(),
    );
    facts.plain("llama.rope.freq_base", F32, &10_000_f32.to_le_bytes());
    for name in ["add_bos_token", "add_eos_token", "add_space_prefix"] {
        facts.plain(&format!("tokenizer.ggml.{name}"), BOOL, &[0]);
    }
    facts.text("tokenizer.ggml.model", "llama");
    let texts = tokens.iter().flat_map(|(text, _, _)| written(text));
    facts.array("tokenizer.ggml.tokens", TEXT, tokens.len(), texts);
    let scores = tokens.iter().flat_map(|(_, score, _)| score.to_le_bytes());
    facts.array("tokenizer.ggml.scores", F32, tokens.len(), scores);
    let kinds = tokens.iter().flat_map(|(_, _, kind)| kind.to_le_bytes());
    facts.array("tokenizer.ggml.token_type", I32, tokens.len(), kinds);
    facts.text(
        "tokenizer.chat_template",
        &TEMPLATE.replace("@BACK@", &BACK.to_string()),
    );
    facts
}

fn tensors(vocabulary: usize) -> Tensors {
    // What a 1 has become behind the first and the second normalisation: two,
    // and then three, of all features are 1.
    let width = f64::from(u32::try_from(WIDTH).unwrap_or(0));
    let (first, second) = (width.sqrt() / SQRT_2, (width / 3.0).sqrt());
    let amplitude = (SHARP * f64::from(128_u32).sqrt()).sqrt();
    let back = f64::from(u32::try_from(BACK - 1).unwrap_or(0));
    // A turn by the angle of the distance, undone where the distance is right.
    let asked = |at: usize| {
        let step = f64::from(u32::try_from(at % HEAD / 2).unwrap_or(0)) * 2.0 / 128.0;
        let angle = -back * BASE.powf(-step);
        let turned = if at.is_multiple_of(2) {
            angle.cos()
        } else {
            angle.sin()
        };
        amplitude * turned / first
    };
    let shown = |at: usize| {
        if at.is_multiple_of(2) {
            amplitude / first
        } else {
            0.0
        }
    };
    let mut all = Tensors::default();
    all.matrix("token_embd.weight", vocabulary, WIDTH, |row, column| {
        f64::from(u8::from(column == row || column == ALWAYS))
    });
    all.ones("output_norm.weight");
    all.matrix("output.weight", vocabulary, WIDTH, |row, column| {
        if column == COPY + row {
            SURE / second
        } else {
            0.0
        }
    });
    all.ones("blk.0.attn_norm.weight");
    all.ones("blk.0.ffn_norm.weight");
    let only_always = |weight: &dyn Fn(usize) -> f64, row: usize, column: usize| {
        if column == ALWAYS { weight(row) } else { 0.0 }
    };
    all.matrix("blk.0.attn_q.weight", WIDTH, WIDTH, |row, column| {
        only_always(&asked, row, column)
    });
    all.matrix("blk.0.attn_k.weight", WIDTH, WIDTH, |row, column| {
        only_always(&shown, row, column)
    });
    all.matrix("blk.0.attn_v.weight", WIDTH, WIDTH, |row, column| {
        if row == column && row < COPY {
            1.0 / first
        } else {
            0.0
        }
    });
    all.matrix("blk.0.attn_output.weight", WIDTH, WIDTH, |row, column| {
        f64::from(u8::from(column < COPY && row == COPY + column))
    });
    all.matrix("blk.0.ffn_gate.weight", FEED, WIDTH, |_, _| 0.0);
    all.matrix("blk.0.ffn_up.weight", FEED, WIDTH, |_, _| 0.0);
    all.matrix("blk.0.ffn_down.weight", WIDTH, FEED, |_, _| 0.0);
    all
}

/// A text behind its length.
fn written(text: &str) -> Vec<u8> {
    let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
    [&length.to_le_bytes(), text.as_bytes()].concat()
}

// === impl Facts ===

impl Facts {
    fn plain(&mut self, name: &str, kind: u32, value: &[u8]) {
        self.bytes.extend(written(name));
        self.bytes.extend(kind.to_le_bytes());
        self.bytes.extend(value);
        self.count += 1;
    }

    fn text(&mut self, name: &str, value: &str) {
        self.plain(name, TEXT, &written(value));
    }

    fn array(&mut self, name: &str, kind: u32, count: usize, values: impl Iterator<Item = u8>) {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        let mut value = [&kind.to_le_bytes()[..], &count.to_le_bytes()].concat();
        value.extend(values);
        self.plain(name, ARRAY, &value);
    }
}

// === impl Tensors ===

impl Tensors {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "weights are written in single precision"
    )]
    fn matrix(
        &mut self,
        name: &str,
        rows: usize,
        columns: usize,
        weight: impl Fn(usize, usize) -> f64,
    ) {
        self.info(name, &[columns, rows]);
        for row in 0..rows {
            for column in 0..columns {
                let weight = weight(row, column) as f32;
                self.data.extend(weight.to_le_bytes());
            }
        }
        self.pad();
    }

    fn ones(&mut self, name: &str) {
        self.info(name, &[WIDTH]);
        for _ in 0..WIDTH {
            self.data.extend(1_f32.to_le_bytes());
        }
        self.pad();
    }

    fn info(&mut self, name: &str, sizes: &[usize]) {
        let wide = |value: usize| u64::try_from(value).unwrap_or(u64::MAX).to_le_bytes();
        self.infos.extend(written(name));
        let dimensions = u32::try_from(sizes.len()).unwrap_or(u32::MAX);
        self.infos.extend(dimensions.to_le_bytes());
        self.infos.extend(sizes.iter().flat_map(|size| wide(*size)));
        // Single precision.
        self.infos.extend(0_u32.to_le_bytes());
        self.infos.extend(wide(self.data.len()));
        self.count += 1;
    }

    fn pad(&mut self) {
        let whole = self.data.len().next_multiple_of(ALIGNMENT);
        self.data.resize(whole, 0);
    }
}
