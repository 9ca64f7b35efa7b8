//! Compiles every micro-kernel and checks it at its shapes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use dietcode::Result;
use dietcode::core::codegen::cuda::CudaUnit;
use dietcode::core::config::Config;
use dietcode::core::measure::cuda::{Built, CudaHarness};
use dietcode::core::measure::{Device, Failure, Implementation, Instance, Timing};
use dietcode::core::syntax::KernelDef;

use super::Run;
use super::result::{Check, Checked};
use super::shapes::{Shape, Shapes, shapes};

/// Checks all micro-kernels of the plan's configs, each when it is compiled; an error leaves in `all` those that were done before.
pub(super) fn check_all(run: &mut Run<'_>, which: Shapes, all: &mut Vec<Checked>) -> Result<()> {
    let units = run.plan.checked(run.compiler.limits()?)?;
    let (compiler, plan, stop, deadline) = (&run.compiler, run.plan, run.stop, &run.deadline);
    let is_over = AtomicBool::new(false);
    let is_enough = || {
        let is_half_over = deadline.is_half_over() && !plan.problems.is_empty();
        is_half_over || [stop, &is_over].iter().any(|flag| flag.load(Ordering::Relaxed))
    };
    let (sender, built) = channel();
    thread::scope(|scope| {
        // Nobody waits for what comes behind the last that is checked.
        let hand_over = move |at, built| sender.send((at, built)).unwrap_or_default();
        scope.spawn(|| compiler.build_each(&units, &is_enough, hand_over));
        let checked = check_each(run, which, &units, &is_enough, &built, all);
        is_over.store(true, Ordering::Relaxed);
        checked
    })
}

fn check_each(
    run: &Run<'_>,
    which: Shapes,
    units: &[CudaUnit],
    is_enough: &dyn Fn() -> bool,
    built: &Receiver<(usize, std::result::Result<Built, Failure>)>,
    all: &mut Vec<Checked>,
) -> Result<()> {
    let plan = run.plan;
    let mut ready = BTreeMap::new();
    let mut harness: Option<CudaHarness> = None;
    for (n, (def, blocked)) in plan.checks.iter().enumerate() {
        while !ready.contains_key(&n)
            && let Ok((at, built)) = built.recv()
        {
            ready.insert(at, built);
        }
        let Some(built) = ready.remove(&n).filter(|_| !is_enough()) else { break };
        let (def, _) = &plan.kernels[*def];
        // One after the other: each has the device.
        let harness = match harness.take().filter(|harness| harness.def() == def) {
            Some(same) => harness.insert(same),
            None => harness.insert(run.harness(def)?),
        };
        let mut checked = Checked {
            kernel: def.name.clone(),
            name: blocked.name(),
            arithmetic: units[n].arithmetic,
            toolchain: None,
            report: Vec::new(),
            compile_failure: None,
            checks: Vec::new(),
            left_out: 0,
        };
        match built {
            Ok(built) => {
                let shapes = shapes(def, blocked, which);
                for shape in shapes.iter().take_while(|_| !run.is_stopped()) {
                    checked.checks.push(check(harness, &built, shape)?);
                }
                checked.left_out = shapes.len() - checked.checks.len();
                (checked.toolchain, checked.report) = (Some(built.toolchain), built.report);
            }
            Err(failure) => checked.compile_failure = Some(failure),
        }
        all.push(checked);
        run.progress.count("checking", n + 1, plan.checks.len());
    }
    Ok(())
}

fn check(harness: &mut CudaHarness, built: &Built, shape: &Shape) -> Result<Check> {
    let def = harness.def().clone();
    let instance = Instance::of(&def, &shape.extents)?;
    let implementation = Implementation::launched(built, &def, &instance.shape)?;
    let outcome = harness.measure_with_gap(&instance, shape.gap, vec![implementation], Timing::CHECK)?.pop();
    let (rel_err, failure) = match outcome {
        Some(Ok(sample)) => (Some(sample.rel_err), None),
        Some(Err(failure)) => (None, Some(failure)),
        None => unreachable!("each implementation has its outcome"),
    };
    Ok(Check { label: shape.label, shape: named(&def, &shape.extents), gap: shape.gap, rel_err, failure })
}

/// Extents by their names.
pub(super) fn named(def: &KernelDef, extents: &[i64]) -> BTreeMap<String, i64> {
    Config::shape_vars(def).into_iter().zip(extents.iter().copied()).collect()
}
