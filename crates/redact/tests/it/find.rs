//! Single identifiers in single sentences.

use legation_redact::{Class, MemoryVault, Redactor, RedactorSpec, RosterEntry};

use crate::outside_tokens;

fn redact(text: &str) -> String {
    let redactor = Redactor::build(&RedactorSpec::default()).expect("nothing to refuse");
    redactor.redact_text(text, &mut MemoryVault::new()).text
}

#[test]
fn takes_out_each_class() {
    let cases = [
        ("Seen by Dr. Vandermolen today", "Vandermolen"),
        ("lives at 12 Elm Street, Springfield, IL 62701", "62701"),
        ("admitted on 03/12/2024", "03/12/2024"),
        ("a 93-year-old man", "93"),
        ("call (555) 201-3344", "3344"),
        ("fax: +44 20 7946 0018", "7946"),
        ("write to p.q@example.com", "example"),
        ("SSN 219-09-9999", "219"),
        ("MRN: 00123456", "00123456"),
        ("policy number ABC123456789", "ABC123456789"),
        ("IBAN DE89 3704 0044 0532 0130 00", "0532"),
        ("license no. D1234567", "D1234567"),
        ("VIN 1M8GDM9AXKP042788", "1M8GDM9AXKP042788"),
        ("serial number SN-99887766", "99887766"),
        ("see https://example.com/patients/7", "patients"),
        ("from 192.0.2.17", "192.0.2.17"),
        ("from 2001:db8::7:1", "db8"),
        ("fingerprint id 88213", "88213"),
        ("photo smith_face.jpg", "smith_face"),
        ("encounter no. 4711-22", "4711"),
        ("room 312B", "312B"),
        (
            "phone five five five two oh one three three four four",
            "five",
        ),
    ];
    for (text, gone) in cases {
        let redacted = redact(text);
        assert!(
            !outside_tokens(&redacted).contains(gone),
            "{text}: {redacted}"
        );
        assert!(redacted.contains('⟦'), "{text}: {redacted}");
    }
}

#[test]
fn leaves_medicine_alone() {
    let cases = [
        "Started metformin 500 mg twice daily for type 2 diabetes.",
        "BP 132/78, HR 72, O2 sat 98% on 2 L.",
        "Pain 6/10 in the left hip; strength 5/5 throughout.",
        "A1c 8.1%, WBC 12.4, platelets 150,000.",
        "Assessment and Plan: continue lisinopril 20 mg daily.",
        "A 72-year-old with COPD, EF 35%, seen in 2024.",
    ];
    for text in cases {
        assert_eq!(redact(text), text);
    }
}

#[test]
fn sees_through_spellings() {
    let cases = [
        "SSN ２１９-０９-９９９９",
        "SSN ٢١٩-٠٩-٩٩٩٩",
        "SSN 219\u{200b}-09-\u{ad}9999",
        "SSN 219&#45;09&#x2d;9999",
        "S\u{a0}SN SSN=219%2D09%2D9999",
        "U1NOIDIxOS0wOS05OTk5IG9mIEFubmE=",
    ];
    for text in cases {
        let redacted = redact(text);
        assert!(redacted.contains('⟦'), "{text}: {redacted}");
        assert!(
            !outside_tokens(&redacted).contains(['9', '９', '٩']),
            "{redacted}"
        );
    }
}

#[test]
fn knows_the_roster_in_every_spelling() {
    let spec = RedactorSpec {
        roster: vec![
            RosterEntry::person("Rose Marie O'Brien-Will"),
            RosterEntry::value(Class::Mrn, "A-77.12"),
        ],
        safe_word_mode: false,
        ..RedactorSpec::default()
    };
    let redactor = Redactor::build(&spec).expect("nothing to refuse");
    for text in [
        "rose marie o'brien-will",
        "ROSE MARIE OBRIEN WILL",
        "O'Brien-Will, Rose",
        "R. O\u{2019}Brien Will",
        "Rose\nWill",
        "rose-will",
        "Rose's",
        "the O'Briens",
        "Ro\u{200b}se Marie",
        "Rosé",
        "a7712",
        "A 77 12",
        "obrien_will_rose",
        "Ｒｏｓｅ Ｗｉｌｌ",
    ] {
        let redacted = redactor.redact_text(text, &mut MemoryVault::new());
        let left = outside_tokens(&redacted.text).to_lowercase();
        assert!(
            !left.contains("rose") && !left.contains("brien") && !left.contains("77"),
            "{text}: {left}"
        );
    }
    // Where nothing has a capital, a small letter says nothing.
    let small = "spoke with rose about the new tablets, she is fine";
    let redacted = redactor.redact_text(small, &mut MemoryVault::new());
    assert!(!redacted.text.contains("rose"), "{}", redacted.text);
    let kept = "The tulip rose and will not fall.";
    assert_eq!(
        redactor.redact_text(kept, &mut MemoryVault::new()).text,
        kept
    );
}

#[test]
fn takes_the_entitys_own_patterns_and_refuses_broken_ones() {
    let spec = |pattern: &str| RedactorSpec {
        patterns: vec![pattern.into()],
        ..RedactorSpec::default()
    };
    let redactor = Redactor::build(&spec(r"ward-[a-z]{3}")).unwrap();
    let redacted = redactor.redact_text("on ward-abc now", &mut MemoryVault::new());
    assert!(!redacted.text.contains("abc"));
    let error = Redactor::build(&spec("(")).unwrap_err();
    assert!(error.to_string().contains("pattern 1"), "{error}");
    assert!(!error.hint().is_empty());
}

#[test]
fn takes_addresses_of_many_countries_whole() {
    for (text, left) in [
        (
            "lives at 99 đường số 6 phường Diên Hồng Thành phố Hà Nội.",
            "lives at",
        ),
        (
            "Home address - Şəmkir ray., Uzunoba k., OKTAY KƏRİMOV küç., b. 8, m. 6\n",
            "Home address",
        ),
        (
            "Deliver to Favela Luiz, 58\nSanto Agostinho\n09525-087 Melo da Praia / AL\n",
            "Deliver to",
        ),
        ("Residence: Petőfi sándor út 75.", "Residence"),
        (
            "lives at 8725 rang Lussier\nL' Robert, BC G7L 1S2\n",
            "lives at",
        ),
        ("visited at Diagonal 4 N° 219, Mendoza", "visited at"),
        ("Deliver to PO Box 63\nSharonmouth 5117\n", "Deliver to"),
        ("Street: H.No. 425, Uppal Path\n", "Street"),
        ("lives at 1/F, 117 Tai Po Road, Sha Tin.", "lives at"),
        (
            "lives at zh.k. Mladost 5, bl. 50, vh. A, ap. 5, 4051 Plovdiv.",
            "lives at",
        ),
        ("lives at pr-t Skaryny 46-3, 220057 Minsk.", "lives at"),
        ("lives at 8 mkr, 230-8, Taraz.", "lives at"),
        ("lives at Cedar Street, Nassar Bldg, 6th floor.", "lives at"),
        ("| Postal code | BS-659-4764 |\n", "Postal code"),
        ("lives at 171/3 Distos", "lives at"),
        ("lives at Av. 9 de Julio No. 69, Salto.", "lives at"),
        ("seen at Palma 170: well", "seen at well"),
        ("moved to Orange Walk in spring", "moved to in spring"),
        ("lives at Diagonal 6 15-22 zona 2, Mixco.", "lives at"),
        (
            "Post town ....... Hope\nPost code ....... 511\n",
            "Post town Post code",
        ),
        (
            "next letter to mister wan of lot 46 great house circle in hope",
            "next letter to mister of in",
        ),
    ] {
        assert_eq!(words_left(text), left, "{text}");
    }
}

#[test]
fn takes_names_that_are_words_by_their_place() {
    for (text, name) in [
        ("Radiology: Miller, Sandy. Lungs clear.", "Miller Sandy"),
        ("Ortho consulted. Walker to review.", "Walker"),
        ("Patient Cannon was seen.", "Cannon"),
        ("Surgeon: A. Barman\n", "Barman"),
        ("Thanks for seeing RAY HALL today.", "RAY HALL"),
        ("Next of kin: noah cook\n", "noah cook"),
        ("Caller: Rik van den Oever\n", "Rik van den Oever"),
        ("Surname ....... Sinner\n", "Sinner"),
        ("this is doctor jin h. ting dictating", "jin h ting"),
        ("Nurse: Chin-Lung Tsai\n", "Chin Lung Tsai"),
        ("Kind regards,\nFang Lei\n", "Fang Lei"),
        ("Seen by Jun\nGu", "Jun Gu"),
    ] {
        let left = words_left(text);
        for word in name.split(' ') {
            assert!(
                !left.split(' ').any(|kept| kept == word),
                "{word} of {text}: {left}"
            );
        }
    }
}

#[test]
fn finds_cells_beside_identifiers_in_arrays() {
    let document =
        r#"{"people": ["Okonkwo Ada", "Pole Edmunds"], "labs": ["sodium", "potassium"]}"#;
    let redactor = Redactor::build(&RedactorSpec::default()).expect("nothing to refuse");
    let json = redactor.redact_json(document, &mut MemoryVault::new()).json;
    assert!(
        !json.contains("Pole") && !json.contains("Edmunds"),
        "{json}"
    );
    assert!(
        json.contains("sodium") && json.contains("potassium"),
        "{json}"
    );
}

#[test]
fn takes_ages_over_89_without_the_word_old() {
    for text in [
        "Amsel Vogt, 93 years, from home",
        "died at 97 in peace",
        "aged 91, alone",
    ] {
        let left = words_left(text);
        assert!(!left.contains(['9']), "{left}");
    }
    assert!(words_left("for 95 years").contains("95"));
}

/// The words of a text that stay.
fn words_left(text: &str) -> String {
    let redactor = Redactor::build(&RedactorSpec::default()).expect("nothing to refuse");
    let redacted = redactor.redact_text(text, &mut MemoryVault::new());
    let mut left = text.to_owned();
    for finding in redacted.findings.iter().rev() {
        left.replace_range(finding.start..finding.end, " ");
    }
    let words = left.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}
