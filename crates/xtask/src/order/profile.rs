//! What a profiler and the linker's map say together: how often each section of text was executed.

use std::collections::{BTreeMap, HashMap};

/// How the name of a section with a function begins.
const TEXT: &str = ".text.";
/// What may stand between that and the function's name: how often the compiler thinks it is executed.
const OFTEN: [&str; 4] = ["", "unlikely.", "hot.", "split."];
/// What callgrind calls the object of text that lies outside `.text`, which it gives the addresses of while it runs.
pub(super) const NOWHERE: &str = "???";

/// A section of text with one function, as the linker's map has it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section<'m> {
    /// Its name, without what all begin with.
    pub(super) name: &'m str,
    /// Where it lies in the program.
    pub(super) at: u64,
    /// Its bytes.
    pub(super) size: u64,
}

/// An instruction that was executed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Instruction<'o> {
    function: &'o str,
    at: u64,
    times: u64,
}

/// The instructions of an object in callgrind's output: `ob=(ID) PATH` and `fn=(ID) NAME` where something is met first and `fn=(ID)`
/// from then on, `cob=` and `cfn=` where it is called, and lines of an address, a line's number and how often. Such a line
/// after one of `calls=` is what was executed in the functions called.
pub(super) fn instructions<'o>(output: &'o str, object: &str) -> Vec<Instruction<'o>> {
    let (mut objects, mut names) = (HashMap::new(), HashMap::new());
    let (mut within, mut current) = ("", "");
    let mut called = false;
    let mut found = Vec::new();
    for line in output.lines() {
        if let Some(line) = line.strip_prefix("0x") {
            let mut numbers = line.split(' ');
            let at = numbers.next().map(|at| u64::from_str_radix(at, 16));
            let times = numbers.nth(1).and_then(|times| times.parse().ok());
            if let (true, Some(Ok(at)), Some(times)) = (within == object && !called, at, times) {
                let function = current;
                found.push(Instruction {
                    function,
                    at,
                    times,
                });
            }
            called = false;
            continue;
        }
        called |= line.starts_with("calls=");
        let Some((what, (id, name))) = line
            .split_once("=(")
            .and_then(|(what, rest)| Some((what, rest.split_once(')')?)))
        else {
            continue;
        };
        let (known, here) = match what {
            "ob" => (&mut objects, Some(&mut within)),
            "cob" => (&mut objects, None),
            "fn" => (&mut names, Some(&mut current)),
            "cfn" => (&mut names, None),
            _ => continue,
        };
        if let Some(name) = name.strip_prefix(' ') {
            // A function that calls itself has a number for each depth.
            let one = match what {
                "fn" | "cfn" => name.split('\'').next().unwrap_or(name),
                _ => name,
            };
            known.insert(id, one);
        }
        if let Some(here) = here {
            *here = known.get(id).copied().unwrap_or_default();
        }
    }
    found
}

/// The sections that instructions of one object are of, and how often the most executed one of each was. Their names do not tell:
/// functions that are the same to the byte are one, with the name of either. Addresses do, once it is known how far all are moved:
/// most functions are executed from where their sections begin.
pub(super) fn of_sections(
    instructions: &[Instruction<'_>],
    sections: &[Section<'_>],
) -> BTreeMap<usize, u64> {
    let mut firsts: HashMap<&str, u64> = HashMap::new();
    for instruction in instructions {
        let first = firsts.entry(instruction.function).or_insert(instruction.at);
        *first = instruction.at.min(*first);
    }
    let mut votes: HashMap<u64, usize> = HashMap::new();
    for section in sections {
        let names = OFTEN
            .iter()
            .filter_map(|often| section.name.strip_prefix(often));
        for first in names.filter_map(|name| firsts.get(name)) {
            *votes.entry(first.wrapping_sub(section.at)).or_default() += 1;
        }
    }
    let moved = votes.into_iter().max_by_key(|&(_, votes)| votes);
    let section = |address: u64| {
        let (moved, _) = moved?;
        let address = address.wrapping_sub(moved);
        let after = sections.partition_point(|section| section.at <= address);
        let at = after.checked_sub(1)?;
        (address - sections[at].at < sections[at].size).then_some(at)
    };
    let mut found = BTreeMap::new();
    for instruction in instructions {
        if let Some(at) = section(instruction.at) {
            let times: &mut u64 = found.entry(at).or_default();
            *times = instruction.times.max(*times);
        }
    }
    found
}

/// The sections of text in a linker's map, in the order of where they lie. A line of it is three numbers in hexadecimal, of which
/// the first is the address and the last the size, one in decimal, and `FILE:(SECTION)`.
pub(super) fn sections(map: &str) -> Vec<Section<'_>> {
    let mut found: Vec<Section<'_>> = map
        .lines()
        .filter_map(|line| {
            let (_, section) = line.strip_suffix(')')?.rsplit_once(":(")?;
            let mut numbers = line.split_whitespace();
            let mut number = |skipped| u64::from_str_radix(numbers.nth(skipped)?, 16).ok();
            Some(Section {
                at: number(0)?,
                size: number(1)?,
                name: section.strip_prefix(TEXT)?,
            })
        })
        .collect();
    found.sort_by_key(|section| section.at);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_read_with_their_functions() {
        let output = "events: Ir\nob=(1) /x's/legation\nfn=(1) _RNv1a\n0xa0 1 2\ncob=(2) ???\ncfn=(2) _RNv1b'2\n\
                      calls=1 0x50b0 0\n0xa4 1 9\n\nob=(2)\nfn=(2)\n0x50b0 0 1\nfl=(3) x.rs\n\nob=(1)\nfn=(1)\n0xa8 1 1\n";
        let of = |function, at, times| Instruction {
            function,
            at,
            times,
        };
        let expected = [of("_RNv1a", 0xa0, 2), of("_RNv1a", 0xa8, 1)];
        assert_eq!(instructions(output, "/x's/legation"), expected);
        assert_eq!(instructions(output, NOWHERE), [of("_RNv1b", 0x50b0, 1)]);
    }

    #[test]
    fn what_is_executed_under_another_name_is_found_by_its_address() {
        let section = |name, at, size| Section { name, at, size };
        let sections = [
            section("a", 0x100, 0x10),
            section("unlikely.b", 0x110, 0x8),
            section("kept", 0x120, 0x10),
            section("never", 0x130, 0x10),
        ];
        let run = [
            ("a", 0x40_0104, 7),
            ("a", 0x40_0100, 3),
            ("b", 0x40_0110, 2),
            ("folded", 0x40_0120, 1),
            ("between", 0x40_0119, 9),
            ("elsewhere", 0x90_0000, 9),
        ]
        .map(|(function, at, times)| Instruction {
            function,
            at,
            times,
        });
        let expected = BTreeMap::from([(0, 7), (1, 2), (2, 1)]);
        assert_eq!(of_sections(&run, &sections), expected);
        assert!(of_sections(&run[5..], &sections).is_empty());
    }

    #[test]
    fn a_map_is_read_for_the_sections_of_text() {
        let map = "\
             VMA              LMA     Size Align Out     In      Symbol\n\
             2e0              2e0       1c     1 .interp\n\
             c66430           c66430        a    16         b.o:(.text.unlikely.b)\n\
             c66410           c66410   83f0ba    16 .text.hot\n\
             c66410           c66410       1f    16         a.o (x):(.text._RNv1a)\n\
             c66410           c66410       1f     1                 _RNv1a\n\
             c66440           c66440        b     1         b.o:(.rodata.cst)\n";
        let section = |name, at, size| Section { name, at, size };
        let expected = [
            section("_RNv1a", 0xc6_6410, 0x1f),
            section("unlikely.b", 0xc6_6430, 10),
        ];
        assert_eq!(sections(map), expected);
    }
}
