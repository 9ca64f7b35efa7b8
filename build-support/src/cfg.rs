//! Which `#[cfg(…)]` predicates hold, by what cargo tells a build script.

use std::collections::BTreeMap;

/// What a build script cannot know: it runs once, for builds with and without each of these.
pub(crate) const UNKNOWN: [&str; 3] = ["test", "debug_assertions", "doc"];

/// Whether `name`, or `name = "value"`, holds.
pub(crate) fn holds(vars: &BTreeMap<String, String>, name: &str, value: Option<&str>) -> bool {
    let upper = |text: &str| text.to_uppercase().replace('-', "_");
    match (name, value) {
        ("feature", Some(feature)) => vars.contains_key(&format!("CARGO_FEATURE_{}", upper(feature))),
        (name, None) => vars.contains_key(&format!("CARGO_CFG_{}", upper(name))),
        (name, Some(value)) => {
            let found = vars.get(&format!("CARGO_CFG_{}", upper(name)));
            // A predicate with several values, such as `target_feature`, lists them with commas.
            found.is_some_and(|found| found.split(',').any(|one| one == value))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predicates_are_looked_up_as_cargo_spells_them() {
        let vars = [
            ("CARGO_FEATURE_FAST_MATH", ""),
            ("CARGO_CFG_UNIX", ""),
            ("CARGO_CFG_TARGET_OS", "linux"),
            ("CARGO_CFG_TARGET_FEATURE", "sse,sse2"),
        ];
        let vars = vars.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        for (name, value, expected) in [
            ("feature", Some("fast-math"), true),
            ("feature", Some("slow"), false),
            ("unix", None, true),
            ("windows", None, false),
            ("target_os", Some("linux"), true),
            ("target_os", Some("lin"), false),
            ("target_feature", Some("sse2"), true),
            ("target_feature", Some("avx"), false),
        ] {
            assert_eq!(holds(&vars, name, value), expected, "{name} {value:?}");
        }
    }
}
