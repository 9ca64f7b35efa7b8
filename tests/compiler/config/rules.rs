//! A user's own rules: a name, or a file beside the config.

use std::fs;

use dietcode_core::config::Config;
use dietcode_core::machine::Target;
use dietcode_core::machine::cuda::DeviceLimits;
use dietcode_core::schedule::{Instruction, Trace};
use dietcode_core::sketch::Space;
use dietcode_core::sketch::rules::{CustomRules, CustomSketch};

use super::FULL;

#[test]
fn a_rule_is_a_name_or_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.json");
    let config = |rule: &str| Config::parse(&path, FULL.replace("by_hand", rule));
    let sketch = Trace::new(vec![Instruction::DecomposeReduction]);
    fs::write(folder.path().join("sketch.json"), serde_json::to_string(&sketch).unwrap()).unwrap();
    assert_eq!(config("sketch.json").unwrap().search.rules["dense"].by, CustomSketch::Sketch(sketch));
    assert_eq!(config("by_hand").unwrap().search.rules["dense"].by, CustomSketch::Function("by_hand".into()));
    fs::write(folder.path().join("torn.json"), "{\n  \"instructions\": [\"split\"").unwrap();
    let torn = config("torn.json").unwrap_err().to_string();
    assert!(torn.contains("c.json:27:25: key `search.rules.dense`: ") && torn.contains("torn.json:2:"), "{torn}");
    let missing = config("missing.json").unwrap_err().to_string();
    assert!(
        missing.contains("c.json:27:25: key `search.rules.dense`: ") && missing.contains("missing.json"),
        "{missing}"
    );
}

#[test]
fn rules_must_be_registered_and_blocks_be_there() {
    let config = |text: &str| Config::parse("c.json", text).unwrap();
    let mut registered = CustomRules::default();
    registered.register("by_hand", |_, _| Ok(vec![Trace::default()]));
    assert!(config(FULL).custom_rules(registered.clone()).is_ok());
    let unknown = config(FULL).custom_rules(CustomRules::default()).unwrap_err().to_string();
    assert!(unknown.starts_with("c.json:27:25: key `search.rules.dense`: "), "{unknown}");
    assert!(unknown.ends_with("`by_hand`, which is not registered; there is none at all"), "{unknown}");
    let other =
        config(&FULL.replace("\"dense\": \"by", "\"dens\": \"by")).custom_rules(registered).unwrap_err().to_string();
    assert_eq!(
        other,
        "c.json:27:24: key `search.rules.dens`: found a rule for the block `dens`, expected one for `dense`"
    );
}

#[test]
fn a_sketch_that_does_not_hold_is_told_with_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let sketch = Trace::new(vec![Instruction::Reorder(vec!["l".into()])]);
    fs::write(folder.path().join("sketch.json"), serde_json::to_string(&sketch).unwrap()).unwrap();
    let config = Config::parse(folder.path().join("c.json"), FULL.replace("by_hand", "sketch.json")).unwrap();
    let custom = config.custom_rules(CustomRules::default()).unwrap();
    let source = "#[dynamic_kernel] fn dense(x: &[f32; N], y: &mut [f32; N]) { for i in 0..N { y[i] = x[i]; } }";
    let def = dietcode_core::syntax::scan(source).unwrap()[0].parse().unwrap();
    let device = Target::Cuda(*DeviceLimits::of("sm_80".parse().unwrap()).unwrap());
    let error = Space::generate(&def, device, &[vec![64]], &custom).unwrap_err().to_string();
    let place =
        "c.json:27:25: key `search.rules.dense`: sketch.json: the rule for block `dense`: instruction 1 of the trace";
    assert!(error.contains(place) && error.contains("no loop `l`"), "{error}");
}
