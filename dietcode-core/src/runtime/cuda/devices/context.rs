//! What is kept for each device that was used: what it is, its loaded kernels, its workspaces.
//!
//! A context lives as long as the program, like the pools of threads do: a kernel that was called once is called again. It
//! keeps the driver's context alive, so that its handle can serve as the name under which it is found.

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, OnceLock};

use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};
use cudarc::driver::{CudaContext, DriverError};

use super::emulated;
use super::failure;
use super::limits::Limits;
use super::loaded::LoadedKernel;
use super::workspace::Workspaces;
use crate::Result;
use crate::parallel::lock;
use crate::runtime::cuda::name::DeviceName;

/// A device that was used.
pub(in crate::runtime) struct Context {
    pub(super) name: DeviceName,
    /// As its maker calls it.
    pub(super) model: String,
    pub(super) capability: (u32, u32),
    /// The CUDA version of the driver, 1000 · major + 10 · minor; 0 of the emulated device.
    driver_version: i32,
    kind: OnceLock<(u64, String)>,
    pub(super) limits: Limits,
    /// Whether an image that does not serve the capability is refused; without it, emulated code runs whatever it is for.
    pub(super) checks_images: bool,
    /// `None` for the emulated device.
    pub(super) driver: Option<Arc<CudaContext>>,
    pub(super) loaded: Mutex<HashMap<usize, Arc<LoadedKernel>>>,
    pub(super) workspaces: Workspaces,
    /// The micro-kernel that was launched last, for the message if the device fails later.
    pub(super) last_launch: Mutex<Option<String>>,
}

/// All that were used.
static CONTEXTS: Mutex<Vec<(Key, &'static Context)>> = Mutex::new(Vec::new());

/// What identifies a context.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    /// The handle of a driver's context, which is not given to another one as long as ours keeps it alive.
    Driver(usize),
    Emulated(Option<(u32, u32)>),
}

impl Context {
    /// That of a driver's context.
    pub(super) fn of(driver: &Arc<CudaContext>) -> Result<&'static Context> {
        let make =
            || ask(driver).map_err(|e| failure::of_driver(DeviceName::Cuda(driver.ordinal()), "cannot be asked", e));
        find(Key::Driver(driver.cu_ctx().addr()), make)
    }

    /// That of the primary context of a device, if it was used.
    pub(super) fn primary(ordinal: usize) -> Option<&'static Context> {
        let is_it = |driver: &Arc<CudaContext>| driver.ordinal() == ordinal && driver.is_primary();
        let contexts = lock(&CONTEXTS);
        contexts.iter().map(|(_, context)| *context).find(|context| context.driver.as_ref().is_some_and(is_it))
    }

    /// That of the emulated device, as a device of a capability if one is given.
    pub(super) fn emulated(like: Option<(u32, u32)>) -> &'static Context {
        let make = || Ok(emulated(like));
        find(Key::Emulated(like), make).expect("making an emulated context cannot fail")
    }
}

fn find(key: Key, make: impl FnOnce() -> Result<Context>) -> Result<&'static Context> {
    let mut contexts = lock(&CONTEXTS);
    if let Some((_, context)) = contexts.iter().find(|(known, _)| *known == key) {
        return Ok(context);
    }
    let context: &'static Context = Box::leak(Box::new(make()?));
    contexts.push((key, context));
    Ok(context)
}

fn ask(driver: &Arc<CudaContext>) -> Result<Context, DriverError> {
    let attribute = |attribute| driver.attribute(attribute).map(|value| u32::try_from(value).unwrap_or(0));
    let limits = Limits {
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        max_blocks: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
        max_threads: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        max_shared_bytes: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        memory_bytes: driver.total_mem()? as u64,
    };
    let capability = (
        attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
        attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
    );
    let mut driver_version = 0;
    // SAFETY: the pointer is to an int.
    unsafe { sys::cuDriverGetVersion(&raw mut driver_version) }.result()?;
    Ok(Context {
        name: DeviceName::Cuda(driver.ordinal()),
        model: driver.name()?,
        capability,
        driver_version,
        limits,
        checks_images: true,
        driver: Some(Arc::clone(driver)),
        ..emulated(None)
    })
}

fn emulated(like: Option<(u32, u32)>) -> Context {
    Context {
        name: DeviceName::CudaHost,
        model: "emulated CUDA device".to_owned(),
        capability: like.unwrap_or(emulated::CAPABILITY),
        driver_version: 0,
        kind: OnceLock::new(),
        limits: emulated::LIMITS,
        checks_images: like.is_some(),
        driver: None,
        loaded: Mutex::default(),
        workspaces: Workspaces::default(),
        last_launch: Mutex::default(),
    }
}

impl Context {
    /// What the speed of kernels depends on, as a number and as text without spaces: capability, model, how many multiprocessors there are, and
    /// the CUDA version of the driver, which compiles PTX. Devices that do not differ in that share it.
    pub(in crate::runtime) fn kind(&self) -> &(u64, String) {
        self.kind.get_or_init(|| {
            let (major, minor) = self.capability;
            let model = self.model.split_whitespace().collect::<Vec<_>>().join("_");
            // The emulated device that checks no images runs what others refuse.
            let unchecked = if self.checks_images { "" } else { "/unchecked" };
            let units = self.limits.multiprocessors;
            let text = format!("sm_{major}{minor}/{model}/{units}/{}{unchecked}", self.driver_version);
            let mut hasher = DefaultHasher::new();
            text.hash(&mut hasher);
            (hasher.finish(), text)
        })
    }
}

impl fmt::Display for Context {
    /// Its name, and an identity among others of that name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)?;
        let (major, minor) = self.capability;
        match &self.driver {
            None if self.checks_images => write!(f, " as {major}.{minor}"),
            Some(driver) if !driver.is_primary() => f.write_str(" in a context of its own"),
            _ => Ok(()),
        }
    }
}
