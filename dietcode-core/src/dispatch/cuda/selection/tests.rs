use super::*;
use crate::config::Cache;
use crate::dispatch::{FORMAT, Instance, Provenance, Tuned};
use crate::frontend;
use crate::schedule::Trace;
use crate::testing::dense;

const CONFIG: &str = r#"{
  "kernel": { "source": "ops.rs", "function": "dense" },
  "shape": { "M": "16*T", "K": 768, "N": 2304 },
  "wkl_insts": [{ "T": 1 }, { "T": 16 }, { "T": 256 }],
  "targets": { "cuda": { "capabilities": ["sm_80"], "generators": [{
    "family": "blocked",
    "thread": [{ "i": 16, "j": 16 }],
    "inner": [{ "i": 1, "j": 4 }, { "i": 4, "j": 4 }, { "i": 8, "j": 8 }],
    "reduce": [{ "k": 16 }],
    "stage": [{ "x": { "reduce_outside": true }, "w": { "reduce_outside": true } }],
    "stages": [1, 2]
  }] } }
}"#;

fn sm_80() -> ComputeCapability {
    "sm_80".parse().unwrap()
}

fn config() -> (tempfile::TempDir, Config) {
    let folder = tempfile::tempdir().unwrap();
    let config = Config::parse(folder.path().join("dense.json"), CONFIG).unwrap();
    (folder, config)
}

fn selection(config: Option<&Config>) -> Selection {
    Selection::new(&dense(), &frontend::program(&dense()), config, &[sm_80()], Some("13.0.88")).unwrap()
}

/// What a compiler would say of a micro-kernel.
fn reports(candidate: &Candidate, registers: u32, spills: u32) -> Vec<KernelReport> {
    let report = |launch: &crate::codegen::cuda::CudaLaunch| KernelReport {
        capability: sm_80(),
        symbol: launch.symbol.clone(),
        registers,
        spill_stores: spills,
        spill_loads: spills,
        stack_frame: 0,
        shared_bytes: 0,
        constant_bytes: 0,
        barriers: 1,
        main_loop: None,
        pipes: None,
    };
    candidate.unit.launches.iter().map(report).collect()
}

/// Compiles what is wanted until nothing is; `spills` says of which the compiler reports spills.
fn settle(selection: &mut Selection, spills: impl Fn(&str) -> bool) -> (Choice, usize) {
    let mut compiled = 0;
    loop {
        let wanted: Vec<Candidate> = selection.wanted().into_iter().cloned().collect();
        if wanted.is_empty() {
            return (selection.finalize(), compiled);
        }
        for candidate in wanted {
            compiled += 1;
            let spills = u32::from(spills(candidate.name()));
            selection.learn(candidate.name(), reports(&candidate, 100, spills));
        }
    }
}

#[test]
fn instances_get_what_the_model_predicts_and_the_tree_leads_there() {
    let (_folder, config) = config();
    let (choice, compiled) = settle(&mut selection(Some(&config)), |_| false);
    let [device] = &choice.report.devices[..] else { panic!("{:?}", choice.report) };
    assert!(matches!(device.source, Source::Predicted { candidates: 7 }), "{:?}", device.source);
    assert!(choice.micro_kernels.len() >= 2 && compiled < 7, "{}", choice.report.text());
    let (capability, decision) = &choice.decisions[0];
    assert_eq!(*capability, (8, 0));
    for instance in &device.instances {
        let shape: Vec<i64> = dense().shape_vars.iter().map(|var| instance.shape[&var.name]).collect();
        assert_eq!(choice.micro_kernels[decision.pick(&shape)].name(), instance.micro_kernel);
    }
    let tile = |at: usize| choice.micro_kernels.iter().find(|c| c.name() == device.instances[at].micro_kernel).unwrap();
    let rows = |at: usize| {
        let parameters = tile(at).micro_kernel.origin.parameters.clone();
        serde_json::from_value::<Blocked>(parameters).unwrap().block_tile("i")
    };
    assert!(rows(0) < rows(2), "{}", choice.report.text());
    assert!(device.launches.iter().all(|launch| launch.report.is_some() && launch.registers == 100));
}

#[test]
fn what_spills_is_not_chosen_unless_nothing_else_is_left() {
    let (_folder, config) = config();
    let (before, _) = settle(&mut selection(Some(&config)), |_| false);
    let best = before.report.devices[0].instances[2].micro_kernel.clone();
    let (after, _) = settle(&mut selection(Some(&config)), |name| name == best);
    assert!(after.micro_kernels.iter().all(|candidate| candidate.name() != best), "{}", after.report.text());
    let (all, _) = settle(&mut selection(Some(&config)), |_| true);
    assert!(all.report.text().contains("SPILLS"), "{}", all.report.text());
    assert!(!before.report.text().contains("SPILLS"));
}

#[test]
fn without_a_config_there_is_the_default() {
    let (choice, _) = settle(&mut selection(None), |_| false);
    let device = DeviceLimits::of(sm_80()).unwrap();
    assert_eq!(choice.micro_kernels.len(), 1);
    let program = frontend::program(&dense());
    let default = Blocked::default_for(&program, device).map(|b| b.micro_kernel(&program, device).unwrap().0);
    assert_eq!(Some(&choice.micro_kernels[0].micro_kernel), default.as_ref());
    assert_eq!(choice.decisions[0].1, Decision::Pick(0));
    assert_eq!(choice.report.devices[0].source, Source::Default);
}

fn of_parameters(blocked: &Blocked) -> MicroKernel {
    blocked.micro_kernel(&frontend::program(&dense()), DeviceLimits::of(sm_80()).unwrap()).unwrap().0
}

#[test]
fn a_tuned_file_is_taken_if_it_fits() {
    let (_folder, config) = config();
    let cuda = config.cuda.as_ref().unwrap();
    let all: Vec<Blocked> = cuda.candidates().collect();
    let path = config.tuned_path("sm_80");
    let of = |m: i64| Instance {
        wkl: BTreeMap::new(),
        shape: [("M", m), ("K", 768), ("N", 2304)].map(|(var, value)| (var.to_owned(), value)).into(),
        micro_kernel: of_parameters(&all[1]).name(),
        measurements: vec![],
    };
    let own = [1, 4].map(|at| of_parameters(&all[at]).name());
    let [small, large] = own.clone().map(Tree::Leaf);
    let tree = Tree::split("M", 100, small, large);
    let tuned = Tuned {
        format: FORMAT,
        kernel: "dense".into(),
        target: "sm_80".into(),
        provenance: Provenance {
            source_hash: format!("{:016x}", dense().source_hash()),
            space_hash: config.space_hash("cuda", config.search.strategy.into()),
            cpu: String::new(),
            device: "NVIDIA A100-SXM4-40GB".into(),
            features: vec![],
            compiler: "13.0.88".into(),
            estimated: false,
            cache: Cache::Warm,
            date: "2026-11-21".into(),
        },
        micro_kernels: vec![of_parameters(&all[1]), of_parameters(&all[4])],
        reports: BTreeMap::new(),
        tree,
        instances: vec![of(16), of(256)],
        regret: None,
        asked: None,
    };
    tuned.save(&path).unwrap();
    let mut selected = selection(Some(&config));
    let gaps: Vec<String> = selected.gaps.iter().map(ToString::to_string).collect();
    assert!(gaps.len() == 1 && gaps[0].contains("was tuned for 2 instances on sm_80; T=256 of "), "{gaps:?}");
    let (choice, compiled) = settle(&mut selected, |_| false);
    let known: Vec<bool> = choice.report.devices[0].instances.iter().map(|instance| instance.tuned).collect();
    assert_eq!(known, [true, true, false]);
    assert_eq!((choice.report.devices[0].source, compiled), (Source::Tuned, 2));
    let names: Vec<&str> = choice.micro_kernels.iter().map(Candidate::name).collect();
    assert_eq!(names, own);

    let miss = |tuned: &Tuned, why: &str| {
        tuned.save(&path).unwrap();
        let selection = selection(Some(&config));
        let misses: Vec<String> = selection.misses.iter().map(ToString::to_string).collect();
        assert!(misses.len() == 1 && misses[0].contains(why), "{misses:?}");
        assert!(matches!(selection.finalize().report.devices[0].source, Source::Predicted { .. }));
    };
    let older = Provenance { compiler: "12.8.61".into(), ..tuned.provenance.clone() };
    miss(&Tuned { provenance: older, ..tuned.clone() }, "12.8.61");
    let greedy = Blocked { reduce: BTreeMap::from([("k".into(), 1 << 16)]), ..all[1].clone() };
    let mut schedule = greedy.schedule(&frontend::program(&dense())).unwrap();
    schedule.enter_postproc();
    let named = MicroKernel::of_trace(Trace::new(schedule.trace()), "traced");
    let leaf = Tree::Leaf(named.name());
    miss(&Tuned { micro_kernels: vec![named], tree: leaf, ..tuned.clone() }, "is not valid");
    let foreign = MicroKernel::nest(&frontend::program(&dense()));
    let leaf = Tree::Leaf(foreign.name());
    miss(&Tuned { micro_kernels: vec![foreign], tree: leaf, ..tuned }, "it is one for a CPU");
}

/// The default serves then, and the user hears of it.
#[test]
fn a_config_of_which_nothing_is_valid_is_told() {
    let threads = |threads: i64| {
        let config = CONFIG
            .replace(r#""thread": [{ "i": 16, "j": 16 }]"#, &format!(r#""thread": [{{ "i": {threads}, "j": 32 }}]"#));
        Config::parse("dense.json", config).unwrap()
    };
    let told = |config: &Config| -> Vec<String> {
        let selection = selection(Some(config));
        assert!(selection.unusable.is_empty() || selection.finalize().report.devices[0].source == Source::Default);
        selection.unusable.iter().map(ToString::to_string).collect()
    };
    let expected = "dense.json: targets.cuda.generators: none of 6 schedules is valid for sm_80, where the default serves instead; the \
                    first is not because of: schedule of `dense`: bind: a block has up to 1024 threads, `thread` has 16384; `dietcode \
                    expand` counts the reasons on the config's devices";
    assert_eq!(told(&threads(512)), [expected]);
    assert_eq!(told(&threads(8)), [""; 0]);
}
