use legation_core::{SeatId, Via};
use legation_wire::json::Limits;

use super::*;

/// The delegator and the confidence, or the member that is refused.
type Read = Result<(Option<&'static str>, Option<f64>), &'static str>;

#[test]
fn what_is_said_is_read_and_taken_out_and_nonsense_is_refused() {
    let caller = Caller {
        principal: Principal {
            client: ClientId::new("agent"),
            via: Via::Socket,
        },
        seat: SeatId::new("seat"),
        workspace: None,
    };
    // `_meta`, what is read (delegator, confidence) or refused, what is left.
    let cases: [(&str, Read, &str); 9] = [
        ("{}", Ok((None, None)), "{}"),
        (r#"{"a":1}"#, Ok((None, None)), r#"{"a":1}"#),
        (
            r#"{"io.legation/onBehalfOf":"chief","a":1}"#,
            Ok((Some("chief"), None)),
            r#"{"a":1}"#,
        ),
        (
            r#"{"io.legation\/onBehalfOf":"chief","io.legation/confidence":0.5}"#,
            Ok((Some("chief"), Some(0.5))),
            "",
        ),
        (r#"{"io.legation/onBehalfOf":""}"#, Err(ON_BEHALF_OF), ""),
        (r#"{"io.legation/onBehalfOf":["a"]}"#, Err(ON_BEHALF_OF), ""),
        (
            r#"{"io.legation/onBehalfOf":"a\nb"}"#,
            Err(ON_BEHALF_OF),
            "",
        ),
        (r#"{"io.legation/confidence":1.5}"#, Err(CONFIDENCE), ""),
        (r#"{"io.legation/confidence":"1"}"#, Err(CONFIDENCE), ""),
    ];
    for (meta, wanted, left) in cases {
        let raw = Raw::parse(meta.into(), &Limits::CLIENT).expect("JSON");
        let mut params = Object::new().with(META, raw);
        let read = Delegation::take(&mut params, &caller);
        match wanted {
            Err(member) => assert_eq!(read, Err(NotDelegated { member }), "{meta}"),
            Ok((by, sure)) => {
                let read = read.expect("it can be read");
                assert_eq!(read.delegator().map(ClientId::as_str), by, "{meta}");
                assert_eq!(read.confidence, sure, "{meta}");
                let rest = params.get(META).map_or("", Raw::as_text);
                assert_eq!(rest, left, "{meta}");
            }
        }
    }
}
