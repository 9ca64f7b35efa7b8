//! What a result must have: that is also what `tests/gpu/results/README.md` says of it.

use serde_json::Value;

/// Where a result is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A GPU.
    Measured,
    /// The emulated device.
    Rehearsal,
}

/// What a value has to be.
type Rule = (&'static str, fn(&Value) -> bool);

const TEXT: fn(&Value) -> bool = |value| value.as_str().is_some_and(|text| !text.is_empty());
const FILLED: fn(&Value) -> bool = |value| value.as_array().is_some_and(|array| !array.is_empty());

const RULES: &[Rule] = &[
    ("format", |value| *value == 1),
    ("program", TEXT),
    ("date", |value| value.as_str().is_some_and(|date| date.len() == 10 && date.split('-').count() == 3)),
    ("time", Value::is_u64),
    ("complete", Value::is_boolean),
    ("toolchain", TEXT),
    ("failures", Value::is_u64),
    ("settings/seed", Value::is_u64),
    ("settings/seconds", Value::is_f64),
    ("settings/shapes", TEXT),
    ("settings/cold_l2", Value::is_boolean),
    ("settings/clock", TEXT),
    ("device/name", TEXT),
    ("device/model", TEXT),
    ("device/emulated", Value::is_boolean),
    ("device/capability", FILLED),
    ("device/multiprocessors", Value::is_u64),
];

/// What only a run that came to its end has.
const RULES_OF_THE_END: &[Rule] = &[("micro_kernels", FILLED), ("tuned", FILLED), ("comparisons", FILLED)];

/// What only a GPU has.
const RULES_OF_A_GPU: &[Rule] = &[
    ("device/driver_cuda", TEXT),
    ("device/l2_bytes", |value| value.as_u64().is_some_and(|bytes| bytes > 0)),
    ("copy_bytes_per_second/median", Value::is_f64),
    ("settings/clock", |value| value == "events"),
];

/// The first thing that is missing.
pub(crate) fn check(result: &Value, kind: Kind) -> Result<(), String> {
    let emulated = kind == Kind::Rehearsal;
    let at_the_end = if result["complete"] == false { &[] } else { RULES_OF_THE_END };
    let rules = RULES.iter().chain(at_the_end).chain(if emulated { &[] } else { RULES_OF_A_GPU });
    for (place, holds) in rules {
        let value = result.pointer(&format!("/{place}")).unwrap_or(&Value::Null);
        if !holds(value) {
            return Err(format!("`{place}` is {value:.200}"));
        }
    }
    if result["device"]["emulated"] != emulated || result["note"].is_string() != emulated {
        return Err("a result of the emulated device says so, and no other does".to_owned());
    }
    list(result, "micro_kernels").try_for_each(check_micro_kernel)?;
    list(result, "comparisons").try_for_each(|compared| match FILLED(&compared["entries"]) {
        true => list(compared, "entries").try_for_each(check_entry),
        false => Err(format!("`comparisons` has {compared}")),
    })
}

fn list<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value[name].as_array().into_iter().flatten()
}

/// Each check has an error or the reason why it has none.
fn check_micro_kernel(micro_kernel: &Value) -> Result<(), String> {
    let complete = |check: &Value| check["rel_err"].is_f64() != check["failure"].is_object();
    let named = TEXT(&micro_kernel["name"]) && TEXT(&micro_kernel["kernel"]) && TEXT(&micro_kernel["arithmetic"]);
    let checked = FILLED(&micro_kernel["checks"]) != micro_kernel["compile_failure"].is_object();
    match named && checked && list(micro_kernel, "checks").all(complete) {
        true => Ok(()),
        false => Err(format!("`micro_kernels` has {micro_kernel}")),
    }
}

/// Each figure is a median with its spread and its repeats, or there is a reason why there is none.
fn check_entry(entry: &Value) -> Result<(), String> {
    let is_summary = |summary: &Value| {
        summary["median"].is_f64() && summary["iqr"].is_f64() && summary["repeats"].as_u64().is_some_and(|n| n > 0)
    };
    let measured = is_summary(&entry["seconds"]) && is_summary(&entry["gflops"]) && entry["rel_err"].is_f64();
    match TEXT(&entry["impl"]) && measured != entry["failure"].is_object() {
        true => Ok(()),
        false => Err(format!("`comparisons` has {entry}")),
    }
}
