//! `dietcode explain`
mod overview;
mod regret;
mod sass;

use std::collections::BTreeMap;
use std::path::PathBuf;

use dietcode::core::codegen::registry::Decision;
use dietcode::core::config::{Shapes, WklInst};
use dietcode::core::cost_model::cuda::Prediction;
use dietcode::core::cost_model::{Adaptation, Observation, rate_on};
use dietcode::core::dispatch::cuda::{Choice, DeviceReport, LaunchResources, Source};
use dietcode::core::dispatch::{Measurement, Tree, Tuned, Winners};
use dietcode::core::machine::CpuTarget;
use dietcode::core::machine::cuda::ComputeCapability;
use dietcode::core::search::WorkloadInstance;
use dietcode::core::sketch::{Lowered, MicroKernel, Tiled};
use dietcode::tuning::resolve_threads;
use dietcode::{Error, Result};
use serde::Serialize;

use super::json::JsonArgument;
use super::setup::{Setup, wkl_text};
use super::target::Target;
use super::tune::{thread_count, threads_once};
use super::{counted, cuda, sketches, tell};

/// Says which micro-kernel runs a shape, why, and what is to be expected of it; without a shape, what runs the config's
/// instances, and which of them were not tuned.
///
/// Nothing is measured: measured figures are those of the tuned file. JSON is an object, or an array of them where several
/// shapes are asked for.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  dietcode explain configs/bert_dense.json                             all instances: what runs them, what was measured
  dietcode explain configs/bert_dense.json --wkl T=43
  dietcode explain configs/bert_dense.json --wkl T=43 --target sm_80
  dietcode explain configs/bert_dense.json --wkl T=1..128 --threads 1 --json -
  dietcode explain configs/bert_dense.json --tree                      from a shape to a micro-kernel
  dietcode explain configs/bert_dense.json --sketches --target sm_80   the space that a search draws from
  dietcode explain configs/sm_90.json --sass=matmul_nt_f16             what main loops consist of, in machine code
  dietcode explain configs/sm_90.json --sass=matmul_nt --wkl M=4096,N=4096,K=4096   and what bounds them there")]
pub(crate) struct Arguments {
    /// The config; with --sass also a set.
    config: PathBuf,
    /// Shapes, by the config's workload variables: T=37, or T=37,71, or T=5..128 (both ends and a few between them), or
    /// T=16..128:16, or B=2,T=5; may be given more than once. Default: an overview of the
    /// config's instances.
    #[arg(long, value_name = "VARS")]
    wkl: Vec<Shapes>,
    /// Where: `cpu`, or a compute capability such as sm_80, also one that the config does not name. Default: the CPU and the
    /// devices that the config names; of --sketches, the CPU.
    #[arg(long, value_name = "TARGET")]
    target: Option<Target>,
    /// A number of threads of the CPU, 0 for all cores; may be given more than once. Default: 1 and 0.
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = thread_count)]
    threads: Vec<usize>,
    #[command(flatten)]
    json: JsonArgument,
    /// Print the sketches that a search draws from, with `_` for what is open, and the rules that made each; of those that made none, why.
    #[arg(long, conflicts_with_all = ["wkl", "threads", "json"])]
    sketches: bool,
    /// Print how far what is dispatched stays behind the best contestant of the search over the config's range, as the tuned file has it:
    /// what each micro-kernel adds, and the regions of the decision tree. Of the CPU, or of one device with --target.
    #[arg(long, conflicts_with_all = ["wkl", "threads", "sketches"])]
    regret: bool,
    /// Print the decision tree from a shape to a micro-kernel, as text. Of the CPU, or of one device with --target.
    #[arg(long, conflicts_with_all = ["wkl", "threads", "json", "sketches", "regret"])]
    tree: bool,
    /// Print what the main loops of micro-kernels for CUDA consist of: nvcc compiles them, and nvdisasm tells the instructions. Of those
    /// that a build would choose for the config, or for the shapes of --wkl, or of all of a set; with NAME, only of those whose
    /// kernel and name, `matmul_nt 8x8_0123abcd`, contain it. Below stands what bounds them: for how many clocks an iteration keeps each part of
    /// a multiprocessor busy, and the share of peak that the model expects at the shapes of --wkl, which for a set are values of a
    /// kernel's shape variables, or at that of the config's or set's shapes with the most operations.
    #[arg(
        long,
        value_name = "NAME",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        conflicts_with_all = ["threads", "sketches", "regret", "tree"]
    )]
    sass: Option<String>,
}

/// What there is to say about a shape.
#[derive(Debug, Serialize)]
struct Explanation {
    wkl: WklInst,
    shape: BTreeMap<String, i64>,
    /// Whether a call computes no element of its output, so that it returns at once and no micro-kernel runs.
    computes_nothing: bool,
    /// On the CPU, if it was asked for.
    #[serde(flatten)]
    cpu: Option<CpuFit>,
    /// One entry for each CUDA device that was asked for.
    cuda: Vec<DeviceFit>,
}

/// What runs the shape on the CPU.
#[derive(Debug, Serialize)]
struct CpuFit {
    /// Why the default runs; null where there is a tuned file that holds here.
    miss: Option<String>,
    /// The comparisons on the way, each with its outcome.
    path: Vec<Step>,
    /// What the tuned file was not made for; null where there is nothing.
    gap: Option<String>,
    kernel: String,
    schedule: MicroKernel,
    threads: Vec<Fit>,
}

#[derive(Debug, Serialize)]
struct Step {
    condition: String,
    holds: bool,
}

/// How the shape fits the micro-kernel on a number of threads.
#[derive(Debug, Serialize)]
struct Fit {
    threads: usize,
    padding_ratio: f64,
    grid: i64,
    waves: i64,
    occupancy: f64,
    gflops_predicted: Option<f64>,
    /// Where the shape is one of the tuned instances.
    gflops_measured: Option<f64>,
    gflops_iqr: Option<f64>,
}

/// The decision tree of the target that was asked for, as text, behind why it is the default's.
fn tree(arguments: &Arguments, setup: &Setup) -> Result<String> {
    let Some(cpu) = Cpu::find(arguments, setup)? else {
        let target = arguments.target.unwrap_or(Target::Cpu);
        return Ok(setup.tuned(target)?.tree.text());
    };
    let notes = cpu.miss.map(|miss| format!("the default micro-kernels run: {miss}\n")).into_iter();
    let notes = notes.chain(cpu.winners.gap.as_ref().map(|gap| format!("{gap}\n")));
    Ok(notes.collect::<String>() + &cpu.winners.tree.text())
}

/// What runs the shape on a CUDA device, and what the model expects of it.
#[derive(Debug, Serialize)]
struct DeviceFit {
    device: ComputeCapability,
    part: String,
    source: Source,
    kernel: String,
    launches: Vec<LaunchResources>,
    predicted: Option<Prediction>,
    gflops_predicted: Option<f64>,
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    threads_once(&arguments.threads)?;
    if let Some(part_of_name) = &arguments.sass {
        arguments.json.check()?;
        return sass::run(arguments, part_of_name);
    }
    let setup = Setup::read(&arguments.config)?;
    if arguments.sketches {
        return sketches::run(&setup, arguments.target.unwrap_or(Target::Cpu));
    }
    if let (Some(target @ Target::Cuda(_)), false) = (arguments.target, arguments.threads.is_empty()) {
        return Err(Error::input(format!("--threads: expected the target cpu, found {target}")));
    }
    arguments.json.check()?;
    if arguments.regret {
        return regret::run(arguments, &setup);
    }
    if arguments.tree {
        return arguments.json.print(&tree(arguments, &setup)?);
    }
    if arguments.wkl.is_empty() {
        return overview::run(arguments, &setup);
    }
    let workloads = setup.asked(&arguments.wkl)?;
    let cpu = Cpu::find(arguments, &setup)?;
    let choice = device_choice(arguments, &setup)?;
    let explanations: Vec<Explanation> =
        workloads.iter().map(|workload| explain(&setup, workload, cpu.as_ref(), choice.as_ref())).collect();
    match &*explanations {
        [only] => arguments.json.write(only)?,
        all => arguments.json.write(&all)?,
    }
    let texts: Vec<String> = explanations.iter().map(text).collect();
    arguments.json.print(&texts.join("\n"))
}

/// What a program on this CPU would dispatch to, and what it is asked about.
struct Cpu {
    winners: Winners,
    miss: Option<String>,
    threads: Vec<usize>,
}

impl Cpu {
    /// None if another target was asked for.
    fn find(arguments: &Arguments, setup: &Setup) -> Result<Option<Cpu>> {
        if matches!(arguments.target, Some(Target::Cuda(_))) {
            return Ok(None);
        }
        let target = CpuTarget::detect(&setup.config.cpu.march)?;
        let (winners, miss) = match Winners::load(&setup.config, &setup.def, &setup.program, &target) {
            Ok(winners) => (winners, None),
            Err(miss) => (Winners::default_for(&setup.program, &target), Some(miss.to_string())),
        };
        let asked = if arguments.threads.is_empty() { &[1, 0] } else { &*arguments.threads };
        Ok(Some(Cpu { winners, miss, threads: resolve_threads(asked, target.cores) }))
    }

    fn fit(&self, setup: &Setup, workload: &WorkloadInstance) -> CpuFit {
        let (winners, shape) = (&self.winners, &workload.instance.shape);
        let row = winners.decision.pick(shape);
        let (micro_kernel, lowered) = (&winners.schedules[row], &winners.lowered[row]);
        let tuned = winners.tuned.as_ref();
        let fit = |threads: &usize| fit(setup, tuned, (&micro_kernel.name(), lowered), workload, *threads);
        CpuFit {
            miss: self.miss.clone(),
            gap: winners.gap.as_ref().map(ToString::to_string),
            path: path(&winners.tree, &setup.vars, shape),
            kernel: micro_kernel.name(),
            schedule: micro_kernel.clone(),
            threads: self.threads.iter().map(fit).collect(),
        }
    }
}

/// What a build on this machine would choose for the device that was asked for, or else for those that the config names; none
/// if there are none.
fn device_choice(arguments: &Arguments, setup: &Setup) -> Result<Option<Choice>> {
    let named = setup.config.cuda.as_ref().map_or(Vec::new(), |cuda| cuda.capabilities.clone());
    let capabilities = match arguments.target {
        None => named,
        Some(Target::Cpu) => Vec::new(),
        Some(Target::Cuda(capability)) => {
            if !named.contains(&capability) {
                let config = arguments.config.display();
                tell(&format!(
                    "{config} does not name {capability}: this is what a build with .cuda([\"{capability}\"]) has"
                ));
            }
            vec![capability]
        }
    };
    if capabilities.is_empty() { Ok(None) } else { cuda::choice(setup, &capabilities).map(Some) }
}

fn explain(setup: &Setup, workload: &WorkloadInstance, cpu: Option<&Cpu>, choice: Option<&Choice>) -> Explanation {
    let computes_nothing = workload.instance.computes_nothing();
    let choice = choice.filter(|_| !computes_nothing);
    Explanation {
        wkl: workload.wkl.clone(),
        shape: setup.named(&workload.instance.shape),
        computes_nothing,
        cpu: cpu.filter(|_| !computes_nothing).map(|cpu| cpu.fit(setup, workload)),
        cuda: choice.map_or_else(Vec::new, |choice| device_fits(setup, workload, choice)),
    }
}

fn device_fits(setup: &Setup, workload: &WorkloadInstance, choice: &Choice) -> Vec<DeviceFit> {
    let shape = &workload.instance.shape;
    let fit = |(report, (_, decision)): (&DeviceReport, &(_, Decision))| {
        let candidate = &choice.micro_kernels[decision.pick(shape)];
        let device = candidate.devices.iter().find(|device| device.capability == report.capability);
        let predicted = device.and_then(|device| candidate.predict(&setup.def, device, shape));
        DeviceFit {
            device: report.capability,
            part: report.part.clone(),
            source: report.source,
            kernel: candidate.name().to_owned(),
            launches: report.launches.iter().filter(|l| l.micro_kernel == candidate.name()).cloned().collect(),
            gflops_predicted: predicted.map(|predicted| workload.instance.flops / predicted.seconds / 1e9),
            predicted,
        }
    };
    choice.report.devices.iter().zip(&choice.decisions).map(fit).collect()
}

/// The way from the root to the leaf.
fn path(tree: &Tree, vars: &[String], shape: &[i64]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut tree = tree;
    while let Tree::Split(split) = tree {
        let holds = split.condition.holds(vars, shape);
        steps.push(Step { condition: split.condition.to_string(), holds });
        tree = if holds { &split.then } else { &split.otherwise };
    }
    steps
}

fn fit(
    setup: &Setup,
    tuned: Option<&Tuned>,
    (name, lowered): (&str, &Lowered),
    workload: &WorkloadInstance,
    threads: usize,
) -> Fit {
    let adaptation = |shape: &[i64], threads: usize| Adaptation::of(lowered, shape, threads);
    let here = adaptation(&workload.instance.shape, threads);
    let of_kernel = tuned.into_iter().flat_map(|t| &t.instances).filter(|i| i.micro_kernel == name);
    let shape_of = |instance: &dietcode::core::dispatch::Instance| -> Vec<i64> {
        setup.vars.iter().map(|var| instance.shape.get(var).copied().unwrap_or(1)).collect()
    };
    let mut seen: Vec<Observation> = Vec::new();
    let mut measured: Option<&Measurement> = None;
    for instance in of_kernel {
        let shape = shape_of(instance);
        for m in &instance.measurements {
            let units = usize::try_from(m.threads).unwrap_or(1);
            seen.push(Observation { adaptation: adaptation(&shape, units), gflops: m.gflops_measured });
            if shape == workload.instance.shape && units == threads {
                measured = Some(m);
            }
        }
    }
    Fit {
        threads,
        padding_ratio: here.padding_ratio,
        grid: here.grid,
        waves: here.waves,
        occupancy: here.occupancy,
        gflops_predicted: rate_on(&seen, threads).map(|rate| here.throughput(rate)),
        gflops_measured: measured.map(|m| m.gflops_measured),
        gflops_iqr: measured.map(|m| m.gflops_iqr),
    }
}

fn text(explanation: &Explanation) -> String {
    let Explanation { wkl, shape, computes_nothing, cpu, cuda } = explanation;
    let shape: Vec<String> = shape.iter().map(|(var, value)| format!("{var} = {value}")).collect();
    let shape = if shape.is_empty() { String::new() } else { format!(": {}", shape.join(", ")) };
    let mut lines = vec![wkl_text(wkl) + &shape];
    if *computes_nothing {
        lines.push("a call computes nothing and returns at once".to_owned());
    }
    lines.extend(cpu.iter().flat_map(cpu_lines));
    lines.extend(cuda.iter().flat_map(device_lines));
    lines.join("\n") + "\n"
}

fn cpu_lines(fit: &CpuFit) -> Vec<String> {
    let CpuFit { miss, gap, path, kernel, schedule, threads } = fit;
    let mut lines: Vec<String> = miss.iter().map(|miss| format!("the default micro-kernel runs: {miss}")).collect();
    lines.extend(gap.clone());
    lines.extend(path.iter().map(|step| format!("  {}: {}", step.condition, if step.holds { "yes" } else { "no" })));
    lines.push(format!("micro-kernel   {kernel}"));
    lines.extend(schedule_lines(schedule));
    for fit in threads {
        lines.push(format!(
            "on {}: padding ratio {:.3}, {} parallel tiles in {} waves, occupancy {:.0}%",
            counted(fit.threads, "thread"),
            fit.padding_ratio,
            fit.grid,
            fit.waves,
            100.0 * fit.occupancy
        ));
        let predicted =
            fit.gflops_predicted.map_or("predicted: nothing known".into(), |g| format!("predicted {g:.1} GFLOP/s"));
        let measured = fit.gflops_measured.zip(fit.gflops_iqr);
        let measured =
            measured.map_or("not measured".into(), |(g, iqr)| format!("measured {g:.1} GFLOP/s (IQR {iqr:.1})"));
        lines.push(format!("  {predicted}, {measured}"));
    }
    lines
}

/// What a micro-kernel is made of.
fn schedule_lines(micro_kernel: &MicroKernel) -> Vec<String> {
    match serde_json::from_value(micro_kernel.origin.parameters.clone()) {
        Ok(tiled) if micro_kernel.origin.family == "tiled" => tiled_lines(&tiled),
        _ => micro_kernel.text().lines().map(|line| format!("  {line}")).collect(),
    }
}

fn tiled_lines(tiled: &Tiled) -> Vec<String> {
    let tile = |sizes: &BTreeMap<String, i64>| {
        let sizes: Vec<String> = sizes.iter().map(|(name, size)| format!("{name} {size}")).collect();
        if sizes.is_empty() { "not named".to_owned() } else { sizes.join(", ") }
    };
    let packed = if tiled.pack.is_empty() { "nothing".into() } else { tiled.pack.join(", ") };
    vec![
        format!("  vectors      {}", tiled.vector.as_deref().map_or("none".into(), |v| format!("along {v}"))),
        format!("  register tile  {}", tile(&tiled.register_tile)),
        format!("  block tile     {}", tile(&tiled.block_tile)),
        format!("  packed         {packed}"),
    ]
}

fn device_lines(fit: &DeviceFit) -> Vec<String> {
    let mut lines = vec![format!("on {} ({}), {}: {}", fit.device, fit.part, fit.source, fit.kernel)];
    for launch in &fit.launches {
        lines.push(format!(
            "  {} threads, {} registers{}, {} bytes of shared memory: {} blocks a multiprocessor ({})",
            launch.threads,
            launch.registers,
            match &launch.report {
                None => " (estimated)",
                Some(report) if report.spills() => " (and spills)",
                Some(_) => "",
            },
            launch.shared_bytes,
            launch.blocks_per_sm,
            launch.limiter
        ));
    }
    lines.extend(fit.predicted.zip(fit.gflops_predicted).map(|(predicted, gflops)| {
        format!(
            "  predicted {:.1} us, {gflops:.0} GFLOP/s: {} blocks in {} waves, occupancy {:.0}%, padding ratio {:.3}",
            predicted.seconds * 1e6,
            predicted.blocks,
            predicted.waves,
            100.0 * predicted.occupancy,
            predicted.padding_ratio
        )
    }));
    lines
}
