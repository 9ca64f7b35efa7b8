//! What only cargo knows of the package that is built: by which name its code reaches dietcode, and which files are crates.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// What the manifest says, workspace and all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// The path of `dietcode_core`, without `::` before it: another name if the dependency has one, `dietcode::core` if there
    /// is the facade alone.
    pub(crate) core: String,
    /// The root file of each target, in full.
    pub(crate) roots: Vec<PathBuf>,
    /// The manifests that say so.
    pub(crate) files: Vec<PathBuf>,
}

impl Default for Manifest {
    fn default() -> Manifest {
        Manifest { core: "dietcode_core".to_owned(), roots: Vec::new(), files: vec!["Cargo.toml".into()] }
    }
}

impl Manifest {
    /// Asks cargo. Where there is none, as under other build systems, or where it takes the package for a part of a workspace
    /// that has vendored it, names are taken to be the usual ones.
    pub(crate) fn ask() -> Manifest {
        let manifest = env::var_os("CARGO_MANIFEST_DIR").map(|folder| Path::new(&folder).join("Cargo.toml"));
        let asked = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
            .output();
        let told = asked.ok().and_then(|output| serde_json::from_slice(&output.stdout).ok());
        told.zip(manifest).and_then(|(told, manifest)| Manifest::read(&told, &manifest)).unwrap_or_default()
    }

    /// Reads what `cargo metadata` has told of the package with this manifest.
    fn read(told: &Value, manifest: &Path) -> Option<Manifest> {
        let array = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let packages = array(&told["packages"]);
        let package =
            packages.iter().find(|package| package["manifest_path"].as_str().map(Path::new) == Some(manifest))?;
        let roots =
            array(&package["targets"]).iter().filter_map(|target| Some(target["src_path"].as_str()?.into())).collect();
        let root = told["workspace_root"].as_str().map(|root| Path::new(root).join("Cargo.toml"));
        let mut files = vec![PathBuf::from("Cargo.toml")];
        files.extend(root.filter(|root| root != manifest));
        Some(Manifest { core: core(&array(&package["dependencies"])), roots, files })
    }
}

/// How the package's code names `dietcode_core`.
fn core(dependencies: &[Value]) -> String {
    let name = |package: &str| {
        let mut of_code = dependencies.iter().filter(|dependency| dependency["kind"].as_str() != Some("build"));
        let dependency = of_code.find(|dependency| dependency["name"].as_str() == Some(package))?;
        Some(dependency["rename"].as_str().unwrap_or(package).replace('-', "_"))
    };
    let through_facade = || name("dietcode").map(|facade| format!("{facade}::core"));
    name("dietcode-core").or_else(through_facade).unwrap_or_else(|| Manifest::default().core)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(dependencies: &Value) -> Manifest {
        let packages = json!([
            { "manifest_path": "/w/other/Cargo.toml", "dependencies": [{ "name": "dietcode-core", "rename": "no" }], "targets": [] },
            {
                "manifest_path": "/w/ours/Cargo.toml",
                "dependencies": dependencies,
                "targets": [{ "src_path": "/w/ours/src/lib.rs" }, { "src_path": "/w/ours/src/bin/x.rs" }],
            },
        ]);
        let told = json!({ "packages": packages, "workspace_root": "/w" });
        Manifest::read(&told, Path::new("/w/ours/Cargo.toml")).unwrap()
    }

    #[test]
    fn names_are_those_of_the_dependencies() {
        for (dependencies, core) in [
            (json!([{ "name": "dietcode-core", "rename": null, "kind": null }]), "dietcode_core"),
            (json!([{ "name": "dietcode-core", "rename": "d-c", "kind": null }]), "d_c"),
            (json!([{ "name": "dietcode-core", "rename": "dc", "kind": "dev" }]), "dc"),
            (json!([{ "name": "dietcode-core", "rename": "dc", "kind": "build" }]), "dietcode_core"),
            (json!([{ "name": "dietcode", "rename": null, "kind": null }]), "dietcode::core"),
            (json!([{ "name": "dietcode", "rename": "dk", "kind": null }]), "dk::core"),
            (json!([{ "name": "dietcode", "kind": null }, { "name": "dietcode-core", "kind": null }]), "dietcode_core"),
            (json!([]), "dietcode_core"),
        ] {
            assert_eq!(read(&dependencies).core, core, "{dependencies}");
        }
    }

    #[test]
    fn roots_and_manifests_are_named() {
        let manifest = read(&json!([]));
        assert_eq!(manifest.roots, ["/w/ours/src/lib.rs", "/w/ours/src/bin/x.rs"].map(PathBuf::from));
        assert_eq!(manifest.files, ["Cargo.toml", "/w/Cargo.toml"].map(PathBuf::from));
    }

    #[test]
    fn what_cargo_does_not_tell_is_the_usual() {
        assert_eq!(Manifest::read(&json!({ "packages": [] }), Path::new("/w/Cargo.toml")), None);
        assert_eq!(Manifest::read(&json!("nonsense"), Path::new("/w/Cargo.toml")), None);
    }
}
