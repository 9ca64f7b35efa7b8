//! What stands at the end: the chosen micro-kernels beside the others.

use dietcode::Result;
use dietcode::core::config::Cache;
use dietcode::core::dispatch::{DEFAULT, Finalized, PICK, Verified};
use dietcode::core::measure::{Baselines, Device};
use dietcode::core::search::WorkloadInstance;

use crate::cli::regret::selection;
use crate::cli::report::{Effort, Report, ReportFiles};
use crate::cli::setup::wkl_text;
use crate::cli::table::{Legend, Line, table};

/// The tables, and the file if one is asked for.
pub(super) fn show(
    finalized: &Finalized,
    workloads: &[WorkloadInstance],
    (device, cache): (&dyn Device, Cache),
    baselines: &Baselines,
    effort: Effort,
    files: &ReportFiles,
) -> Result<()> {
    let mut report = Report::new(device, cache);
    report.search = Some(effort);
    let comparisons = finalized.verified.iter().flatten().flat_map(|v| &v.comparisons);
    report.set_peaks(comparisons, |threads| device.cores().apart(threads));
    let mut legend = Legend::default();
    let counts = finalized.verified.iter().flatten().map(|v| v.comparisons.len()).max().unwrap_or(0);
    for n in 0..counts {
        let lines = lines(finalized, workloads, n);
        for line in &lines {
            report.add(line.workload, line.comparison, |name| {
                (name == line.own).then(|| (PICK.to_owned(), Some(line.kernel.clone()))).or_else(|| other(name))
            });
        }
        files.print(&table(&lines, &columns(baselines), &report, &mut legend))?;
    }
    if let Some(regret) = &finalized.tuned.regret {
        files.print(&selection(regret, &mut legend))?;
    }
    files.print(&legend.text())?;
    for (instance, _) in finalized.tuned.instances.iter().zip(&finalized.verified).filter(|(_, v)| v.is_none()) {
        let wkl = wkl_text(&instance.wkl);
        files.print(&format!(
            "{wkl}: {}, not compared with others, as the time was over or the search stopped\n",
            instance.micro_kernel
        ))?;
    }
    report.in_use().iter().try_for_each(|line| files.print(line))?;
    report.write(files)
}

/// The verified instances at one of the numbers of threads.
fn lines<'a>(finalized: &'a Finalized, workloads: &'a [WorkloadInstance], n: usize) -> Vec<Line<'a>> {
    let line = |(at, verified): (usize, &'a Option<Verified>)| {
        let verified = verified.as_ref()?;
        let comparison = &verified.comparisons[n];
        let instance = &finalized.tuned.instances[at];
        let seen = instance.measurements.iter().find(|m| m.threads == comparison.threads as i64);
        Some(Line {
            workload: &workloads[at],
            comparison,
            own: verified.taken(),
            kernel: instance.micro_kernel.clone(),
            predicted: seen.map(|m| m.gflops_predicted),
        })
    };
    finalized.verified.iter().enumerate().filter_map(line).collect()
}

/// The columns beside the kernel's own.
fn columns(baselines: &Baselines) -> Vec<String> {
    [vec![DEFAULT.to_owned()], baselines.names()].concat()
}

/// The baselines are reported; the default is not, unless it is what was chosen.
fn other(name: &str) -> Option<(String, Option<String>)> {
    (name != PICK && name != DEFAULT).then(|| (name.to_owned(), None))
}
