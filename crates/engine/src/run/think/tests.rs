use super::*;

fn cut(text: &str, size: usize) -> (String, String) {
    let letters: Vec<char> = text.chars().collect();
    let mut think = Think::default();
    let (mut words, mut thoughts) = (String::new(), String::new());
    let mut take = |pieces: Vec<Piece>| {
        for piece in pieces {
            match piece {
                Piece::Text(text) => words.push_str(&text),
                Piece::Reasoning(text) => thoughts.push_str(&text),
            }
        }
    };
    for piece in letters.chunks(size) {
        take(think.push(&piece.iter().collect::<String>()));
    }
    take(think.finish().into_iter().collect());
    (words, thoughts)
}

#[test]
fn thoughts_are_kept_apart_wherever_the_text_is_cut() {
    for (text, words, thoughts) in [
        ("plain", "plain", ""),
        ("  <think>why</think>\n\nbecause", "because", "why"),
        ("<thinking>a < b</thinking>yes", "yes", "a < b"),
        ("<think></think>ok", "ok", ""),
        ("<think>never closed", "", "never closed"),
        ("<think>almost </thin", "", "almost </thin"),
        ("<thin", "<thin", ""),
        (
            "the tag <think>x</think> is one",
            "the tag <think>x</think> is one",
            "",
        ),
        ("<think>ä→ö</think>grüß", "grüß", "ä→ö"),
        ("   ", "   ", ""),
    ] {
        for size in 1..=text.chars().count() {
            let (got, thought) = cut(text, size);
            assert_eq!(
                (got.as_str(), thought.as_str()),
                (words, thoughts),
                "{text:?} by {size}"
            );
        }
    }
}

#[test]
fn an_answer_whose_thoughts_the_template_began_is_split_when_it_is_whole() {
    assert_eq!(
        split("why not</think>\nbecause"),
        ("because".into(), "why not".into())
    );
    assert_eq!(split("<think>a</think>b"), ("b".into(), "a".into()));
    assert_eq!(split("```\n</think>\n```").0, "```\n</think>\n```");
    assert_eq!(split("nothing"), ("nothing".into(), String::new()));
}
