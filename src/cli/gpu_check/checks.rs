//! Compiles every micro-kernel and checks it at its shapes.

use std::collections::BTreeMap;

use dietcode::Result;
use dietcode::core::config::Config;
use dietcode::core::measure::cuda::{Built, CudaHarness};
use dietcode::core::measure::{Device, Implementation, Instance, Timing};
use dietcode::core::syntax::KernelDef;

use super::Run;
use super::result::{Check, Checked};
use super::shapes::{Shape, Shapes, shapes};

/// Checks all micro-kernels of the plan's configs; an error leaves in `all` those that were done before.
pub(super) fn check_all(run: &mut Run<'_>, which: Shapes, all: &mut Vec<Checked>) -> Result<()> {
    let limits = run.compiler.limits()?;
    let plan = run.plan;
    let units = plan.checked(limits)?;
    let progress = &run.progress;
    let built = run.compiler.build(&units, run.stop, |done| progress.count("compiling", done, units.len()));
    let mut harness: Option<CudaHarness> = None;
    for (n, ((def, blocked), built)) in plan.checks.iter().zip(built).enumerate() {
        if run.is_stopped() || (run.deadline.is_half_over() && !plan.problems.is_empty()) {
            break;
        }
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
        };
        match built {
            Ok(built) => {
                for shape in shapes(def, blocked, which) {
                    checked.checks.push(check(harness, &built, &shape)?);
                }
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
