//! Whatever the bytes are, there is a config or an error with a position, and never a panic.

use dietcode_core::config::Config;
use proptest::prelude::*;

use crate::{FULL, SMALL};

/// `c.json:line:column: …`, on one line.
fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    let Err(error) = Config::parse("c.json", bytes) else { return Ok(()) };
    let message = error.to_string();
    let mut parts = message.splitn(4, ':');
    prop_assert_eq!(parts.next(), Some("c.json"), "{}", &message);
    for part in [parts.next(), parts.next()] {
        let number = part.and_then(|p| p.parse::<usize>().ok());
        prop_assert!(number.is_some_and(|n| n >= 1), "{}", &message);
    }
    prop_assert!(parts.next().is_some_and(|text| text.len() > 5) && !message.contains('\n'), "{}", &message);
    Ok(())
}

/// Pieces of JSON, among them wrong ones.
fn token() -> impl Strategy<Value = String> {
    const FIXED: &[&str] = &[
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "null",
        "true",
        "-1",
        "0",
        "1e999",
        "1.5",
        "9223372036854775808",
        "\"T\"",
        "\"16*T\"",
        "\"kernel\"",
        "\"tiled\"",
        "\"\\u0000\"",
        "\"\\ud800\"",
        "//",
        "\u{feff}",
        "\n",
        "é",
    ];
    prop_oneof![proptest::sample::select(FIXED).prop_map(|text| text.to_string()), ".{0,5}"]
}

proptest! {
    #[test]
    fn arbitrary_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        check(&bytes)?;
    }

    #[test]
    fn arbitrary_tokens(tokens in proptest::collection::vec(token(), 0..40)) {
        check(tokens.concat().as_bytes())?;
    }

    #[test]
    fn changed_configs(full in any::<bool>(), edits in proptest::collection::vec((any::<prop::sample::Index>(), 0_usize..12, token()), 1..4)) {
        let mut text = if full { FULL } else { SMALL }.as_bytes().to_vec();
        for (at, removed, inserted) in edits {
            let at = at.index(text.len());
            let end = (at + removed).min(text.len());
            text.splice(at..end, inserted.bytes());
            text.push(b' ');
        }
        check(&text)?;
    }

    #[test]
    fn truncated_configs(at in 0..FULL.len()) {
        check(&FULL.as_bytes()[..at])?;
    }

    #[test]
    fn arbitrary_expressions(text in "[T0-9+*() B-]{0,40}") {
        check(FULL.replace("16*T", &text).as_bytes())?;
    }
}
