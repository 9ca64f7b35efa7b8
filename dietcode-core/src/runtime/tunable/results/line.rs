//! A line of a file of results: a JSON object, whose last member is a hash of what stands before it. A line that was changed, cut or
//! joined with another one is found by it, so that no result is taken for that of another key.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::OnceLock;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::super::report::Subject;
use super::sentence;
use crate::cpu_features;
use crate::hash::hash_of;

/// The newest form of a line, and those that are read: a line has the oldest that says what it tells, so that versions which know no newer
/// one read it.
const FORMAT: u32 = 2;
const FORMATS: RangeInclusive<u32> = 1..=FORMAT;

/// What stands between a line's members and its hash.
const BEFORE_HASH: &str = ",\"hash\":\"";
const BEHIND_HASH: &str = "\"}";
const HASH_LEN: usize = 16;

/// One result, with all that it depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    format: u32,
    library: String,
    cpu: String,
    pub(super) op: String,
    pub(super) key: String,
    pub(super) candidates: String,
    /// What the operation had said.
    pub(super) validators: BTreeMap<String, String>,
    pub(super) found: Found,
}

/// What became of a key, or of a candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Found {
    /// It is the fastest; and how long a call of it, and of the default, takes.
    Fastest {
        candidate: String,
        seconds: BTreeMap<String, f64>,
        /// Over how many bytes of operands timed calls went in turn; 0: the same ones each time.
        #[serde(default, skip_serializing_if = "is_zero")]
        rotation: u64,
    },
    /// The process ended while it was tried.
    Ended { candidate: String },
    /// Nothing: so many calls more have run the default, which nobody has compared.
    Untuned { calls: u64 },
}

impl Found {
    /// The oldest form of a line that says it: since 2, figures have a rotation.
    fn format(&self) -> u32 {
        match self {
            Found::Fastest { rotation: 1.., .. } => 2,
            Found::Fastest { .. } | Found::Ended { .. } | Found::Untuned { .. } => 1,
        }
    }
}

fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

/// The one member that lines of all versions have.
#[derive(Deserialize)]
struct AnyLine {
    format: u32,
}

impl Line {
    /// What was found here and now.
    pub(super) fn new(subject: &Subject<'_>, found: Found) -> Line {
        Line {
            format: found.format(),
            library: env!("CARGO_PKG_VERSION").to_owned(),
            cpu: this_cpu().to_owned(),
            op: subject.op.to_owned(),
            key: subject.key.to_owned(),
            candidates: hash_of_names(subject.candidates),
            validators: subject.validators.clone(),
            found,
        }
    }

    /// The line, with the newline behind it.
    pub(super) fn to_text(&self) -> String {
        let mut text = serde_json::to_string(self).expect("it has texts and numbers only");
        text.pop();
        let hash = hash_of([&text]);
        text + BEFORE_HASH + &hash[..HASH_LEN] + BEHIND_HASH + "\n"
    }

    /// Reads a line without its newline.
    ///
    /// # Errors
    /// Why it cannot be used here, as a sentence about it.
    pub(super) fn read(text: &[u8]) -> Result<Line, String> {
        let line = Line::whole(text)?;
        line.foreign().map_or(Ok(line), Err)
    }

    /// A line as it was written, wherever that was.
    pub(super) fn whole(text: &[u8]) -> Result<Line, String> {
        let damaged = || "it is damaged".to_owned();
        let (format, object) = object(text).ok_or_else(damaged)?;
        if !FORMATS.contains(&format) {
            return Err(sentence("format", "", &format.to_string(), &FORMAT.to_string()));
        }
        let line: Line = serde_json::from_str(&object).map_err(|_| damaged())?;
        let Found::Fastest { seconds, .. } = &line.found else { return Ok(line) };
        match seconds.values().all(|seconds| Duration::try_from_secs_f64(*seconds).is_ok()) {
            true => Ok(line),
            false => Err("it has a time that is none".to_owned()),
        }
    }

    /// Whether a line was written whole by a version with another format.
    #[cfg(feature = "compiler")]
    pub(super) fn has_other_format(text: &[u8]) -> bool {
        object(text).is_some_and(|(format, _)| !FORMATS.contains(&format))
    }

    /// Whether a later line, of the same operation and key, tells the same, or more.
    pub(super) fn is_replaced_by(&self, other: &Line) -> bool {
        let is_same = match (&self.found, &other.found) {
            (Found::Ended { candidate }, Found::Ended { candidate: other }) => candidate == other,
            (Found::Fastest { .. } | Found::Untuned { .. }, Found::Fastest { .. })
            | (Found::Untuned { .. }, Found::Untuned { .. }) => self.candidates == other.candidates,
            _ => false,
        };
        is_same && (&self.validators, &self.library, &self.cpu) == (&other.validators, &other.library, &other.cpu)
    }

    /// Takes the calls of an earlier line that this one replaces.
    pub(super) fn take_calls(&mut self, earlier: &Line) {
        if let (Found::Untuned { calls }, Found::Untuned { calls: before }) = (&mut self.found, &earlier.found) {
            *calls = calls.saturating_add(*before);
        }
    }

    /// Why it cannot be used by this version on this CPU, as a sentence about it.
    pub(super) fn foreign(&self) -> Option<String> {
        if self.library != env!("CARGO_PKG_VERSION") {
            return Some(sentence("version", "dietcode", &self.library, env!("CARGO_PKG_VERSION")));
        }
        (self.cpu != this_cpu()).then(|| sentence("found on the CPU", "", &self.cpu, this_cpu()))
    }

    /// Why it is none of this subject, which has its operation and key.
    pub(super) fn mismatch(&self, subject: &Subject<'_>) -> Option<String> {
        if let Some(mismatch) = self.other_validator(subject) {
            return Some(mismatch);
        }
        (self.candidates != hash_of_names(subject.candidates))
            .then(|| "it was chosen among other candidates than there are".to_owned())
    }

    /// The first validator of the operation that is not what it was.
    pub(super) fn other_validator(&self, subject: &Subject<'_>) -> Option<String> {
        let (then, now) = (&self.validators, subject.validators);
        let other = then.keys().chain(now.keys()).find(|name| then.get(*name) != now.get(*name))?;
        let value = |of: &BTreeMap<String, String>| of.get(other).map_or("none", String::as_str).to_owned();
        Some(sentence("found with", other, &value(then), &value(now)))
    }
}

/// The format of a line and its members without the hash, if they are what was hashed.
fn object(text: &[u8]) -> Option<(u32, String)> {
    let (members, hash) = str::from_utf8(text).ok()?.rsplit_once(BEFORE_HASH)?;
    if hash.strip_suffix(BEHIND_HASH)? != &hash_of([members])[..HASH_LEN] {
        return None;
    }
    let object = format!("{members}}}");
    let AnyLine { format } = serde_json::from_str(&object).ok()?;
    Some((format, object))
}

/// A hash of names, and of their order.
pub(super) fn hash_of_names(names: &[String]) -> String {
    hash_of(names)[..HASH_LEN].to_owned()
}

/// The CPU's model, and the features that candidates may use of it.
fn this_cpu() -> &'static str {
    static CPU: OnceLock<String> = OnceLock::new();
    CPU.get_or_init(|| {
        let features = cpu_features::names(cpu_features::detected());
        format!("{} with {}", cpu_features::model(), features.join(" "))
    })
}

/// Members as they would be written, with the hash that belongs to them.
#[cfg(test)]
pub(super) fn forged(members: &str) -> Vec<u8> {
    let members = members.strip_suffix('}').unwrap();
    format!("{members}{BEFORE_HASH}{}{BEHIND_HASH}", &hash_of([members])[..HASH_LEN]).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(found: Found) -> Line {
        let candidates = ["default".to_owned(), "µ\t\"x\"\n".to_owned()];
        let validators = BTreeMap::from([("blas".to_owned(), "0.3".to_owned())]);
        let subject = Subject { op: "dense", key: "M=6 N=5", candidates: &candidates, validators: &validators };
        Line::new(&subject, found)
    }

    fn fastest(seconds: f64) -> Line {
        let seconds = BTreeMap::from([("default".to_owned(), 2e-6), ("µ\t\"x\"\n".to_owned(), seconds)]);
        line(Found::Fastest { candidate: "µ\t\"x\"\n".to_owned(), seconds, rotation: 0 })
    }

    #[test]
    fn a_line_says_over_what_timed_calls_went() {
        let same = fastest(1e-6);
        assert!(!same.to_text().contains("rotation"));
        let Found::Fastest { candidate, seconds, .. } = same.found else { panic!("it is the fastest") };
        let rotated = line(Found::Fastest { candidate, seconds, rotation: 64 << 20 });
        let text = rotated.to_text();
        assert!(text.contains("\"rotation\":67108864"), "{text}");
        assert_eq!(Line::read(text.trim_end().as_bytes()), Ok(rotated));
        // Who knows no rotation reads the one, and is told that the other has a newer form.
        assert!(fastest(1e-6).to_text().contains("\"format\":1,") && text.contains("\"format\":2,"), "{text}");
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        for line in [fastest(1.0 / 3.0 * 1e-6), line(Found::Ended { candidate: "µ\t\"x\"\n".to_owned() })] {
            let text = line.to_text();
            assert_eq!(text.matches('\n').count(), 1, "{text}");
            assert_eq!(Line::read(text.trim_end().as_bytes()), Ok(line));
        }
    }

    #[test]
    fn a_line_that_was_cut_or_changed_anywhere_is_none() {
        let text = fastest(1e-6).to_text();
        let text = text.trim_end().as_bytes();
        for at in 0..text.len() {
            assert!(Line::read(&text[..at]).is_err(), "cut at {at}");
            assert!(Line::read(&text[at + 1..]).is_err(), "cut before {at}");
            for bit in 0..8 {
                let mut changed = text.to_vec();
                changed[at] ^= 1 << bit;
                assert!(Line::read(&changed).is_err(), "bit {bit} of byte {at}");
            }
        }
        assert!(Line::read(&[text, text].concat()).is_err(), "two lines in one");
    }

    #[test]
    fn what_a_line_does_not_match_is_told() {
        let text = serde_json::to_string(&fastest(1e-6)).unwrap();
        let read = |from: &str, to: &str| {
            assert!(text.contains(from), "{from} in {text}");
            Line::read(&forged(&text.replace(from, to))).unwrap_err()
        };
        assert_eq!(read("\"format\":1", "\"format\":3,\"new\":[]"), "format `3`, not `2`");
        assert_eq!(read("\"format\":1", "\"format\":0"), "format `0`, not `2`");
        let (cpu, version) = (this_cpu(), env!("CARGO_PKG_VERSION"));
        assert_eq!(read(version, "9.9.9"), format!("version dietcode `9.9.9`, not `{version}`"));
        let cpu_text = serde_json::to_string(cpu).unwrap();
        assert_eq!(read(&cpu_text, "\"other\""), format!("found on the CPU `other`, not `{cpu}`"));
        for (from, to) in
            [("\"op\"", "\"oq\""), ("\"op\":", "\"op\":1,\"op\":"), ("fastest", "slowest"), ("1e-6", "NaN")]
        {
            assert_eq!(read(from, to), "it is damaged", "{to}");
        }
        for time in ["-1e-6", "1e300"] {
            assert_eq!(read("1e-6", time), "it has a time that is none");
        }
    }

    proptest::proptest! {
        /// Members that hold what they hash to, but were written by nobody who knows what they mean.
        #[test]
        fn a_forged_line_is_refused_or_says_what_it_says(
            at in 0usize..400, cut in 0usize..40, put in "[\\x20-\\x7e]{0,20}|1e999|-0|null|\\\\u0000|[\\[]{200}",
        ) {
            let text = serde_json::to_string(&fastest(1e-6)).unwrap();
            let members = text.strip_suffix('}').unwrap();
            let begin = members.floor_char_boundary(at.min(members.len()));
            let end = members.floor_char_boundary((begin + cut).min(members.len()));
            let members = [&members[..begin], &put, &members[end..]].concat();
            if let Ok(line) = Line::whole(&forged(&(members + "}"))) {
                proptest::prop_assert_eq!(Line::whole(line.to_text().trim_end().as_bytes()), Ok(line));
            }
        }
    }

    #[test]
    fn subjects_differ_by_candidates_and_validators() {
        let (line, names) = (fastest(1e-6), ["default".to_owned(), "µ\t\"x\"\n".to_owned()]);
        let mismatch = |candidates: &[String], validators: &[(&str, &str)]| {
            let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            let validators = validators.iter().map(own).collect();
            line.mismatch(&Subject { op: "dense", key: "M=6 N=5", candidates, validators: &validators })
        };
        assert_eq!(mismatch(&names, &[("blas", "0.3")]), None);
        let other = |validators| mismatch(&names, validators).unwrap();
        assert_eq!(other(&[("blas", "0.4")]), "found with blas `0.3`, not `0.4`");
        assert_eq!(other(&[]), "found with blas `0.3`, not `none`");
        assert_eq!(other(&[("blas", "0.3"), ("driver", "12")]), "found with driver `none`, not `12`");
        let swapped = [names[1].clone(), names[0].clone()];
        assert!(mismatch(&swapped, &[("blas", "0.3")]).unwrap().contains("other candidates"));
        assert!(mismatch(&names[..1], &[("blas", "0.3")]).unwrap().contains("other candidates"));
    }
}
