//! Flags of subdivisions, the one thing that tag characters are for.
//!
//! Unicode allows any region and subdivision; a sequence that is only well formed could spell
//! six letters a flag. So the ones that fonts draw are listed.

/// Flags that fonts draw: region and subdivision.
const DRAWN: &[&str] = &[
    "gbeng", "gbsct", "gbwls", "gbnir", "esct", "espv", "esga", "esan", "frbre", "frcor", "caqc",
    "caon", "cabc", "debe", "deby", "itsd", "it88", "ptac", "ptma", "auact", "aunsw", "auvic",
];
/// Most tag characters of a flag, the one that ends it included.
const LONGEST: usize = 7;
/// States whose flags are drawn, behind `us`.
const STATES: &str = "al ak az ar ca co ct de fl ga hi id il in ia ks ky la me md ma mi mn ms mo \
                      mt ne nv nh nj nm ny nc nd oh ok or pa ri sc sd tn tx ut vt va wa wv wi wy dc";

/// Whether the tag character at `index` belongs to a flag.
pub(super) fn in_flag(chars: &[char], index: usize) -> bool {
    let is_tag = |character: &char| matches!(character, '\u{e0020}'..='\u{e007f}');
    let before = chars[..index].iter().rev();
    let before = before.take(LONGEST).take_while(|c| is_tag(c)).count();
    let start = index - before;
    if start == 0 || chars[start - 1] != '\u{1f3f4}' {
        return false;
    }
    let code: Vec<char> = chars[start..]
        .iter()
        .take_while(|c| is_tag(c))
        .take(LONGEST)
        .copied()
        .collect();
    let Some((&'\u{e007f}', code)) = code.split_last() else {
        return false;
    };
    let letters = code
        .iter()
        .filter_map(|c| char::from_u32(u32::from(*c) - 0xe0000));
    let letters: String = letters.collect();
    DRAWN.contains(&letters.as_str())
        || letters
            .strip_prefix("us")
            .is_some_and(|state| STATES.split(' ').any(|known| known == state))
}
