//! A user's own rules: a name, or a file beside the config.

use std::fs;

use dietcode_core::config::Config;
use dietcode_core::machine::cuda::DeviceLimits;
use dietcode_core::machine::{CpuTarget, Target};
use dietcode_core::schedule::{Instruction, Trace};
use dietcode_core::sketch::Space;
use dietcode_core::sketch::rules::{CustomRules, CustomSketch};

use super::FULL;

fn gpu() -> Target {
    Target::Cuda(*DeviceLimits::of("sm_80".parse().unwrap()).unwrap())
}

#[test]
fn a_rule_may_be_for_one_kind_of_targets_and_none_leaves_the_nest() {
    let cpu = Target::Cpu(CpuTarget::detect("x86-64").unwrap());
    let source = "#[dynamic_kernel] fn dense(x: &[f32; N], y: &mut [f32; N]) { for i in 0..N { y[i] = x[i]; } }";
    let def = dietcode_core::syntax::scan(source).unwrap()[0].parse().unwrap();
    let sketches = |rules: &str, target: &Target| {
        let text = FULL.replace("{ \"dense\": \"by_hand\" }", rules);
        let config = Config::parse("c.json", text).unwrap();
        let custom = config.custom_rules(CustomRules::default(), target).map_err(|e| e.to_string())?;
        Ok::<_, String>(Space::generate(&def, target.clone(), &[vec![64]], &custom).unwrap().sketches)
    };
    let own = sketches("{}", &gpu()).unwrap();
    assert_ne!(own, [Trace::default()]);
    for rules in ["{ \"dense\": \"None\" }", "{ \"cuda\": { \"dense\": \"None\" }, \"dense\": \"by_hand\" }"] {
        assert_eq!(sketches(rules, &gpu()).unwrap(), [Trace::default()], "{rules}");
    }
    assert_eq!(sketches("{ \"cpu\": { \"dense\": \"None\" } }", &gpu()).unwrap(), own, "it is for another target");
    assert_eq!(sketches("{ \"cpu\": { \"dense\": \"None\" } }", &cpu).unwrap(), [Trace::default()]);
    // A function that is not registered is missed only where it counts.
    assert!(sketches("{ \"cpu\": { \"dense\": \"by_hand\" } }", &gpu()).is_ok());
    let missed = sketches("{ \"cpu\": { \"dense\": \"by_hand\" } }", &cpu).unwrap_err();
    assert!(missed.contains("key `search.rules.cpu.dense`") && missed.contains("not registered"), "{missed}");
}

#[test]
fn a_structure_is_one_of_its_target() {
    let cpu = Target::Cpu(CpuTarget::detect("x86-64").unwrap());
    let config = |structure: &str| Config::parse("c.json", FULL.replace("\"SSRRS\"", structure));
    let custom = |structure: &str, target: &Target| {
        let mut registered = CustomRules::default();
        registered.register("by_hand", |_, _| Ok(vec![Trace::default()]));
        let custom = config(structure).unwrap().custom_rules(registered, target);
        custom.map(|custom| format!("{custom:?}")).map_err(|e| e.to_string())
    };
    let [both, by_kind] = ["\"SSRRS\"", "{ \"cpu\": \"SSRS\", \"cuda\": \"SSSRRS\" }"];
    assert!(custom(both, &cpu).unwrap().contains("\"SSRRS\"") && custom(both, &gpu()).unwrap().contains("\"SSRRS\""));
    assert!(custom(by_kind, &cpu).unwrap().contains("\"SSRS\""));
    assert!(custom(by_kind, &gpu()).unwrap().contains("\"SSSRRS\""));
    assert!(custom("{ \"cpu\": \"SSRS\" }", &gpu()).unwrap().contains("structure: None"));
    let all_cpu = "for cpu one of \"SSRSRS\", \"SSRRS\", \"SSRS\"";
    let other = custom("\"SSSRRSRS\"", &cpu).unwrap_err();
    assert!(
        other.starts_with("c.json:28:") && other.contains("key `search.structure`: found \"SSSRRSRS\", expected"),
        "{other}"
    );
    assert!(other.contains(all_cpu) && other.ends_with("or an object with one for each target"), "{other}");
    for (structure, expected) in [
        ("\"SRSRS\"", "key `search.structure`: found the string \"SRSRS\", expected for cpu one of"),
        (
            "{ \"cpu\": \"SSSRRSRS\" }",
            "key `search.structure.cpu`: found the string \"SSSRRSRS\", expected for cpu one of",
        ),
        ("{ \"gpu\": \"SSRS\" }", "key `search.structure.gpu`: found an unknown key, expected one of cpu, cuda"),
        ("7", "key `search.structure`: found 7, expected a string such as \"SSRSRS\", or an object with one for each"),
    ] {
        let error = config(structure).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

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
    assert!(config(FULL).custom_rules(registered.clone(), &gpu()).is_ok());
    let unknown = config(FULL).custom_rules(CustomRules::default(), &gpu()).unwrap_err().to_string();
    assert!(unknown.starts_with("c.json:27:25: key `search.rules.dense`: "), "{unknown}");
    assert!(unknown.ends_with("`by_hand`, which is not registered; there is none at all"), "{unknown}");
    let other = config(&FULL.replace("\"dense\": \"by", "\"dens\": \"by"))
        .custom_rules(registered, &gpu())
        .unwrap_err()
        .to_string();
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
    let custom = config.custom_rules(CustomRules::default(), &gpu()).unwrap();
    let source = "#[dynamic_kernel] fn dense(x: &[f32; N], y: &mut [f32; N]) { for i in 0..N { y[i] = x[i]; } }";
    let def = dietcode_core::syntax::scan(source).unwrap()[0].parse().unwrap();
    let error = Space::generate(&def, gpu(), &[vec![64]], &custom).unwrap_err().to_string();
    let place =
        "c.json:27:25: key `search.rules.dense`: sketch.json: the rule for block `dense`: instruction 1 of the trace";
    assert!(error.contains(place) && error.contains("no loop `l`"), "{error}");
}
