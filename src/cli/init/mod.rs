//! `dietcode init`
mod manifest;
mod package;

use std::fs;
use std::io::{ErrorKind as IoKind, Write};
use std::path::{Path, PathBuf};

use dietcode::{Error, Result};

use self::manifest::with_dependencies;
use self::package::{Package, create};
use super::origin::{Origin, OriginArguments};
use super::print;

/// Writes a crate with a kernel, or adds one to a crate.
///
/// In an empty folder, or one that is not there yet: a crate whose program calls a dense layer and compares it with its loop nest. In
/// a crate's folder: what it lacks of the dependencies, build.rs, src/ops.rs with the nest, and configs/dense.json. A file that is
/// there is left as it is, and the lines to be added to it are printed; only the main.rs that `cargo new` wrote is replaced.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  dietcode init my-crate                     a new crate; `cargo run` in it runs its kernel
  dietcode init                              adds to the crate in this folder
  dietcode init my-crate --path ../dietcode  depends on that clone")]
pub(crate) struct Arguments {
    /// The folder of the crate.
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// The name of a new crate. Default: that of the folder.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    origin: OriginArguments,
}

const BUILD_RS: &str = include_str!("template/build.rs");
const OPS_RS: &str = include_str!("template/ops.rs");
const MAIN_RS: &str = include_str!("template/main.rs");
const CONFIG: &str = include_str!("template/dense.json");
const CONFIG_PATH: &str = "configs/dense.json";

/// What `cargo new` writes.
const HELLO: &str = "fn main() {\n    println!(\"Hello, world!\");\n}\n";

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let origin = arguments.origin.find()?;
    let folder = &arguments.folder;
    if !folder.join("Cargo.toml").exists() {
        check_empty(folder)?;
        create(folder, arguments.name.as_deref())?;
    }
    let package = Package::of(folder)?;
    print(&add(&package, &origin)?.text(folder))
}

/// A folder that a crate can be made in.
fn check_empty(folder: &Path) -> Result<()> {
    match fs::read_dir(folder).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Error::input(format!(
            "{}: found a folder with files and without a Cargo.toml; run `cargo init` in it first, or name a new folder",
            folder.display()
        ))),
        Err(why) if why.kind() == IoKind::NotFound => Ok(()),
        Err(why) => Err(Error::of_file(folder, "expected an empty folder, or one that is not there yet", why)),
    }
}

/// What is written, what was written, and what is left to the user.
struct Work<'a> {
    package: &'a Package,
    done: Vec<String>,
    /// Paragraphs.
    advice: Vec<String>,
}

/// Writes what is not there, the manifest last.
fn add<'a>(package: &'a Package, origin: &Origin) -> Result<Work<'a>> {
    let manifest = package.folder.join("Cargo.toml");
    let before = fs::read_to_string(&manifest).map_err(|e| Error::of_file(&manifest, "cannot be read", e))?;
    let after = with_dependencies(&manifest, &before, [package.core.is_none(), !package.has_build], origin)?;

    let ops = package.ops();
    let core = package.core.as_deref().unwrap_or("dietcode_core");
    // Where the crate keeps its sources, and what it calls the library.
    let ours = |template: &str| {
        template.replace("src/ops.rs", &ops.to_string_lossy().replace('\\', "/")).replace("dietcode_core", core)
    };
    let mut work = Work { package, done: Vec::new(), advice: Vec::new() };
    let in_folder = ops.with_extension("").join("mod.rs");
    let module = if package.folder.join(&in_folder).exists() { &in_folder } else { &ops };
    work.file(module, &ours(OPS_RS), "dynamic_kernel", "the nest")?;
    // A crate that has kernels of its own needs none of ours.
    let text = work.read(module)?;
    if text.contains(CONFIG_PATH) || !text.contains("dynamic_kernel") {
        work.file(Path::new(CONFIG_PATH), &ours(CONFIG), "", "")?;
    }
    let script = package.script.as_deref().unwrap_or(Path::new("build.rs"));
    work.file(script, &ours(BUILD_RS), "dietcode_build", "the call in its `main`")?;
    work.root(&ours(MAIN_RS))?;
    if let Some(after) = after {
        fs::write(&manifest, after).map_err(|e| Error::of_file(&manifest, "cannot be written", e))?;
        work.done.push("Cargo.toml: the dependencies".to_owned());
    }
    Ok(work)
}

impl Work<'_> {
    /// Writes a file that is not there. To one that is there and has not the `sign` in it, the lines are to be added by hand.
    fn file(&mut self, name: &Path, text: &str, sign: &str, what: &str) -> Result<()> {
        let path = self.package.folder.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|e| Error::of_file(folder, "cannot be made", e))?;
        }
        match fs::File::create_new(&path).and_then(|mut file| file.write_all(text.as_bytes())) {
            Ok(()) => self.done.push(name.display().to_string()),
            Err(why) if why.kind() == IoKind::AlreadyExists => self.advise(name, what, text, sign)?,
            Err(why) => return Err(Error::of_file(&path, "cannot be written", why)),
        }
        Ok(())
    }

    /// What is to be added to a file that is the user's, unless it has the `sign` of it.
    fn advise(&mut self, name: &Path, what: &str, text: &str, sign: &str) -> Result<()> {
        if !self.read(name)?.contains(sign) {
            let lines: String = text.lines().map(|line| format!("    {line}\n")).collect();
            self.advice.push(format!("{} is left as it is; add {what}:\n\n{lines}", name.display()));
        }
        Ok(())
    }

    /// The source that declares the module.
    fn root(&mut self, main: &str) -> Result<()> {
        let root = &self.package.root;
        let path = self.package.folder.join(root);
        if self.package.is_library {
            return self.advise(root, "the module", "pub mod ops;", "mod ops;");
        }
        if self.read(root)? != HELLO {
            return self.advise(root, "the module, and call `ops::dense(&x, &w, &mut y)?`", "mod ops;", "mod ops;");
        }
        fs::write(&path, main).map_err(|e| Error::of_file(&path, "cannot be written", e))?;
        self.done.push(root.display().to_string());
        Ok(())
    }

    fn read(&self, name: &Path) -> Result<String> {
        let path = self.package.folder.join(name);
        fs::read_to_string(&path).map_err(|e| Error::of_file(&path, "cannot be read", e))
    }

    /// What was done, what is left, and what comes next.
    fn text(&self, folder: &Path) -> String {
        let mut text: String = self.done.iter().map(|line| format!("written  {line}\n")).collect();
        if self.done.is_empty() {
            text += &format!("{}: nothing is written, all of it is there\n", folder.display());
        }
        for paragraph in &self.advice {
            text += &format!("\n{paragraph}");
        }
        if self.done.is_empty() && self.advice.is_empty() {
            return text;
        }
        let run = if self.package.is_library { "cargo build" } else { "cargo run" };
        let enter = if folder == Path::new(".") { String::new() } else { format!("    cd {}\n", folder.display()) };
        text + &format!("\nNext:\n{enter}    {run}\n    dietcode tune {CONFIG_PATH}\n    {run}\n")
    }
}
