//! A borrowed tensor on a device that is read.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ops::Range;

use cudarc::driver::{self, DevicePtr, DeviceSlice};

use super::context::Context;
use super::device::Device;
use super::in_use::InUse;
use super::resident::Resident;
use super::tensor::CudaTensor;
use crate::runtime::cuda::memory::Memory;
use crate::runtime::layout::{Layout, shaped};
use crate::runtime::{Arg, Element};
use crate::{Error, Result};

/// A tensor in device memory, borrowed for reading: row-major, with rows that need not be adjacent. Nothing is copied.
///
/// ```
/// # use dietcode_core::runtime::cuda::{CudaTensor, CudaView};
/// # fn of_the_driver(weights: &cudarc::driver::CudaSlice<f32>) -> dietcode_core::Result<()> {
/// // 64 columns, from the 16th on, of a matrix with rows of 256.
/// let columns = CudaView::with_strides(&weights.slice(16..), &[32, 64], &[256, 1])?;
/// assert_eq!(columns.shape(), [32, 64]);
/// # Ok(())
/// # }
/// ```
pub struct CudaView<'a, T> {
    arg: Arg<'a>,
    elements: PhantomData<&'a [T]>,
}

impl<'a, T: Element> CudaView<'a, T> {
    /// The whole of a view of the driver as a tensor.
    ///
    /// # Errors
    /// If it does not have exactly as many elements as the shape.
    pub fn new(slice: &driver::CudaView<'a, T>, shape: &[usize]) -> Result<Self> {
        let layout = Layout::row_major(shape)?;
        layout.check_exact(slice.len())?;
        Ok(Self::of(Context::of(slice.stream().context())?, slice, layout))
    }

    /// A tensor whose rows lie `strides` elements apart.
    ///
    /// # Errors
    /// If the last stride is not 1, rows overlap, or the driver's view ends before the last element.
    pub fn with_strides(slice: &driver::CudaView<'a, T>, shape: &[usize], strides: &[usize]) -> Result<Self> {
        Self::with_layout(slice, Layout::strided(shape, strides)?)
    }

    pub(in crate::runtime) fn with_layout(slice: &driver::CudaView<'a, T>, layout: Layout) -> Result<Self> {
        layout.check_holds(slice.len())?;
        Ok(Self::of(Context::of(slice.stream().context())?, slice, layout))
    }

    /// Over memory that holds the layout.
    pub(super) fn of(context: &'static Context, slice: &driver::CudaView<'a, T>, layout: Layout) -> Self {
        let (address, _) = slice.device_ptr(slice.stream());
        // SAFETY: every element is made of bytes.
        let bytes = unsafe { slice.transmute(slice.num_bytes()) }.expect("it has as many bytes as it has");
        let memory = Memory::Device(context, Resident::Read(bytes));
        Self::from_arg(Arg::new(T::DTYPE, address as usize as *mut c_void, layout, false, memory))
    }

    /// Over emulated memory.
    ///
    /// # Safety
    /// The layout's elements can be read there for `'a`, and are not written in that time.
    pub(super) unsafe fn emulated(context: &'static Context, data: *const c_void, layout: Layout) -> Self {
        let memory = Memory::Device(context, Resident::Emulated);
        Self::from_arg(Arg::new(T::DTYPE, data.cast_mut(), layout, false, memory))
    }

    pub(super) fn from_arg(arg: Arg<'a>) -> Self {
        CudaView { arg, elements: PhantomData }
    }

    /// The same view for a shorter time, so that it can be used again.
    pub fn reborrow(&self) -> CudaView<'_, T> {
        CudaView::from_arg(self.arg.shared())
    }

    /// The part of it whose index in dimension `dim` is in a range.
    ///
    /// # Errors
    /// If there is no such dimension, or the range leaves it.
    pub fn narrow(self, dim: usize, range: Range<usize>) -> Result<Self> {
        Ok(Self::from_arg(self.arg.narrow(dim, range)?))
    }
}

impl<'a, T> CudaView<'a, T> {
    /// The first element's address, for launches of a program's own on a device's stream: that waits for whoever uses the memory on another one,
    /// and others wait for it once what is returned is dropped, behind the launches.
    pub fn address_on<'s>(&'s mut self, device: &'s Device) -> (u64, InUse<'s>) {
        (self.arg.data().expose_provenance() as u64, InUse::on(device, self.arg.memory_mut()))
    }

    pub(in crate::runtime) fn into_arg(self) -> Arg<'a> {
        self.arg
    }
}

impl<'a, T: Element> From<&'a CudaTensor<T>> for CudaView<'a, T> {
    fn from(tensor: &'a CudaTensor<T>) -> Self {
        tensor.view()
    }
}

impl<'a, T: Element> TryFrom<Arg<'a>> for CudaView<'a, T> {
    type Error = Error;

    /// The tensor, if its elements are of that type and on a device.
    fn try_from(arg: Arg<'a>) -> Result<Self> {
        arg.device_tensor::<T>(false).map(Self::from_arg)
    }
}

shaped!(CudaView, arg);
