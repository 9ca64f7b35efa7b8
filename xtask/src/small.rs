//! `cargo xtask small`: the kernels that the project ships at random small shapes, not tuned, beside the nest as the C compiler has it.
//!
//! ```text
//! seed ──► shapes of each kernel ──► dietcode explore ──► losers ──► dietcode explore ──► those that lose again
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dietcode_syntax::{Annotated, scan};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Map, Value, json};

use crate::command::{built, read, succeed_in_silence, wkl_text};
use crate::steps::root;

/// What is asked for.
#[derive(clap::Parser)]
pub(crate) struct Options {
    /// Kernels of the library; all of them.
    #[arg(value_name = "KERNEL")]
    kernels: Vec<String>,
    /// So many shapes of all kernels together, and a few more where kernels would have different numbers of them.
    #[arg(long, value_name = "N", default_value_t = 500)]
    count: usize,
    /// By which shapes are drawn.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Where configs, shapes and figures are written.
    #[arg(long, value_name = "DIR", default_value_os_t = root().join("target/small"))]
    folder: PathBuf,
}

/// A call of more iterations is not small.
const MOST_ITERATIONS: u64 = 300_000;

/// Values of a shape variable are evenly up to one of these.
const UP_TO: [u64; 3] = [8, 33, 100];

/// What is slower by no more of the nest's time, or by fewer seconds, is not slower.
const SLOWER: (f64, f64) = (1.1, 100e-9);

type Shape = Map<String, Value>;

/// A shape, and the seconds of what is dispatched and of the nest, if both are known.
type Timed = (Shape, Option<[f64; 2]>);

/// A kernel of the library.
struct Kernel {
    source: PathBuf,
    function: String,
    shape_vars: Vec<String>,
}

/// Whether none is slower than its nest; an error is a sentence.
pub(crate) fn run(options: &Options) -> Result<bool, String> {
    let all = kernels()?;
    if let Some(unknown) = options.kernels.iter().find(|name| !all.iter().any(|kernel| kernel.function == **name)) {
        let names: Vec<&str> = all.iter().map(|kernel| &*kernel.function).collect();
        return Err(format!("there is no kernel `{unknown}`, expected some of {}", names.join(", ")));
    }
    let is_wanted = |kernel: &Kernel| options.kernels.is_empty() || options.kernels.contains(&kernel.function);
    let kernels: Vec<Kernel> = all.into_iter().filter(is_wanted).collect();
    fs::create_dir_all(&options.folder).map_err(|e| format!("{}: {e}", options.folder.display()))?;
    let command = built()?;
    let (mut measured, mut unknown, mut slower) = (0, 0, 0);
    let mut random = StdRng::seed_from_u64(options.seed);
    for kernel in &kernels {
        let shapes = draw(kernel, options.count.div_ceil(kernels.len()), &mut random);
        let explored = explore(&command, kernel, &shapes, &options.folder)?;
        measured += explored.len();
        unknown += explored.iter().filter(|(_, times)| times.is_none()).count();
        let losers: Vec<Shape> = explored.into_iter().filter(is_slower).map(|(shape, _)| shape).collect();
        // Of hundreds of shapes some lose by chance.
        let again = if losers.is_empty() { Vec::new() } else { explore(&command, kernel, &losers, &options.folder)? };
        for (shape, times) in again.into_iter().filter(is_slower) {
            slower += 1;
            let [own, nest] = times.unwrap_or_default().map(|seconds| seconds * 1e9);
            let (name, shape, ratio) = (&kernel.function, wkl_text(&shape), own / nest);
            println!("{name} {shape}: {own:.0} ns, the nest {nest:.0} ns, {ratio:.2}");
        }
    }
    println!("{measured} shapes of {} kernels: {slower} slower than the nest, {unknown} unknown", kernels.len());
    Ok(slower == 0)
}

/// Those of `src/ops.rs` and `src/ops`, by name.
fn kernels() -> Result<Vec<Kernel>, String> {
    let folder = root().join("src/ops");
    let entries = fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let sources = entries.flatten().map(|entry| entry.path()).chain([root().join("src/ops.rs")]);
    let mut kernels = Vec::new();
    for source in sources {
        let text = fs::read_to_string(&source).map_err(|e| format!("{}: {e}", source.display()))?;
        let found = scan(&text).and_then(|all| all.iter().map(Annotated::parse).collect::<Result<Vec<_>, _>>());
        let found = found.map_err(|problems| format!("{}: {problems:?}", source.display()))?;
        kernels.extend(found.into_iter().map(|def| Kernel {
            source: source.clone(),
            function: def.name,
            shape_vars: def.shape_vars.into_iter().map(|var| var.name).collect(),
        }));
    }
    kernels.sort_by(|a, b| a.function.cmp(&b.function));
    Ok(kernels)
}

/// So many small shapes, each once, if there are as many.
fn draw(kernel: &Kernel, count: usize, random: &mut StdRng) -> Vec<Shape> {
    let mut shapes = Vec::new();
    for _ in 0..1000 * count {
        let value = |_: &String| {
            let most = UP_TO[random.random_range(0..UP_TO.len())];
            random.random_range(1..=most)
        };
        let values: Vec<u64> = kernel.shape_vars.iter().map(value).collect();
        let shape: Shape = kernel.shape_vars.iter().cloned().zip(values.iter().map(|value| json!(value))).collect();
        if values.iter().product::<u64>() <= MOST_ITERATIONS && !shapes.contains(&shape) && shapes.len() < count {
            shapes.push(shape);
        }
    }
    shapes
}

/// The kernel at these shapes, on one thread: what is dispatched where nothing was tuned, and the nest, by turns.
fn explore(command: &Path, kernel: &Kernel, shapes: &[Shape], folder: &Path) -> Result<Vec<Timed>, String> {
    let Kernel { source, function, shape_vars } = kernel;
    let path = |extension: &str| folder.join(format!("{function}.{extension}"));
    let [config, list, figures] = [path("json"), path("shapes.json"), path("explored.json")];
    let shape: Shape = shape_vars.iter().map(|var| (var.clone(), json!(var))).collect();
    let kernel = json!({ "source": source, "function": function });
    let layer = json!({ "layer": "small", "kernels": [function], "shape": shape });
    let contents = [
        (&config, json!({ "kernel": kernel, "shape": shape, "wkl_insts": shapes })),
        (&list, json!({ "model": "random", "source": "random", "wkl_insts": shapes, "layers": [layer] })),
    ];
    for (path, content) in contents {
        fs::write(path, content.to_string()).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    let mut explore = Command::new(command);
    explore.arg("explore").arg(&config).arg("--shapes").arg(&list).args(["--threads", "1", "--blas", "none"]);
    succeed_in_silence(explore.arg("--json").arg(&figures)).map_err(|why| format!("{function}: {why}"))?;
    let figures: Value = read(&figures)?;
    let seconds = |at: &Value, name: &str| {
        let candidate = at["candidates"].as_array()?.iter().find(|candidate| candidate["name"] == name)?;
        candidate["seconds"]["median"].as_f64()
    };
    let times = |at: &Value| Some([seconds(at, "dietcode")?, seconds(at, "naive")?]);
    let timed = |at: &Value| Some((at["shape"].as_object()?.clone(), times(at)));
    Ok(figures["shapes"].as_array().into_iter().flatten().filter_map(timed).collect())
}

fn is_slower((_, times): &Timed) -> bool {
    times.is_some_and(|[own, nest]| own > SLOWER.0 * nest && own - nest > SLOWER.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_kernels_are_found_with_their_shape_variables() {
        let kernels = kernels().unwrap();
        let vars = |function: &str| {
            let kernel = kernels.iter().find(|kernel| kernel.function == function).unwrap();
            let mut vars: Vec<&str> = kernel.shape_vars.iter().map(String::as_str).collect();
            vars.sort_unstable();
            vars
        };
        assert_eq!(vars("gemm_nn"), ["B", "K", "M", "N"]);
        assert_eq!(vars("conv2d"), ["C", "H", "O", "R", "S", "W"]);
        assert!(kernels.len() > 40 && kernels.iter().all(|kernel| !kernel.shape_vars.is_empty()));
    }

    #[test]
    fn a_seed_draws_the_same_small_shapes_again() {
        let kernel = &kernels().unwrap()[0];
        let [mut one, mut same, mut other] = [7, 7, 8].map(StdRng::seed_from_u64);
        let shapes = draw(kernel, 20, &mut one);
        assert_eq!((shapes.len(), &shapes), (20, &draw(kernel, 20, &mut same)));
        assert_ne!(shapes, draw(kernel, 20, &mut other));
    }

    #[test]
    fn slower_is_what_is_slower_by_both_bounds() {
        let is_slower = |own: f64, nest: f64| is_slower(&(Map::new(), Some([own * 1e-9, nest * 1e-9])));
        assert_eq!(
            [(150.0, 60.0), (2000.0, 1890.0), (250.0, 140.0)].map(|(a, b)| is_slower(a, b)),
            [false, false, true]
        );
    }
}
