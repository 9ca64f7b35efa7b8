//! Compiles micro-kernels for a device, many at a time: with nvcc where there is one, else with NVRTC, else from a folder of
//! images that were made on another machine; for the emulated device with a C++ compiler.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use super::images::{Images, Made};
use super::{CudaDevice, nvrtc};
use crate::codegen::cuda::CudaUnit;
use crate::codegen::cuda::headers::{self, DEVICE_HEADERS, HOST_HEADERS};
use crate::doing::doing;
use crate::hash::hash_of;
use crate::machine::cuda::{Compiled, ComputeCapability, DeviceLimits, HostCompiler, KernelReport, Nvcc, Nvdisasm};
use crate::measure::Failure;
use crate::measure::builder::{run_compiler, unwritable};
use crate::parallel::{self, cores, lock};
use crate::scratch::Scratch;
use crate::{Error, Result};

/// A compiler of micro-kernels for one device. What it makes lies in a folder that goes with it.
#[derive(Debug)]
pub struct CudaCompiler {
    how: How,
    images: Option<Images>,
    capability: ComputeCapability,
    folder: Scratch,
    /// How many files there are in it.
    files: AtomicUsize,
    /// What was made, by a hash of its source: a micro-kernel that is checked and tried in a search later is compiled once.
    made: Mutex<HashMap<String, Output>>,
}

/// What a compiler made of a source.
#[derive(Clone, Debug)]
struct Output {
    image: PathBuf,
    report: Vec<KernelReport>,
    toolchain: String,
}

/// What there is to compile with.
#[derive(Debug)]
enum How {
    Nvcc(Box<Nvcc>),
    Nvrtc,
    /// A C++ compiler makes code for the emulator.
    Host(HostCompiler),
    /// The same, and nvcc reports what a device would need for it, with nvdisasm's count of instructions where that is installed.
    Reporting(HostCompiler, Box<Nvcc>, Option<Nvdisasm>),
    /// Nothing: only what is among the images is found; why.
    Nothing(String),
}

/// A compiled micro-kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Built {
    /// What launching it takes.
    pub unit: CudaUnit,
    /// The image, or, for the emulated device, the shared library; what was compiled together shares it.
    pub image: PathBuf,
    /// What the compiler says of its kernels; empty if it has no report.
    pub report: Vec<KernelReport>,
    /// The compiler with its version.
    pub toolchain: String,
}

/// Longer than any sane micro-kernel compiles, and than a few of them together.
const LIMIT: Duration = Duration::from_secs(120);

impl CudaCompiler {
    /// What there is on this machine for a device of a capability, with images that were made elsewhere.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unavailable`] if there is nothing to compile with and no image; what is missing, by name.
    pub fn find(device: CudaDevice, capability: ComputeCapability, images: Option<Images>) -> Result<CudaCompiler> {
        let how = match device {
            CudaDevice::Emulated => How::Host(HostCompiler::find()?),
            CudaDevice::Cuda(_) => match Nvcc::find() {
                Ok(nvcc) => How::Nvcc(Box::new(nvcc)),
                Err(_) if nvrtc::available() => How::Nvrtc,
                Err(error) if images.is_some() => How::Nothing(error.to_string()),
                Err(error) => {
                    let why = "there is neither nvcc nor NVRTC, and no folder of images was named (--images)";
                    return Err(Error::unavailable(why).caused_by(error));
                }
            },
        };
        CudaCompiler::new(how, capability, images)
    }

    /// nvcc, for a device that need not be there.
    ///
    /// # Errors
    /// As [`Nvcc::find`].
    pub fn nvcc(capability: ComputeCapability) -> Result<CudaCompiler> {
        CudaCompiler::new(How::Nvcc(Box::new(Nvcc::find()?)), capability, None)
    }

    /// For a device that is not there: the report is nvcc's, the code the emulator's. Where nvdisasm is installed, it counts the
    /// instructions of main loops, which [`CudaCompiler::description`] says.
    ///
    /// # Errors
    /// As [`Nvcc::find`], or if there is no C++ compiler.
    pub fn reporting(capability: ComputeCapability) -> Result<CudaCompiler> {
        let nvcc = Box::new(Nvcc::find()?);
        let host = HostCompiler::find()?;
        let nvdisasm = Nvdisasm::find(&nvcc).ok();
        CudaCompiler::new(How::Reporting(host, nvcc, nvdisasm), capability, None)
    }

    fn new(how: How, capability: ComputeCapability, images: Option<Images>) -> Result<CudaCompiler> {
        let no_folder = |e| Error::unavailable("cannot make a folder for compiled candidates").caused_by(e);
        let folder = Scratch::new()?;
        headers::write(folder.path(), HOST_HEADERS).map_err(no_folder)?;
        if let How::Host(compiler) | How::Reporting(compiler, ..) = &how {
            // A search compiles many.
            compiler.precompile(folder.path(), DEVICE_HEADERS[0].0);
        }
        Ok(CudaCompiler { how, images, capability, folder, files: AtomicUsize::new(0), made: Mutex::default() })
    }

    /// The limits of the device, or of the nearest older one that is known.
    ///
    /// # Errors
    /// As [`DeviceLimits::nearest`].
    pub fn limits(&self) -> Result<&'static DeviceLimits> {
        DeviceLimits::nearest(self.capability)
    }

    /// What it compiles with, for people.
    pub fn description(&self) -> String {
        let images = self.images.as_ref().map(|images| format!("{} images made elsewhere", images.count()));
        let own = match &self.how {
            How::Nvcc(nvcc) => Some(format!("nvcc {}", nvcc.version())),
            How::Nvrtc => Some("NVRTC".to_owned()),
            How::Host(compiler) => Some(compiler.version().to_owned()),
            How::Reporting(_, nvcc, Some(_)) => Some(format!("nvcc {}, nvdisasm", nvcc.version())),
            How::Reporting(_, nvcc, None) => {
                Some(format!("nvcc {}, no nvdisasm: instructions of main loops are not counted", nvcc.version()))
            }
            How::Nothing(_) => None,
        };
        images.into_iter().chain(own).collect::<Vec<String>>().join(", else ")
    }

    /// Compiles all, as many at a time as there are cores; `done` gets their number so far. Once `stop` is set, none is begun.
    pub fn build(
        &self,
        units: &[CudaUnit],
        stop: &AtomicBool,
        mut done: impl FnMut(usize) + Send,
    ) -> Vec<Result<Built, Failure>> {
        let mut all = BTreeMap::new();
        self.build_each(units, &|| stop.load(Ordering::Relaxed), |at, built| {
            all.insert(at, built);
            done(all.len());
        });
        all.into_values().collect()
    }

    /// The same, of which each is handed over with its place as soon as it is compiled.
    pub fn build_each(
        &self,
        units: &[CudaUnit],
        stop: &(dyn Fn() -> bool + Sync),
        ready: impl FnMut(usize, Result<Built, Failure>) + Send,
    ) {
        let _doing = doing(format!("compiling {} micro-kernels for {}", units.len(), self.capability));
        let ready = Mutex::new(ready);
        parallel::each(units.iter().enumerate().collect(), cores(), |(at, unit)| {
            let stopped = || Err(Failure::Compile { message: "the run was stopped before it was compiled".into() });
            let built = if stop() { stopped() } else { self.build_one(unit) };
            (lock(&ready))(at, built);
        });
    }

    /// Compiles one.
    ///
    /// # Errors
    /// What the compiler says, as it stands in a record.
    pub fn build_one(&self, unit: &CudaUnit) -> Result<Built, Failure> {
        self.build_together(std::slice::from_ref(unit)).remove(0)
    }

    /// Compiles several by one run of each compiler, which starts and reads headers once; one result each, in order. Those that are refused
    /// together, or take too long, have a run each, so that none fails but for itself.
    pub fn build_together(&self, units: &[CudaUnit]) -> Vec<Result<Built, Failure>> {
        match self.build_as_one(units) {
            Ok(built) => built.into_iter().map(Ok).collect(),
            Err(failure) if units.len() == 1 => vec![Err(failure)],
            Err(_) => units.iter().map(|unit| self.build_one(unit)).collect(),
        }
    }

    /// Compiles all but those that were made before, here or elsewhere, into one image.
    fn build_as_one(&self, units: &[CudaUnit]) -> Result<Vec<Built>, Failure> {
        let images = units.iter().map(|unit| self.found(unit)).collect::<Result<Vec<_>, Failure>>()?;
        let fresh = units.iter().zip(&images).filter(|(_, image)| image.is_none());
        let mut compiled = self.compile(&fresh.map(|(unit, _)| unit).collect::<Vec<_>>())?.into_iter();
        let mut built: Vec<Built> = images.into_iter().filter_map(|image| image.or_else(|| compiled.next())).collect();
        // Of a device that is newer than the table, models ask by the one whose limits it takes.
        if let Ok(limits) = self.limits() {
            let reports = built.iter_mut().flat_map(|built| &mut built.report);
            reports.for_each(|report| report.capability = limits.capability);
        }
        let made = built.iter().map(|Built { unit, image, report, toolchain }| {
            let output = Output { image: image.clone(), report: report.clone(), toolchain: toolchain.clone() };
            (hash_of([&unit.source]), output)
        });
        lock(&self.made).extend(made);
        Ok(built)
    }

    /// What was made of a unit before.
    fn found(&self, unit: &CudaUnit) -> Result<Option<Built>, Failure> {
        if let Some(Output { image, report, toolchain }) = lock(&self.made).get(&hash_of([&unit.source])).cloned() {
            return Ok(Some(Built { unit: unit.clone(), image, report, toolchain }));
        }
        let found = self.images.as_ref().and_then(|images| images.find(&unit.source, self.capability));
        let built = |(Compiled { image, report }, made): (Compiled, &Made)| -> Result<Built, Failure> {
            let image = self.kept(&unit.name, &image)?;
            Ok(Built { unit: unit.clone(), image, report, toolchain: made.toolchain.clone() })
        };
        found.map(built).transpose()
    }

    fn compile(&self, units: &[&CudaUnit]) -> Result<Vec<Built>, Failure> {
        let Some(CudaUnit { name, .. }) = units.first() else { return Ok(Vec::new()) };
        let source: String = units.iter().map(|unit| &*unit.source).collect();
        let by_nvcc = |nvcc: &Nvcc| -> Result<(Compiled, String), Failure> {
            let compiled = nvcc.clone().with_limit(LIMIT).compile(&source, &[self.capability], DEVICE_HEADERS);
            Ok((compiled.map_err(|e| refused(&e))?, format!("nvcc {}", nvcc.version())))
        };
        let emulated = |compiler: &HostCompiler| -> Result<PathBuf, Failure> {
            let [file, library] = ["cu", "so"].map(|extension| self.file(name, extension));
            fs::write(&file, &source).map_err(|e| unwritable(&file, &e))?;
            let mut command = compiler.shared_library(&file, &library, self.folder.path());
            run_compiler(command.env("TMPDIR", self.folder.path()), LIMIT)?;
            Ok(library)
        };
        let (image, report, toolchain) = match &self.how {
            How::Host(compiler) => (emulated(compiler)?, Vec::new(), compiler.version().to_owned()),
            How::Reporting(compiler, nvcc, nvdisasm) => {
                let (mut compiled, toolchain) = by_nvcc(nvcc)?;
                if let Some(nvdisasm) = nvdisasm {
                    nvdisasm.count(&mut compiled).map_err(|e| refused(&e))?;
                }
                (emulated(compiler)?, compiled.report, toolchain)
            }
            How::Nvcc(nvcc) => {
                let (Compiled { image, report }, toolchain) = by_nvcc(nvcc)?;
                (self.kept(name, &image)?, report, toolchain)
            }
            How::Nvrtc => {
                let compiled = nvrtc::compile(&source, DEVICE_HEADERS, self.capability, &[]);
                let Compiled { image, report } = compiled.map_err(|e| refused(&e))?;
                (self.kept(name, &image)?, report, "NVRTC".to_owned())
            }
            How::Nothing(why) => {
                return Err(Failure::Compile { message: format!("it is not among the images, and {why}") });
            }
        };
        let built = |unit: &&CudaUnit| {
            let is_own = |report: &&KernelReport| unit.launches.iter().any(|launch| launch.symbol == report.symbol);
            let report = report.iter().filter(is_own).cloned().collect();
            Built { unit: (*unit).clone(), image: image.clone(), report, toolchain: toolchain.clone() }
        };
        Ok(units.iter().map(built).collect())
    }

    /// An image in a file of its own.
    fn kept(&self, name: &str, image: &[u8]) -> Result<PathBuf, Failure> {
        let file = self.file(name, "image");
        fs::write(&file, image).map_err(|e| unwritable(&file, &e))?;
        Ok(file)
    }

    /// A name that no other file has.
    fn file(&self, name: &str, extension: &str) -> PathBuf {
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        self.folder.path().join(format!("{number}-{name}.{extension}"))
    }
}

fn refused(error: &Error) -> Failure {
    Failure::Compile { message: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::cuda::translation_unit;
    use crate::cost_model::cuda::LaunchReport;
    use crate::sketch::Blocked;
    use crate::testing::dense;

    fn capability() -> ComputeCapability {
        "sm_90".parse().unwrap()
    }

    /// The default micro-kernel of a product.
    fn unit() -> CudaUnit {
        let limits = DeviceLimits::of(capability()).unwrap();
        of_family(&Blocked::default_for(&crate::frontend::program(&dense()), limits).unwrap())
    }

    /// One whose threads have so many rows.
    fn unit_of(rows: i64) -> CudaUnit {
        let parameters =
            serde_json::json!({ "thread": { "i": 8, "j": 16 }, "inner": { "i": rows, "j": 4 }, "reduce": { "k": 8 } });
        of_family(&serde_json::from_value(parameters).unwrap())
    }

    fn of_family(blocked: &Blocked) -> CudaUnit {
        let (def, limits) = (dense(), DeviceLimits::of(capability()).unwrap());
        let program = crate::frontend::program(&def);
        let (micro_kernel, lowered) = blocked.micro_kernel(&program, limits).unwrap();
        translation_unit(&def, &micro_kernel.name(), &lowered).unwrap()
    }

    #[test]
    fn what_nvcc_made_is_found_among_the_images_where_there_is_no_compiler() {
        let folder = tempfile::tempdir().unwrap();
        let nvcc = CudaCompiler::nvcc(capability()).expect("`cargo xtask toolkit` installs nvcc");
        let built = nvcc.build(&[unit()], &AtomicBool::new(false), |_| ()).remove(0).unwrap();
        assert!(built.report[0].registers > 0 && built.toolchain.starts_with("nvcc "), "{built:?}");
        let compiled = Compiled { image: fs::read(&built.image).unwrap(), report: built.report.clone() };
        let made = Made {
            kernel: "dense".into(),
            micro_kernel: built.unit.name.clone(),
            capability: capability(),
            toolchain: built.toolchain,
        };
        Images::create(folder.path()).unwrap().add(&unit().source, &compiled, made).unwrap();
        let images = Images::open(folder.path()).unwrap();
        let without = CudaCompiler::new(How::Nothing("there is no nvcc".into()), capability(), Some(images)).unwrap();
        let found = without.build_one(&unit()).unwrap();
        assert_eq!((fs::read(&found.image).unwrap(), found.report), (compiled.image, compiled.report));
        let other = CudaUnit { source: "another".into(), ..unit() };
        let failure = without.build_one(&other).unwrap_err().to_string();
        assert!(failure.contains("not among the images") && failure.contains("there is no nvcc"), "{failure}");
    }

    /// Models look for reports by the capability whose limits a device takes.
    #[test]
    fn what_is_said_of_a_newer_device_reaches_the_model() {
        let newer =
            CudaCompiler::nvcc(ComputeCapability { major: 10, minor: 3 }).expect("`cargo xtask toolkit` installs nvcc");
        let built = newer.build_one(&unit()).unwrap();
        let launches = LaunchReport::of(&built.unit, newer.limits().unwrap(), &built.report);
        assert_eq!(launches.len(), built.unit.launches.len(), "{:?}", built.report);
        assert!(!launches.is_empty());
    }

    /// What a compiler says of a kernel does not depend on those beside it, and none fails for another's fault.
    #[test]
    fn kernels_are_compiled_together_and_reported_apart() {
        // Each knows what it has compiled.
        let nvcc = || CudaCompiler::nvcc(capability()).expect("`cargo xtask toolkit` installs nvcc");
        let units = [unit(), unit_of(4), unit_of(8)];
        let [separate, joined, refusing] = [nvcc(), nvcc(), nvcc()];
        let alone = units.each_ref().map(|unit| separate.build_one(unit).unwrap());
        let together: Vec<Built> = joined.build_together(&units).into_iter().map(Result::unwrap).collect();
        assert!(together.iter().all(|built| built.image == together[0].image), "by one run");
        for (alone, together) in alone.iter().zip(&together) {
            assert_eq!((&alone.unit, &alone.report), (&together.unit, &together.report));
        }
        assert!(alone[1].report != alone[2].report, "they differ");
        let broken = CudaUnit { source: "missing;\n".into(), ..unit() };
        let [first, second, third] = units;
        let mut built = refusing.build_together(&[first, broken, second, third]);
        let failure = built.remove(1).unwrap_err().to_string();
        assert!(failure.contains("missing"), "{failure}");
        let reports: Vec<_> = built.into_iter().map(|built| built.unwrap().report).collect();
        assert_eq!(reports, alone.map(|built| built.report));
    }

    #[test]
    fn nvrtc_makes_an_image_and_a_report_of_the_same_source() {
        let nvrtc = CudaCompiler::new(How::Nvrtc, capability(), None).unwrap();
        let built = nvrtc.build_one(&unit()).unwrap();
        assert!(fs::read(&built.image).unwrap().starts_with(b"\x7fELF"));
        let nvcc = CudaCompiler::nvcc(capability()).expect("`cargo xtask toolkit` installs nvcc");
        // Its code is not the same: one may need a register more.
        let but_registers = |built: Built| {
            let [report] = built.report.try_into().expect("one kernel");
            assert!(report.registers > 0, "{report:?}");
            KernelReport { registers: 0, ..report }
        };
        assert_eq!(but_registers(built), but_registers(nvcc.build_one(&unit()).unwrap()));
    }

    #[test]
    fn a_compiler_that_refuses_is_a_failure_with_its_words() {
        let host = CudaCompiler::find(CudaDevice::Emulated, capability(), None).unwrap();
        let broken = CudaUnit { source: "#include \"dietcode.cuh\"\nmissing".into(), ..unit() };
        let built = host.build(&[broken, unit()], &AtomicBool::new(false), |_| ());
        assert!(matches!(&built[0], Err(Failure::Compile { message }) if message.contains("error")), "{built:?}");
        assert!(built[1].is_ok(), "{built:?}");
        // Each is there before those behind it are begun.
        let (units, one) = (vec![unit(); 2 * cores() + 1], AtomicBool::new(false));
        let mut all = Vec::new();
        host.build_each(&units, &|| one.load(Ordering::Relaxed), |at, built| {
            one.store(true, Ordering::Relaxed);
            all.push((at, built.is_ok()));
        });
        assert!(all.len() == units.len() && all[0].1 && all.iter().any(|(_, is_built)| !is_built), "{all:?}");
        let stopped = host.build(&[unit()], &AtomicBool::new(true), |_| ());
        assert!(stopped[0].is_err());
        let again = host.build_one(&unit()).unwrap();
        assert_eq!(built[1].as_ref().unwrap().image, again.image, "it is compiled once");
    }
}
