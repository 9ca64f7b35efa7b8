//! What a build script asks for.

use std::path::PathBuf;

/// Kernels to build, and how.
#[derive(Clone, Debug, Default)]
#[must_use = "nothing is built before `compile`"]
pub struct Kernels {
    pub(crate) sources: Vec<PathBuf>,
    pub(crate) march: Option<String>,
    pub(crate) cuda: Vec<String>,
    pub(crate) cuda_host: bool,
    pub(crate) allow_untuned: bool,
    pub(crate) set: Option<PathBuf>,
    pub(crate) others: Vec<Kernels>,
}

impl Kernels {
    /// The architecture to compile for, as the compiler's `-march` names it, whatever the configs say. Without it, the
    /// config decides, and if it says nothing, it is `native`: whatever the machine that builds can do.
    pub fn march(mut self, march: impl Into<String>) -> Kernels {
        self.march = Some(march.into());
        self
    }

    /// The compute capabilities to compile for, such as `["sm_80", "sm_90"]`, whatever the configs say. Without it, a kernel
    /// runs on those that its config's `targets.cuda` names, and without that on none.
    pub fn cuda<C: Into<String>>(mut self, capabilities: impl IntoIterator<Item = C>) -> Kernels {
        self.cuda = capabilities.into_iter().map(Into::into).collect();
        self
    }

    /// Compiles the CUDA micro-kernels for the emulated device too (`Device::cuda_host` of the runtime), so that they are
    /// tested on machines without a GPU. Kernels that no real device was asked for get a default micro-kernel for it.
    pub fn cuda_host(mut self) -> Kernels {
        self.cuda_host = true;
        self
    }

    /// Says nothing of kernels that run default micro-kernels because nothing was tuned for them yet, whether they have a config
    /// or not. For crates with many kernels that are not tuned, such as tests; without it, one warning names them all, and
    /// the command that tunes them. A tuned file that does not fit gets a warning in any case.
    pub fn allow_untuned(mut self) -> Kernels {
        self.allow_untuned = true;
        self
    }

    /// Compiles a set of configurations for these kernels too, from which a program chooses by measuring
    /// ([`Set`](../dietcode_core/runtime/set/struct.Set.html)). The user says which one; the shipped ones stand in `folder`,
    /// named relative to the package's Cargo.toml:
    ///
    /// * the file that `DIETCODE_CONFIG` names, or else
    /// * `<folder>/<feature>.json` of an enabled feature, if there is such a file, or else
    /// * `<folder>/cpu_avx512.json` or `<folder>/cpu_avx2.json` if the machine that builds has such vectors, and
    ///   `<folder>/default.json` if not.
    ///
    /// A program has one set. It includes it, as a module of its own, by
    /// `include!(concat!(env!("OUT_DIR"), "/dietcode-set/registry.rs"))`.
    pub fn with_set(mut self, folder: impl Into<PathBuf>) -> Kernels {
        self.set = Some(folder.into());
        self
    }

    /// More kernels, which are built in another way.
    ///
    /// ```no_run
    /// let tested = dietcode_build::kernels(["src/ops.rs"]).cuda(["sm_80"]).cuda_host();
    /// tested.and(dietcode_build::kernels(["src/more.rs"])).compile();
    /// ```
    pub fn and(mut self, others: Kernels) -> Kernels {
        self.others.push(others);
        self
    }

    /// This and all others, each without others.
    pub(crate) fn groups(self) -> Vec<Kernels> {
        let Kernels { others, .. } = self;
        let own = Kernels { others: Vec::new(), ..self };
        std::iter::once(own).chain(others.into_iter().flat_map(Kernels::groups)).collect()
    }
}
