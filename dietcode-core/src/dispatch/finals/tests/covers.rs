//! Covers in searches and finals: they win where they are faster, and are not there where they are not.

use super::*;
use crate::cost_model::cpu::Profile;

/// What a search came to.
struct Searching {
    /// Who has each of two instances, as (main, rest) by the rows of their tiles.
    selected: Vec<String>,
    tuned: Tuned,
    /// How many candidates there were beside the default, and how many of them were covers.
    tried: [usize; 2],
}

/// On a machine on which a cover takes so many times as long as the model says, and all else what it says: what a search of three
/// micro-kernels comes to.
fn searched(nest: &str, m: [i64; 2], slower: f64, records: Option<&Path>) -> (Vec<String>, Tuned) {
    let ended = searched_within(None, &[1, 24, 8], (nest, m), slower, records);
    (ended.selected, ended.tuned)
}

/// The same of micro-kernels of so many rows, of which the first is the default, in so many trials.
fn searched_within(
    trials: Option<usize>,
    rows: &[i64],
    (nest, m): (&str, [i64; 2]),
    slower: f64,
    records: Option<&Path>,
) -> Searching {
    let def: KernelDef = crate::testing::kernel(nest);
    let mut kernels = kernels(&def, rows);
    let (program, target) = (frontend::program(&def), Target::Cpu(avx512()));
    let pairs = kernels.iter().flat_map(|main| kernels.iter().map(move |rest| (main, rest)));
    let covers = pairs.flat_map(|(main, rest)| rows.iter().map(|rows| MicroKernel::cover(main, rest, "M", *rows)));
    let all: BTreeMap<String, MicroKernel> =
        kernels.iter().cloned().chain(covers).map(|one| (one.name(), one)).collect();
    let call = {
        let target = target.clone();
        move |name: &str, instance: &Instance, setting: usize| {
            let lowered = all[name].lowered(&program, &target).unwrap();
            let seconds = Profile::of(&lowered).seconds(&avx512(), &instance.shape, setting);
            Ok(seconds * if lowered.cover.is_some() { slower } else { 1.0 })
        }
    };
    let device = SimulatedDevice::new(def.clone(), target, Box::new(call)).timed();
    let workload = |rows: i64| {
        let instance = Instance::of(&def, &[rows]).unwrap();
        WorkloadInstance { wkl: [("M".to_owned(), rows)].into(), weight: 1.0, instance }
    };
    let (stop, watch) = (AtomicBool::new(false), |_: Event| ());
    let budget = Budget::start(device.clock(), 1e6, &stop);
    let database = records.map_or_else(Database::in_memory, |path| Database::open(path).unwrap());
    let journal = Journal::resume(database, &device, Identity { seed: 0, space_hash: String::new() });
    let rest = kernels.split_off(1);
    let defaults = Defaults { micro_kernels: kernels, of: vec![0; 2] };
    let tuning = Tuning::new(Box::new(device), m.map(workload).into(), vec![1], defaults, budget, journal, &watch);
    let mut tasks = [Task { tuning, proposer: enumerated(rest), weight: 1.0, per_round: 8 }];
    let course = Course { trials, until: None, scheduling: Scheduling::default(), seed: 0 };
    let found = search(&mut tasks, &course).swap_remove(0).unwrap();
    let covers = found.candidates.iter().filter(|candidate| candidate.micro_kernel.cover.is_some()).count();
    let tried = [found.tried, covers];
    let searched = Searched { config: None, tolerance: 0.02, most: 8, space_hash: "s", found: &found };
    let ended = finalize(&mut tasks[0].tuning, searched, &Baselines::on_gpu(None, false), |_| ()).unwrap();
    let selected = ended.selected.iter().map(|at| found.candidates[*at].micro_kernel.name()).collect();
    Searching { selected, tuned: ended.tuned, tried }
}

#[test]
fn a_cover_wins_where_it_is_faster() {
    let folder = tempfile::tempdir().unwrap();
    let records = folder.path().join("records.jsonl");
    let (selected, tuned) = searched(DENSE, [32, 96], 1.0, Some(&records));
    // At 96 rows, multiples of 24, it is its main micro-kernel alone, so that one micro-kernel serves both.
    assert!(selected[0].starts_with("24x16_and_8x16_") && selected[1] == selected[0], "{selected:?}");
    assert!(tuned.micro_kernels.len() == 1 && tuned.micro_kernels[0].cover.is_some(), "{tuned:?}");
    assert_eq!(tuned.tree.pick(&["M".to_owned()], &[32]), selected[0]);
    let seen = &tuned.instances[0].measurements[0];
    assert!((0.9..1.1).contains(&seen.of_predicted.unwrap()), "{seen:?}");
    let lines = || std::fs::read_to_string(&records).unwrap().lines().count();
    let before = lines();
    let continued = searched(DENSE, [32, 96], 1.0, Some(&records)).0;
    assert_eq!((continued, lines()), (selected, before), "a run that is continued comes to the same, by its records");
}

#[test]
fn a_cover_that_is_slower_than_expected_wins_nothing() {
    let (selected, tuned) = searched(DENSE, [32, 96], 1.5, None);
    assert_eq!(selected[0], selected[1]);
    assert!(tuned.micro_kernels.iter().all(|one| one.cover.is_none()), "{tuned:?}");
}

#[test]
fn where_nothing_is_padded_there_is_no_cover() {
    let folder = tempfile::tempdir().unwrap();
    let records = folder.path().join("records.jsonl");
    searched(DENSE, [48, 96], 1.0, Some(&records));
    assert!(!std::fs::read_to_string(&records).unwrap().contains("_and_"));
}

/// Of three micro-kernels two are no defaults.
#[test]
fn covers_are_trials() {
    let tried = |trials| searched_within(Some(trials), &[1, 24, 8], (DENSE, [32, 96]), 1.0, None).tried;
    assert_eq!([1, 2, 3, 9].map(tried), [[1, 0], [2, 0], [3, 1], [3, 1]]);
}

/// Of sixteen trials, rounds leave one, since no tile divides either instance.
#[test]
fn rounds_leave_trials_to_covers() {
    let rows = [1, 24, 8, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 14, 15, 16, 20];
    let tried = |m| searched_within(Some(16), &rows, (DENSE, m), 1.0, None).tried;
    assert_eq!(tried([37, 111]), [16, 1]);
    assert_eq!(tried([240, 480]), [16, 0], "where nothing is padded they have all");
}
