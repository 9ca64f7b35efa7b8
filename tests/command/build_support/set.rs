//! A package with a set of configurations: a program that calls each of them, and what cargo builds of a changed set.

use super::package::Package;

const SET: &str = r#"{
  "naive": [{ "cache_line_size": [64] }],
  "non_local": [{
    "work_item_sizes": [[4, 4]], "work_group_sizes": [[8, 8]],
    "vectorization_size": [2, 4], "vectorization": ["partial"]
  }]
}"#;

/// Calls each configuration, and the list that the set is made from.
const PROGRAM: &str = r#"
mod ops;
mod set {
    include!(concat!(env!("OUT_DIR"), "/dietcode-set/registry.rs"));
}

use dietcode_core::runtime::cuda::{CudaTensor, Device};
use dietcode_core::runtime::{Arg, Input, Output, Tensor};
use ops::{dense, row_sum};
use set::SET;

macro_rules! names {
    ($({ $name:ident $family:ident $parameters:literal })*) => { [$(stringify!($name)),*] };
}

fn main() -> dietcode_core::Result<()> {
    let listed: &[&str] = &set::dietcode_kernels!(names);
    assert!(listed.iter().eq(SET.configurations.iter().map(|configuration| &configuration.name)));
    let x = Tensor::from_fn(&[37, 41], |at| (at % 7) as f32)?;
    let w = Tensor::from_fn(&[19, 41], |at| (at % 5) as f32)?;
    let mut expected = Tensor::zeros(&[37, 19])?;
    dense::reference(&x, &w, &mut expected)?;
    for configuration in SET.configurations {
        let entry = configuration.entry("dense").expect("it serves the dense layer");
        let mut y = Tensor::full(&[37, 19], f32::NAN)?;
        let mut args = [Arg::from(x.view()), Arg::from(w.view()), Arg::from(y.view_mut())];
        dense::KERNEL.call_entry(entry, &mut args)?;
        let refused = row_sum::KERNEL.call_entry(entry, &mut args).unwrap_err();
        assert!(refused.to_string().contains("of another nest"), "{refused}");
        // Small whole numbers: their sums are exact.
        assert_eq!(y.as_slice(), expected.as_slice(), "{}", configuration.name);
        if SET.cuda_host.is_ok() {
            let device = Device::cuda_host();
            let (x, w) = (CudaTensor::upload(&device, &x)?, CudaTensor::upload(&device, &w)?);
            let mut y = CudaTensor::<f32>::zeros(&device, &[37, 19])?;
            let mut args = [Input::from(&x).into(), Input::from(&w).into(), Output::from(&mut y).into()];
            dense::KERNEL.call_entry(entry, &mut args)?;
            assert_eq!(y.download()?.as_slice(), expected.as_slice(), "{} on the emulated device", configuration.name);
        }
    }
    let for_devices = SET.configurations.iter().filter(|c| c.entries.iter().any(|entry| entry.cuda.is_some())).count();
    let emulated = if SET.cuda_host.is_ok() { for_devices } else { 0 };
    println!(
        "{} configurations of {}; {for_devices} for devices: {:?}; {emulated} ran on the emulated one",
        listed.len(), SET.config, SET.cuda
    );
    Ok(())
}
"#;

#[test]
fn a_program_calls_each_configuration_of_its_set() {
    let package = Package::new();
    package.replace("Cargo.toml", "dietcode-core\" }", "dietcode-core\", features = [\"cuda\"] }");
    for set in ["cpu_avx2", "cpu_avx512"] {
        package.write(&format!("configs/{set}.json"), SET);
    }
    package.write("configs/other.json", &SET.replace("[2, 4]", "[2, 1]"));
    package.write("src/main.rs", PROGRAM);
    package.replace("build.rs", ".compile()", ".with_set(\"configs\").compile()");

    let run = package.cargo(&["run"]);
    assert!(run.succeeded && run.text.contains("3 configurations of configs/cpu_avx"), "{}", run.text);
    assert!(run.text.contains("set DIETCODE_TARGETS=cuda and build again"), "{}", run.text);
    assert_eq!(compiled_of_the_set(&run.compiled), 4, "three configurations and the registry: {:?}", run.compiled);

    let emulated = package.cargo_with(&["run"], &[("DIETCODE_TARGETS", "cpu,cuda-host")]);
    assert!(emulated.succeeded && emulated.text.contains("; 3 for devices: Err("), "{}", emulated.text);
    assert!(emulated.text.contains("3 ran on the emulated one"), "{}", emulated.text);

    let other = [("DIETCODE_CONFIG", "configs/other.json")];
    let changed = package.cargo_with(&["run", "-vv"], &other);
    assert!(changed.succeeded && changed.text.contains("3 configurations of configs/other.json"), "{}", changed.text);
    assert_eq!(compiled_of_the_set(&changed.compiled), 2, "one configuration and the registry: {:?}", changed.compiled);
    assert!(changed.text.contains("dietcode: compiled 2 of 2"), "progress is told: {}", changed.text);

    let again = package.cargo_with(&["run"], &other);
    assert!(again.succeeded && again.compiled.is_empty(), "{:?}", again.compiled);

    package.write("configs/other.json", "{ \"naive\": [{ \"cache_line_size\": [\"64\"] }] }");
    let wrong = package.cargo_with(&["build"], &other);
    assert!(!wrong.succeeded && wrong.text.contains("error: dense@0.1.0: configs/other.json:1:35:"), "{}", wrong.text);
    assert!(!wrong.text.contains("panicked"), "{}", wrong.text);

    let skipped = package.cargo_with(&["build"], &[("DIETCODE_SKIP_NATIVE", "1")]);
    assert!(skipped.succeeded, "{}", skipped.text);
}

fn compiled_of_the_set(compiled: &[String]) -> usize {
    compiled.iter().filter(|folder| folder.ends_with("/dietcode-set")).count()
}
