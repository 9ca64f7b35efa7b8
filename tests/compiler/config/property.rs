//! Whatever the bytes are, there is a config or an error with a position, and never a panic.

use std::collections::BTreeMap;

use dietcode_core::config::{BlockedGenerator, Config, KernelSet};
use dietcode_core::sketch::{Blocked, Count, Stage, Unit};
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
    fn a_generator_is_nested_loops(generator in generator()) {
        let all: Vec<Blocked> = generator.iter().collect();
        prop_assert_eq!(all.len() as u128, generator.count());
        prop_assert_eq!(&all, &nested_loops(&generator));
        prop_assert!((0..).zip(&all).all(|(at, blocked)| generator.get(at).as_ref() == Some(blocked)));
        prop_assert!(all.iter().all(|blocked| generator.contains(blocked)));
        prop_assert_eq!(generator.get(generator.count()), None);
        prop_assert_eq!(generator.get(u128::MAX), None);
        let other = Blocked { min_blocks: Count(9), ..all[0].clone() };
        prop_assert!(!generator.contains(&other));
    }

    #[test]
    fn candidates_are_each_there_once_where_they_come_first(texts in proptest::collection::vec(generator_text(), 1..4)) {
        let text = CUDA.replace("{ \"family\": \"blocked\" }", &texts.join(","));
        let cuda = Config::parse("c.json", text).unwrap().cuda.unwrap();
        let mut expected: Vec<Blocked> = Vec::new();
        for blocked in cuda.generators.iter().skip(1).flat_map(|generator| generator.iter()) {
            if !expected.contains(&blocked) {
                expected.push(blocked);
            }
        }
        let first = cuda.generators[0].count() as usize;
        prop_assert_eq!(cuda.candidates().skip(first).collect::<Vec<_>>(), expected);
    }
}

/// The same product, without arithmetic on places.
fn nested_loops(g: &BlockedGenerator) -> Vec<Blocked> {
    let mut all = vec![Blocked::default()];
    fn each<T: Clone>(all: &mut Vec<Blocked>, values: &[T], set: impl Fn(&mut Blocked, T)) {
        let with = |blocked: &Blocked, value: &T| {
            let mut blocked = blocked.clone();
            set(&mut blocked, value.clone());
            blocked
        };
        *all = all
            .iter()
            .flat_map(|blocked| values.iter().map(|value| with(blocked, value)).collect::<Vec<_>>())
            .collect();
    }
    each(&mut all, &g.thread, |blocked, value| blocked.thread = value);
    each(&mut all, &g.vthread, |blocked, value| blocked.vthread = value);
    each(&mut all, &g.inner, |blocked, value| blocked.inner = value);
    each(&mut all, &g.reduce, |blocked, value| blocked.reduce = value);
    each(&mut all, &g.stage, |blocked, value| blocked.stage = value);
    each(&mut all, &g.matrix_unit, |blocked, value| blocked.matrix_unit = value);
    each(&mut all, &g.stages, |blocked, value| blocked.stages = value);
    each(&mut all, &g.asynchronous, |blocked, value| blocked.asynchronous = value);
    each(&mut all, &g.split, |blocked, value| blocked.split = value);
    each(&mut all, &g.atomic, |blocked, value| blocked.atomic = value);
    each(&mut all, &g.persistent, |blocked, value| blocked.persistent = value);
    each(&mut all, &g.min_blocks, |blocked, value| blocked.min_blocks = value);
    each(&mut all, &g.store, |blocked, value| blocked.store = value);
    each(&mut all, &g.load, |blocked, value| blocked.load = value);
    each(&mut all, &g.raster, |blocked, value| blocked.raster = value);
    all
}

/// A list without duplicates, of one to three values.
fn list<T: Clone + PartialEq + std::fmt::Debug + 'static>(values: Vec<T>) -> impl Strategy<Value = Vec<T>> {
    let most = values.len().min(3);
    prop::sample::subsequence(values, 1..=most).prop_shuffle()
}

/// Not more than some thousand schedules.
fn generator() -> impl Strategy<Value = BlockedGenerator> {
    let sizes = || list([1, 2, 4].map(|size| BTreeMap::from([("i".to_string(), size)])).to_vec());
    let staged = |pad| BTreeMap::from([("x".to_string(), Stage { pad, ..Stage::default() })]);
    let flags = || list(vec![false, true]);
    let units = list(vec![None, Some(Unit::Half), Some(Unit::Tf32)]);
    let counts = || list(vec![Count(1), Count(2)]);
    let tiles = (sizes(), sizes(), sizes(), list(vec![staged(0), staged(4)]), units);
    (tiles, counts(), flags(), sizes(), flags(), flags(), counts()).prop_map(
        |((thread, inner, reduce, stage, matrix_unit), stages, asynchronous, split, atomic, persistent, store)| {
            let (vthread, min_blocks) = (vec![BTreeMap::new()], vec![Count(2)]);
            let (load, raster) = (vec![BTreeMap::new(), [("x".to_string(), 4)].into()], vthread.clone());
            BlockedGenerator {
                thread,
                vthread,
                inner,
                reduce,
                stage,
                matrix_unit,
                stages,
                asynchronous,
                split,
                atomic,
                persistent,
                min_blocks,
                store,
                load,
                raster,
            }
        },
    )
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
