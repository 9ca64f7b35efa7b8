//! Whatever the bytes are, there is a config or an error with a position, and never a panic.

use dietcode_core::config::{Config, Generator, KernelSet};
use dietcode_core::sketch::{Blocked, Family};
use proptest::prelude::*;

use super::cuda::CUDA;
use super::sets::SET;
use super::{FULL, SMALL};

/// A text is a config or not, and a set or not.
fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    let errors = [Config::parse("c.json", bytes).err(), KernelSet::parse("c.json", bytes).err()];
    errors.into_iter().flatten().try_for_each(|error| check_message(&error.to_string()))
}

/// `c.json:line:column: …`, on one line.
fn check_message(message: &str) -> Result<(), TestCaseError> {
    let mut parts = message.splitn(4, ':');
    prop_assert_eq!(parts.next(), Some("c.json"), "{}", message);
    for part in [parts.next(), parts.next()] {
        let number = part.and_then(|p| p.parse::<usize>().ok());
        prop_assert!(number.is_some_and(|n| n >= 1), "{}", message);
    }
    prop_assert!(parts.next().is_some_and(|text| text.len() > 5) && !message.contains('\n'), "{}", message);
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
    fn changed_configs(text in prop::sample::select(vec![FULL, SMALL, CUDA, SET]), edits in proptest::collection::vec((any::<prop::sample::Index>(), 0_usize..12, token()), 1..4)) {
        let mut text = text.as_bytes().to_vec();
        for (at, removed, inserted) in edits {
            let at = at.index(text.len());
            let end = (at + removed).min(text.len());
            text.splice(at..end, inserted.bytes());
            text.push(b' ');
        }
        check(&text)?;
    }

    #[test]
    fn truncated_configs(text in prop::sample::select(vec![FULL, CUDA, SET]), at in any::<prop::sample::Index>()) {
        check(&text.as_bytes()[..at.index(text.len())])?;
    }

    #[test]
    fn arbitrary_expressions(text in "[T0-9+*() B-]{0,40}") {
        check(FULL.replace("16*T", &text).as_bytes())?;
    }

    #[test]
    fn a_generator_is_nested_loops((generator, lists) in generator()) {
        let all: Vec<Family> = generator.iter().collect();
        prop_assert_eq!(all.len() as u128, generator.count());
        prop_assert_eq!(&all, &nested_loops(&lists));
        prop_assert!((0..).zip(&all).all(|(at, family)| generator.get(at).as_ref() == Some(family)));
        prop_assert!(all.iter().all(|family| generator.contains(family)));
        prop_assert_eq!(generator.get(generator.count()), None);
        prop_assert_eq!(generator.get(u128::MAX), None);
        let Family::Blocked(first) = all[0].clone() else { panic!("{:?}", all[0]) };
        let other = Blocked { min_blocks: 9, ..first };
        prop_assert!(!generator.contains(&other.into()));
    }

    #[test]
    fn candidates_are_each_there_once_where_they_come_first(texts in proptest::collection::vec(generator_text(), 1..4)) {
        let text = CUDA.replace("{ \"family\": \"blocked\" }", &texts.join(","));
        let cuda = Config::parse("c.json", text).unwrap().cuda.unwrap();
        let mut expected: Vec<Blocked> = Vec::new();
        for family in cuda.generators.iter().skip(1).flat_map(|generator| generator.iter()) {
            let Family::Blocked(blocked) = family else { panic!("{family:?}") };
            if !expected.contains(&blocked) {
                expected.push(blocked);
            }
        }
        let first = cuda.generators[0].count() as usize;
        prop_assert_eq!(cuda.candidates().skip(first).collect::<Vec<_>>(), expected);
    }
}

/// The same product of the lists as they stand in a file, without what makes it: a loop for each list, the last the fastest, around a
/// configuration that is read by its own keys.
fn nested_loops(lists: &[(&'static str, Vec<&'static str>)]) -> Vec<Family> {
    let mut all = vec![String::new()];
    for (key, values) in lists {
        let with = |so_far: &String, value: &str| {
            format!("{so_far}{}\"{key}\": {value}", if so_far.is_empty() { "" } else { ", " })
        };
        all =
            all.iter().flat_map(|so_far| values.iter().map(|value| with(so_far, value)).collect::<Vec<_>>()).collect();
    }
    let read = |text: String| serde_json::from_str::<Blocked>(&format!("{{ {text} }}")).unwrap().into();
    all.into_iter().map(read).collect()
}

/// Values of a list, of which one to three are taken.
const LISTS: [(&str, &[&str]); 12] = [
    ("thread", &[r#"{"i": 1}"#, r#"{"i": 2}"#, r#"{"i": 4}"#]),
    ("inner", &[r#"{"i": 1}"#, r#"{"i": 2}"#, r#"{"i": 4}"#]),
    ("reduce", &[r#"{"k": 1}"#, r#"{"k": 2}"#, r#"{"k": 4}"#]),
    ("stage", &[r#"{"x": {}}"#, r#"{"x": {"pad": 4}}"#]),
    ("matrix_unit", &["null", "\"half\"", "\"tf32\"", "\"tf32x3\""]),
    ("stages", &["1", "2"]),
    ("async", &["false", "true"]),
    ("split", &["{}", r#"{"k": 2}"#]),
    ("atomic", &["false", "true"]),
    ("min_blocks", &["2"]),
    ("store", &["1", "2"]),
    ("load", &["{}", r#"{"x": 4}"#]),
];

/// Not more than some thousand schedules, and the lists that they are the product of.
fn generator() -> impl Strategy<Value = (Generator, Vec<(&'static str, Vec<&'static str>)>)> {
    let list = |(key, values): (&'static str, &'static [&'static str])| {
        let some = prop::sample::subsequence(values.to_vec(), 1..=values.len().min(3)).prop_shuffle();
        some.prop_map(move |values| (key, values))
    };
    LISTS.map(list).to_vec().prop_map(|lists| {
        let written = lists.iter().map(|(key, values)| format!("\"{key}\": [{}]", values.join(", ")));
        let text = format!("{{ \"family\": \"blocked\", {} }}", written.collect::<Vec<_>>().join(", "));
        let text = CUDA.replace("{ \"family\": \"blocked\" }", &text);
        (Config::parse("c.json", text).unwrap().cuda.unwrap().generators.swap_remove(1), lists)
    })
}

/// A small generator as a file has it, with repetitions.
fn generator_text() -> impl Strategy<Value = String> {
    let sizes = || proptest::collection::vec(1..4i64, 1..4);
    (sizes(), sizes(), proptest::collection::vec(any::<bool>(), 1..3)).prop_map(|(thread, store, persistent)| {
        let thread: Vec<String> = thread.iter().map(|size| format!("{{\"i\": {size}}}")).collect();
        let thread = thread.join(",");
        format!(r#"{{"family": "blocked", "thread": [{thread}], "store": {store:?}, "persistent": {persistent:?}}}"#)
    })
}
