use super::*;

/// Numbers that look random and come back with their seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % bound.max(1)
    }
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("listed") {
        let entry = entry.expect("an entry");
        if entry.file_name().to_string_lossy().starts_with('.') {
            // On its way to another name; a crash leaves such files, and nothing reads them.
            continue;
        }
        let to = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).expect("copied");
        }
    }
}

/// Of what was written since a sync any part may be there: sectors of the last
/// write of a day file, and of the index any mixture of old and new sectors.
#[test]
fn a_power_failure_takes_nothing_that_was_acknowledged() {
    let mut random = Random(20_261_121);
    let place = Place::new();
    let inbox = place.open();
    put(&inbox, "teams", 0..40);
    drop(inbox);
    let inbox = place.open();
    let mut acknowledged = 40;
    for round in 0..40u32 {
        // What is synced by now: the day file as it is, the index as at the last mark.
        let before = Place::new();
        copy(place.dir.path(), before.dir.path());
        let from = 1_000 + round * 10;
        put(
            &inbox,
            "teams",
            from..from + 1 + u32::try_from(random.below(8)).expect("small"),
        );
        let after = Place::new();
        copy(place.dir.path(), after.dir.path());
        mix(&before, &after, &mut random);
        let opened = after.open();
        let all = everything(&opened);
        let old = u64::try_from(all.len()).expect("few");
        assert!(
            old >= acknowledged,
            "round {round}: {old} of {acknowledged}"
        );
        assert!(all.iter().zip(1..).all(|(one, seq)| one.seq == Seq(seq)));
        // The source brings again what nobody acknowledged; it is there once then.
        put(&opened, "teams", from..from + 8);
        put(&opened, "teams", 0..40);
        let mut ids: Vec<String> = everything(&opened).into_iter().map(|one| one.id).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count, "round {round}: something is there twice");
        acknowledged = *inbox.announced().borrow();
    }
}

/// Puts sectors of an older state into a newer one, as a disk does that was
/// never told to keep an order.
fn mix(before: &Place, after: &Place, random: &mut Random) {
    let day = "2026-11-21.jsonl";
    let synced = fs::read(before.folder().join(day)).expect("a day file");
    let mut bytes = fs::read(after.folder().join(day)).expect("a day file");
    let mut at = synced.len();
    while at < bytes.len() {
        let end = ((at / 512 + 1) * 512).min(bytes.len());
        if random.below(3) == 0 {
            bytes[at..end].fill(0);
        }
        at = end;
    }
    bytes.truncate(synced.len() + random.below(bytes.len() - synced.len() + 1));
    fs::write(after.folder().join(day), &bytes).expect("torn");
    for entry in fs::read_dir(after.folder().join("index")).expect("listed") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name");
        if name == "mark.json" {
            continue;
        }
        let old = fs::read(before.folder().join("index").join(name)).unwrap_or_default();
        let mut new = fs::read(&path).expect("an index file");
        for (number, sector) in new.chunks_mut(512).enumerate() {
            let start = number * 512;
            if random.below(2) == 0 {
                let known = old.get(start..).unwrap_or_default();
                let len = sector.len().min(known.len());
                sector[..len].copy_from_slice(&known[..len]);
                sector[len..].fill(0);
            }
        }
        fs::write(&path, &new).expect("mixed");
    }
}
