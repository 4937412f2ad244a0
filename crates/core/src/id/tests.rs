use super::*;

#[test]
fn server_names_that_cannot_be_read_back_are_refused() {
    let refused = [
        ("", ServerNameError::Empty),
        ("  ", ServerNameError::Empty),
        (" a", ServerNameError::Padded { name: " a".into() }),
        (
            "a\u{7}b",
            ServerNameError::Control {
                name: "a\u{7}b".into(),
            },
        ),
        ("/a", ServerNameError::Slash { name: "/a".into() }),
        ("a/", ServerNameError::Slash { name: "a/".into() }),
        (
            "a//b",
            ServerNameError::Slash {
                name: "a//b".into(),
            },
        ),
    ];
    for (name, error) in refused {
        assert_eq!(ServerName::parse(name), Err(error), "{name:?}");
    }
    let long = "x".repeat(SERVER_NAME_MAX + 1);
    assert_eq!(
        ServerName::parse(&long),
        Err(ServerNameError::TooLong {
            len: SERVER_NAME_MAX + 1
        })
    );
    for name in ["files", "io.github/files", "büro", "a b"] {
        assert_eq!(
            ServerName::parse(name).map(|n| n.as_str().to_owned()),
            Ok(name.to_owned())
        );
    }
}

#[test]
fn random_ids_differ_and_are_hexadecimal() {
    let one = SeatId::random().expect("randomness");
    let two = SeatId::random().expect("randomness");
    assert_ne!(one, two);
    assert_eq!(one.as_str().len(), 32);
    assert!(one.as_str().bytes().all(|b| b.is_ascii_hexdigit()));
}
