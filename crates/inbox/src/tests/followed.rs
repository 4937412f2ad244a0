use super::*;

/// A reader that begins anywhere is given every record behind it, once and in order.
#[test]
fn a_reader_finds_its_place_in_many_days_and_long_ones() {
    let place = Place::new();
    let inbox = place.open();
    for day in 0..3u32 {
        // More than is looked through from one place, and lines of many lengths.
        let messages = (0..400).map(|at| {
            let mut one = message("teams", &format!("m{day}-{at}"));
            one.text = "x".repeat(if at % 50 == 7 { 90_000 } else { 300 });
            one
        });
        inbox.append_blocking(messages.collect()).expect("kept");
        place.next_day();
    }
    for last in [0, 1, 7, 8, 207, 208, 399, 400, 401, 799, 800, 1_100, 1_199] {
        let mut follow = Follow::after(&place.folder(), place.keystore(), Seq(last));
        let seqs: Vec<u64> = std::iter::from_fn(|| {
            let some = follow.read(70).expect("read");
            (!some.is_empty()).then_some(some)
        })
        .flatten()
        .map(|message| message.seq.0)
        .collect();
        assert_eq!(
            seqs,
            (last + 1..=1_200).collect::<Vec<u64>>(),
            "after {last}"
        );
    }
    let mut late = Follow::from_end(&place.folder(), place.keystore()).expect("read");
    assert_eq!(late.last(), Seq(1_200));
    put(&inbox, "teams", 0..1);
    assert_eq!(late.read(10).expect("read").len(), 1);
}

#[test]
fn a_reader_begins_without_the_days_before_its_place() {
    let place = Place::new();
    let inbox = place.open();
    put(&inbox, "teams", 0..5);
    place.next_day();
    put(&inbox, "teams", 5..10);
    drop(inbox);
    // Whoever read it would stumble: it is no file.
    fs::remove_file(place.day_file()).expect("removed");
    fs::create_dir(place.day_file()).expect("made");
    let mut follow = Follow::after(&place.folder(), place.keystore(), Seq(7));
    let read = follow.read(10).expect("read");
    assert_eq!(ids(&read), ["teams-7", "teams-8", "teams-9"]);
    let late = Follow::from_end(&place.folder(), place.keystore()).expect("read");
    assert_eq!(late.last(), Seq(10));
}

#[test]
fn a_reader_goes_on_when_the_file_under_it_was_mended() {
    let place = Place::new();
    let inbox = place.open();
    put(&inbox, "teams", 0..4);
    let mut follow = Follow::after(&place.folder(), place.keystore(), Seq(0));
    assert_eq!(follow.read(10).expect("read").len(), 4);
    drop(inbox);
    // The second record is damaged, and what is mended is shorter; then longer again.
    let mut bytes = fs::read(place.day_file()).expect("read");
    let at = bytes
        .iter()
        .position(|byte| *byte == b'\n')
        .expect("a line")
        + 20;
    bytes[at] ^= 1;
    fs::write(place.day_file(), &bytes).expect("damaged");
    fs::remove_dir_all(place.folder().join("index")).expect("removed");
    repair(&place.folder()).expect("mended");
    let inbox = place.open();
    put(&inbox, "teams", 10..20);
    let read = follow.read(100).expect("read");
    assert_eq!(read.len(), 10, "{:?}", ids(&read));
    assert!(read.iter().all(|message| message.seq > Seq(4)));
}

#[test]
fn a_day_that_is_taken_out_under_a_reader_is_passed_over() {
    let place = Place::new();
    let inbox = place.open();
    put(&inbox, "teams", 0..3);
    place.next_day();
    put(&inbox, "teams", 3..6);
    drop(inbox);
    // The name is there and leads nowhere, as for a file that is removed meanwhile.
    let gone = place.day_file();
    fs::remove_file(&gone).expect("removed");
    std::os::unix::fs::symlink("nowhere", &gone).expect("made");
    let all = |follow: &mut Follow| ids(&follow.read(10).expect("read")).join(" ");
    let mut first = Follow::after(&place.folder(), place.keystore(), Seq(0));
    assert_eq!(all(&mut first), "teams-3 teams-4 teams-5");
    let mut middle = Follow::after(&place.folder(), place.keystore(), Seq(2));
    assert_eq!(all(&mut middle), "teams-3 teams-4 teams-5");
    let late = Follow::from_end(&place.folder(), place.keystore()).expect("read");
    assert_eq!(late.last(), Seq(6));
}

#[test]
fn another_inbox_in_the_place_of_one_is_read_from_its_beginning() {
    let place = Place::new();
    let inbox = place.open();
    put(&inbox, "teams", 0..5);
    let mut running = Follow::after(&place.folder(), place.keystore(), Seq(0));
    assert_eq!(running.read(10).expect("read").len(), 5);
    assert_eq!(running.found_anew(), None);
    drop(inbox);
    fs::remove_dir_all(place.folder()).expect("removed");
    assert!(running.read(10).expect("nothing").is_empty());
    let inbox = place.open();
    put(&inbox, "teams", 10..12);
    // One that was running, and one that only kept its place.
    let kept = Follow::after(&place.folder(), place.keystore(), Seq(5));
    for mut follow in [running, kept] {
        let read = follow.read(10).expect("read");
        assert_eq!(ids(&read), ["teams-10", "teams-11"]);
        assert_eq!(follow.found_anew(), Some(Seq(2)));
        assert_eq!(follow.found_anew(), None, "it is said once");
        assert_eq!(follow.last(), Seq(2));
        assert!(follow.read(10).expect("read").is_empty());
    }
}
