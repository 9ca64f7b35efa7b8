//! An implementation, loaded and ready to be launched.

use std::collections::HashMap;
use std::ffi::c_void;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use libloading::Library;

use super::cublas::{CuBlas, Product};
use super::{CudaCall, CudaDevice, trouble_of_launch};
use crate::Error;
use crate::measure::worker::Trouble;
use crate::measure::{Failure, Implementation, Instance, Linked, LinkedName};
use crate::runtime::Arg;
use crate::runtime::cuda::{CudaImage, Device, Extent, HostEntry, KernelParts, LaunchParts, LoadedKernel, launch};

/// An implementation at an instance.
pub(super) enum Loaded<'a> {
    MicroKernel { module: Rc<Module>, extent: Grid<'a> },
    Linked { kernel: Arc<LoadedKernel>, extent: Grid<'a> },
    CuBlas { product: Product, library: &'a CuBlas },
}

/// What a shape makes of a micro-kernel.
pub(super) struct Grid<'a> {
    shape: &'a [i64],
    blocks: Vec<i64>,
    workspace_bytes: i64,
}

/// A loaded micro-kernel, and what holds its code.
pub(super) struct Module {
    kernel: LoadedKernel,
    _library: Option<Library>,
}

/// What was loaded, by image and name: a micro-kernel is loaded once.
#[derive(Default)]
pub(super) struct Modules(HashMap<(PathBuf, String), Rc<Module>>);

impl Modules {
    /// Loads an implementation.
    pub(super) fn load<'a>(
        &mut self,
        device: &Device,
        cublas: &'a Result<CuBlas, String>,
        linked: &dyn Linked,
        implementation: &Implementation,
        instance: &'a Instance,
    ) -> Result<Loaded<'a>, Trouble> {
        match implementation {
            Implementation::Launched { call, .. } => Ok(Loaded::MicroKernel {
                module: self.module(device, call)?,
                extent: Grid {
                    shape: &instance.shape,
                    blocks: call.launches.iter().map(|launch| launch.blocks).collect(),
                    workspace_bytes: call.workspace_bytes.unwrap_or(0),
                },
            }),
            Implementation::Linked { name, .. } => Ok(of_program(device, linked, name, &instance.shape)?),
            Implementation::CuBlas { gemm, tf32, .. } => {
                let library = cublas.as_ref().map_err(|why| Failure::Load { message: why.clone() })?;
                let product = Product::of(gemm, instance.dtypes[instance.output], *tf32);
                let refused = || Failure::Load { message: "cuBLAS does not take matrices with such strides".into() };
                Ok(Loaded::CuBlas { product: product.ok_or_else(refused)?, library })
            }
            _ => Err(Failure::Load { message: "it is code for a CPU".into() }.into()),
        }
    }

    fn module(&mut self, device: &Device, call: &CudaCall) -> Result<Rc<Module>, Trouble> {
        let key = (call.image.clone(), call.name.clone());
        if let Some(module) = self.0.get(&key) {
            return Ok(Rc::clone(module));
        }
        let module = Rc::new(match CudaDevice::of(device) {
            CudaDevice::Emulated => emulated(device, call)?,
            CudaDevice::Cuda(_) => on_device(device, call)?,
        });
        self.0.insert(key, Rc::clone(&module));
        Ok(module)
    }
}

fn of_program<'a>(
    device: &Device,
    linked: &dyn Linked,
    name: &LinkedName,
    shape: &'a [i64],
) -> Result<Loaded<'a>, Failure> {
    let refused = |e: Error| Failure::Load { message: e.to_string() };
    let micro_kernel = linked.cuda(name, shape, device.capability()).map_err(refused)?;
    let kernel = LoadedKernel::cached(device, &name.kernel, micro_kernel).map_err(refused)?;
    let blocks = micro_kernel.launches.iter().map(|launch| (launch.blocks)(shape)).collect();
    let workspace_bytes = (micro_kernel.workspace_bytes)(shape);
    Ok(Loaded::Linked { kernel, extent: Grid { shape, blocks, workspace_bytes } })
}

fn on_device(device: &Device, call: &CudaCall) -> Result<Module, Failure> {
    let bytes = fs::read(&call.image).map_err(|e| unloadable(&call.image, &e))?;
    // It was compiled for this device.
    let capabilities = [device.capability()];
    let image = CudaImage { bytes: &bytes, capabilities: &capabilities, ptx: None };
    let kernel = load(device, call, Some(image), &vec![None; call.launches.len()])?;
    Ok(Module { kernel, _library: None })
}

fn emulated(device: &Device, call: &CudaCall) -> Result<Module, Failure> {
    // SAFETY: the library was compiled from generated code, which has no initialisers.
    let library = unsafe { Library::new(&call.image) }.map_err(|e| unloadable(&call.image, &e))?;
    let entry = |symbol: &str| {
        // SAFETY: `DIETCODE_ENTRY` defines it with this type; it is kept with its library.
        let entry = unsafe { library.get::<HostEntry>(format!("{symbol}_host").as_bytes()) };
        entry.map(|entry| Some(*entry)).map_err(|e| unloadable(&call.image, &e))
    };
    let entries = call.launches.iter().map(|launch| entry(&launch.symbol)).collect::<Result<Vec<_>, Failure>>()?;
    let kernel = load(device, call, None, &entries)?;
    Ok(Module { kernel, _library: Some(library) })
}

fn load(
    device: &Device,
    call: &CudaCall,
    image: Option<CudaImage<'_>>,
    entries: &[Option<HostEntry>],
) -> Result<LoadedKernel, Failure> {
    let launches: Vec<LaunchParts<'_>> = call
        .launches
        .iter()
        .zip(entries)
        .map(|(launch, host)| LaunchParts {
            symbol: &launch.symbol,
            threads: launch.threads,
            shared_bytes: launch.shared_bytes,
            persistent: launch.persistent,
            host: *host,
        })
        .collect();
    let uses_workspace = call.workspace_bytes.is_some();
    let parts = KernelParts { name: &call.name, image, uses_workspace, launches: &launches };
    LoadedKernel::load(device, &parts).map_err(|e| Failure::Load { message: e.to_string() })
}

fn unloadable(image: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::Load { message: format!("{}: {error}", image.display()) }
}

impl Loaded<'_> {
    /// Starts it, behind all that was started before.
    pub(super) fn launch(&self, device: &Device, args: &mut [Arg<'_>]) -> Result<(), Trouble> {
        match self {
            Loaded::MicroKernel { module, extent } => extent.launch(device, &module.kernel, args),
            Loaded::Linked { kernel, extent } => extent.launch(device, kernel, args),
            Loaded::CuBlas { product, library } => {
                let data: Vec<*mut c_void> = args.iter().map(|arg| arg.data()).collect();
                // SAFETY: the product was made from the extents and strides of dense tensors, as these are.
                unsafe { library.launch(product, &data) }.map_err(Trouble::Failed)
            }
        }
    }
}

impl Grid<'_> {
    fn launch(&self, device: &Device, kernel: &LoadedKernel, args: &mut [Arg<'_>]) -> Result<(), Trouble> {
        let Grid { shape, blocks, workspace_bytes } = self;
        let extent = Extent { shape, blocks, workspace_bytes: *workspace_bytes };
        // SAFETY: the tensors are the instance's, with guards around them. What the code does with them is what the worker is
        // there to find out.
        unsafe { launch(device, kernel, extent, args) }.map_err(|error| trouble_of_launch(device, &error))
    }
}
