//! The CUDA toolkit that the checks compile with: the machine's own, or else NVIDIA's wheels from PyPI, which together are
//! one and need neither a GPU nor root. They go to `target/cuda-toolkit`, once.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::provision::{fill_whole, variable};
use crate::steps::target_folder;

/// The compiler driver, its headers, the middle end, the run time, the C++ core libraries, the run-time compiler, all of one release,
/// since parts of different ones do not fit; and the disassembler, whose first wheel is of a later one, which reads what older ones make.
const WHEELS: [&str; 7] = [
    "nvidia-cuda-nvcc==13.0.*",
    "nvidia-cuda-crt==13.0.*",
    "nvidia-nvvm==13.0.*",
    "nvidia-cuda-runtime==13.0.*",
    "nvidia-cuda-cccl==13.0.*",
    "nvidia-cuda-nvrtc==13.0.*",
    "nvidia-cuda-nvdisasm==13.2.*",
];

/// The first release that knows every architecture in the table of devices; an older one is passed over.
const OLDEST: (u32, u32) = (12, 8);

const NO_PIP: &str = "\
pip is missing, which would install the CUDA compiler: install python3 and pip (on Debian and Ubuntu: apt-get install \
python3-pip), or install CUDA and name its nvcc in the environment variable NVCC";

/// The compiler driver of the machine's toolkit, or of the one in `target/`, which is installed if it is missing.
///
/// # Errors
///
/// One sentence: what is missing, and how to get it.
pub(crate) fn ensure() -> Result<PathBuf, String> {
    if let Some(nvcc) = variable("NVCC") {
        let works = release(&nvcc).is_some();
        return works.then_some(nvcc.clone()).ok_or_else(|| {
            format!("NVCC names {}, which does not work as nvcc: name one that does, or unset it", nvcc.display())
        });
    }
    let ours = target_folder().join("cuda-toolkit");
    let present = places().into_iter().find(|nvcc| release(nvcc).is_some_and(|release| release >= OLDEST));
    if let Some(found) = present.or_else(|| is_whole(&ours).then(|| nvcc_of(&ours))) {
        return Ok(found);
    }
    eprintln!("no nvcc here: NVIDIA's wheels go to {}", ours.display());
    fill_whole(&ours, fill, is_whole)?;
    Ok(nvcc_of(&ours))
}

/// Where a toolkit that was installed for the whole machine has its driver.
fn places() -> Vec<PathBuf> {
    let homes = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(variable).map(|home| home.join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    homes.chain(std::env::split_paths(&path)).map(|folder| folder.join("nvcc")).filter(|nvcc| nvcc.is_file()).collect()
}

fn nvcc_of(toolkit: &Path) -> PathBuf {
    toolkit.join("nvidia/cu13/bin/nvcc")
}

/// Whether a toolkit of ours has all that it should, and starts.
fn is_whole(toolkit: &Path) -> bool {
    let nvcc = nvcc_of(toolkit);
    nvcc.with_file_name("nvdisasm").is_file() && release(&nvcc).is_some()
}

/// Major and minor number of what a driver says it is; none if it does not start or is something else.
fn release(nvcc: &Path) -> Option<(u32, u32)> {
    let output = Command::new(nvcc).arg("--version").output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (major, rest) = text.split_once(", release ")?.1.split_once('.')?;
    let minor = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn fill(folder: &Path) -> Result<(), String> {
    let answers = pip().arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !answers.is_ok_and(|status| status.success()) {
        return Err(NO_PIP.to_owned());
    }
    let installed = pip()
        .args(["install", "--quiet", "--no-deps", "--only-binary", ":all:", "--target"])
        .arg(folder)
        .args(WHEELS)
        .status();
    if !installed.is_ok_and(|status| status.success()) {
        return Err("pip could not install the CUDA compiler, and said why: mend that, or install CUDA and name its \
                    nvcc in the environment variable NVCC"
            .to_owned());
    }
    make_executable(folder)
        .map_err(|error| format!("the wheels in {} are not as expected: {error}", folder.display()))?;
    let nvcc = nvcc_of(folder);
    release(&nvcc).map(|_| ()).ok_or_else(|| format!("the wheels' nvcc does not start on this machine: {nvcc:?}"))
}

/// pip of the `python3` on `PATH`. Nothing goes to Python's own folders, so what guards those does not concern us.
pub(crate) fn pip() -> Command {
    let mut command = Command::new("python3");
    command.args(["-m", "pip"]).envs([
        ("PIP_BREAK_SYSTEM_PACKAGES", "1"),
        ("PIP_ROOT_USER_ACTION", "ignore"),
        ("PIP_USER", "0"),
        ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ]);
    command
}

/// Some versions of pip drop the permission to execute from a wheel's programs.
fn make_executable(toolkit: &Path) -> std::io::Result<()> {
    for folder in ["bin", "nvvm/bin"] {
        for program in fs::read_dir(toolkit.join("nvidia/cu13").join(folder))? {
            let program = program?.path();
            if program.is_file() {
                fs::set_permissions(&program, Permissions::from_mode(0o755))?;
            }
        }
    }
    Ok(())
}
