//! The browser in which tests open pages: one that is named, or else that of a package of npm, which is a headless Chromium and needs no
//! root. It goes to `target/chromium`, once. Its libraries (NSS, D-Bus and what they need) are the machine's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::provision::{fill_whole, variable};
use crate::steps::target_folder;

/// The package and its version, which is that of Chromium.
const PACKAGE: &str = "@sparticuz/chromium@153.0.0";

/// Whom the machine trusts, on Debian and Ubuntu: Node.js has a list of its own, in which a registry's proxy is not.
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Inflates its first argument to its second, a program.
const INFLATE: &str = "\
const fs = require('fs');
const from = fs.createReadStream(process.argv[1]), to = fs.createWriteStream(process.argv[2], { mode: 0o755 });
require('stream').pipeline(from, require('zlib').createBrotliDecompress(), to, (error) => { if (error) throw error; });";

const NO_BROWSER: &str = "\
a test opens a page in Chromium: install Node.js with npm, which fetch one (on Debian and Ubuntu: apt-get install npm), or name a \
Chromium or Chrome in the environment variable DIETCODE_CHROMIUM";

/// The browser that `DIETCODE_CHROMIUM` names, or the one in `target/`, which is installed if it is missing.
///
/// # Errors
///
/// One sentence: what is missing, and how to get it.
pub(crate) fn ensure() -> Result<PathBuf, String> {
    if let Some(named) = variable("DIETCODE_CHROMIUM") {
        return match answers(&named) {
            true => Ok(named),
            false => Err(format!(
                "DIETCODE_CHROMIUM names {}, which does not work as Chromium: name one that does, or unset it",
                named.display()
            )),
        };
    }
    let folder = target_folder().join("chromium");
    if !is_whole(&folder) {
        eprintln!("{PACKAGE} goes to {}", folder.display());
        fill_whole(&folder, fill, is_whole)?;
    }
    Ok(program(&folder))
}

/// Where tests look for it too.
fn program(folder: &Path) -> PathBuf {
    folder.join("chromium")
}

/// Whether it is there in this version: the file is written last.
fn is_whole(folder: &Path) -> bool {
    fs::read_to_string(folder.join("package")).is_ok_and(|package| package == PACKAGE)
}

fn answers(browser: &Path) -> bool {
    Command::new(browser).arg("--version").output().is_ok_and(|output| output.status.success())
}

fn fill(folder: &Path) -> Result<(), String> {
    let failed = |what: &str, why: String| format!("{what}: {why}; {NO_BROWSER}");
    let package = folder.join("package-of-npm");
    fs::create_dir_all(&package).map_err(|error| failed("no folder for a browser", error.to_string()))?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--loglevel=error", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]);
    npm.arg(&package).arg(PACKAGE).args(["--fetch-retries=2", "--fetch-timeout=60000"]);
    if variable("NODE_EXTRA_CA_CERTS").is_none() && Path::new(CERTIFICATES).is_file() {
        npm.env("NODE_EXTRA_CA_CERTS", CERTIFICATES);
    }
    run(&mut npm).map_err(|why| failed(&format!("npm cannot install {PACKAGE}"), why))?;
    let packed = package.join("node_modules/@sparticuz/chromium/bin/chromium.br");
    let browser = program(folder);
    run(Command::new("node").args(["-e", INFLATE]).args([&packed, &browser]))
        .map_err(|why| failed(&format!("{PACKAGE} cannot be unpacked"), why))?;
    if !answers(&browser) {
        return Err(format!(
            "the Chromium of {PACKAGE} does not start here; libraries that it lacks: `ldd` of it says; {NO_BROWSER}"
        ));
    }
    let kept = fs::remove_dir_all(&package).and_then(|()| fs::write(folder.join("package"), PACKAGE));
    kept.map_err(|error| failed("a browser cannot be kept", error.to_string()))
}

/// Whether it succeeds; if not, what it says.
fn run(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{program} cannot be started: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("{program} fails: {}", said.trim())) }
}
